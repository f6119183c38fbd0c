import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from '../../components/scheduler/heap.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import type { QueueOptions } from '../../components/scheduler/scheduling-queue.ts'
import { SchedulingQueue } from '../../components/scheduler/scheduling-queue.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { handleFor, node, pod } from './build.ts'

function setup(onIncoming: QueueOptions['onIncoming'] = () => {}) {
  const clock = new FakeClock()
  const profile = createProfile(defaultProfile('default-scheduler'), handleFor(new Snapshot()))
  const { queueSort } = profile
  return {
    clock,
    queue: new SchedulingQueue({ clock, queueSort, pluginsFor: () => profile, onIncoming }),
  }
}

function drain(queue: SchedulingQueue): string[] {
  const names: string[] = []
  for (let next = queue.tryPop(); next !== undefined; next = queue.tryPop()) {
    names.push(next.info.pod.metadata.name ?? '')
  }
  return names
}

test('higher priority first, then first come, first served', () => {
  const { queue } = setup()
  for (const [name, priority] of [
    ['a', 0],
    ['b', 5],
    ['c', 0],
    ['d', 5],
  ] as const) {
    queue.add(podInfoOf(pod({ name, priority })))
  }
  expect(drain(queue)).toEqual(['b', 'd', 'a', 'c'])
})

test('tells which hints it asked, about what, and what they said', async () => {
  const asked: string[] = []
  const clock = new FakeClock()
  const profile = createProfile(defaultProfile('default-scheduler'), handleFor(new Snapshot()))
  const queue = new SchedulingQueue({
    clock,
    queueSort: profile.queueSort,
    pluginsFor: () => profile,
    onHint: ({ plugin, event, helps }) => asked.push(`${plugin} ${event} ${helps}`),
  })
  queue.add(podInfoOf(pod({ name: 'a', cpu: '2' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set(['NodeResourcesFit']))
  await clock.step(20_000)
  const happened = (cpu: string): void =>
    queue.happened({ resource: 'Node', action: 'Add', now: node('n', { cpu }) })
  queue.happened({ resource: 'Node', action: 'UpdateNodeTaint', old: node('n'), now: node('n') })
  happened('1')
  happened('4')
  expect(asked).toEqual(['NodeResourcesFit NodeAdd false', 'NodeResourcesFit NodeAdd true'])
})

test('a pod is tried again after what helps it during its own attempt, and after nothing else', () => {
  const { queue } = setup()
  const attempt = (name: string) => {
    queue.add(podInfoOf(pod({ name, cpu: '2' })))
    const next = queue.tryPop()
    if (next === undefined) throw new Error('the pod should be active')
    return next
  }
  const happened = (cpu: string): void =>
    queue.happened({ resource: 'Node', action: 'Add', now: node('n', { cpu }) })
  const first = attempt('first')
  happened('1')
  const second = attempt('second')
  happened('4')
  const third = attempt('third')
  expect(Object.fromEntries(queue.inFlight)).toEqual({ PodPopped: 3, NodeAdd: 2 })
  for (const one of [first, second, third]) {
    queue.addUnschedulable(one, new Set(['NodeResourcesFit']))
  }
  expect(queue.sizes).toEqual({ active: 0, backoff: 2, unschedulable: 1, gated: 0 })
  expect([...queue.rejections()]).toMatchObject([{ plugin: 'NodeResourcesFit', pods: 1 }])
  expect(Object.fromEntries(queue.inFlight)).toEqual({ PodPopped: 0, NodeAdd: 0 })
})

test('a pod is in flight until it is done or back', () => {
  const { queue } = setup()
  for (const name of ['a', 'b', 'c']) queue.add(podInfoOf(pod({ name })))
  const taken = [queue.tryPop(), queue.tryPop(), queue.tryPop()].map((each) => {
    if (each === undefined) throw new Error('three pods should be active')
    return each
  })
  const counts = taken.map((each, index) => {
    if (index === 0) queue.addBackoff(each)
    else if (index === 1) queue.done(each)
    else queue.decided(each)
    return queue.inFlight.get('PodPopped')
  })
  expect(counts).toEqual([2, 1, 1])
})

test('back-off is 1, 2, 4, 8 and then always 10 seconds', async () => {
  const { clock, queue } = setup()
  queue.add(podInfoOf(pod({ name: 'a' })))
  const delays: number[] = []
  for (let attempt = 0; attempt < 6; attempt++) {
    const next = queue.tryPop()
    if (next === undefined) throw new Error('the pod should be active')
    queue.addBackoff(next)
    const before = clock.now()
    while (queue.sizes.active === 0) await clock.step(500)
    delays.push((clock.now() - before) / 1000)
  }
  expect(delays).toEqual([1, 2, 4, 8, 10, 10])
})

test('a rejected pod waits for a change that concerns the plugin that rejected it', async () => {
  const { clock, queue } = setup()
  queue.add(podInfoOf(pod({ name: 'a' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set(['NodeResourcesFit']))
  await clock.step(20_000)
  queue.happened({ resource: 'Node', action: 'UpdateNodeTaint', old: node('n'), now: node('n') })
  expect(queue.sizes).toEqual({ active: 0, backoff: 0, unschedulable: 1, gated: 0 })
  queue.happened({ resource: 'AssignedPod', action: 'Delete', old: pod({ nodeName: 'n' }) })
  expect(queue.sizes).toEqual({ active: 1, backoff: 0, unschedulable: 0, gated: 0 })
})

test('a change that comes early sends the pod through the rest of its back-off', async () => {
  const { clock, queue } = setup()
  queue.add(podInfoOf(pod({ name: 'a' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set(['TaintToleration']))
  queue.happened({ resource: 'Node', action: 'Add', now: node('n') })
  expect(queue.sizes).toEqual({ active: 0, backoff: 1, unschedulable: 0, gated: 0 })
  await clock.step(1000)
  expect(drain(queue)).toEqual(['a'])
})

test('nothing waits longer than five minutes for a change', async () => {
  const { clock, queue } = setup()
  queue.add(podInfoOf(pod({ name: 'a' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set(['NodeName']))
  await clock.step(5 * 60_000 - 1)
  expect(queue.sizes.active).toBe(0)
  await clock.step(1)
  expect(drain(queue)).toEqual(['a'])
})

test('a gated pod enters the active part only without its gates', () => {
  const { queue } = setup()
  const gated = pod({ name: 'a', schedulingGates: [{ name: 'example.com/wait' }] })
  queue.add(podInfoOf(gated))
  expect(queue.sizes).toEqual({ active: 0, backoff: 0, unschedulable: 0, gated: 1 })
  queue.update(podInfoOf({ ...gated, metadata: { ...gated.metadata, labels: { a: 'b' } } }), [])
  expect(queue.sizes.gated).toBe(1)
  queue.update(podInfoOf(pod({ name: 'a' })), [])
  expect(queue.sizes).toEqual({ active: 1, backoff: 0, unschedulable: 0, gated: 0 })
})

test('what brought pods into which part is told, and which plugins keep them waiting', async () => {
  const told: string[] = []
  const { clock, queue } = setup((part, event) => told.push(`${part} ${event}`))
  queue.add(podInfoOf(pod({ name: 'a' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set(['NodeName', 'NodePorts']))
  expect([...queue.rejections()]).toEqual([
    { plugin: 'NodeName', profile: 'default-scheduler', pods: 1 },
    { plugin: 'NodePorts', profile: 'default-scheduler', pods: 1 },
  ])
  queue.happened({ resource: 'Node', action: 'Add', now: node('n') })
  await clock.step(1000)
  expect(told).toEqual([
    'active PodAdd',
    'unschedulable ScheduleAttemptFailure',
    'backoff NodeAdd',
    'active BackoffComplete',
  ])
})

test('a pod that was rejected by no plugin waits for any event', async () => {
  const { clock, queue } = setup()
  queue.add(podInfoOf(pod({ name: 'a' })))
  const next = queue.tryPop()
  if (next === undefined) throw new Error('the pod should be active')
  queue.addUnschedulable(next, new Set())
  await clock.step(20_000)
  queue.happened({
    resource: 'Node',
    action: 'UpdateNodeCondition',
    old: node('n'),
    now: node('n'),
  })
  expect(drain(queue)).toEqual(['a'])
})

test('pop waits for a pod, and ends with the signal', async () => {
  const { queue } = setup()
  const stop = new AbortController()
  const first = queue.pop(stop.signal)
  queue.add(podInfoOf(pod({ name: 'late' })))
  expect((await first).info.key).toBe('default/late')
  const second = queue.pop(stop.signal)
  stop.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
})

test('a removed pod does not come out of any room', async () => {
  const { clock, queue } = setup()
  for (const name of ['active', 'backoff', 'rejected']) queue.add(podInfoOf(pod({ name })))
  const taken = [queue.tryPop(), queue.tryPop(), queue.tryPop()]
  for (const each of taken) {
    if (each === undefined) throw new Error('three pods should be active')
    const { name } = each.info.pod.metadata
    if (name === 'active') queue.add(each.info)
    if (name === 'backoff') queue.addBackoff(each)
    if (name === 'rejected') queue.addUnschedulable(each, new Set())
  }
  for (const name of ['active', 'backoff', 'rejected']) queue.remove(`default/${name}`)
  await clock.step(10 * 60_000)
  expect(queue.sizes).toEqual({ active: 0, backoff: 0, unschedulable: 0, gated: 0 })
  expect(drain(queue)).toEqual([])
})

test('a heap hands out in order whatever is put in and taken from its middle', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.boolean()), { maxLength: 60 }),
      (steps) => {
        const heap = new Heap<{ rank: number }>((a, b) => a.rank - b.rank)
        let model: { rank: number }[] = []
        for (const [rank, isRemoval] of steps) {
          const victim = model[rank]
          if (isRemoval && victim !== undefined) {
            expect(heap.remove(victim)).toBe(true)
            model = model.filter((item) => item !== victim)
          } else {
            const item = { rank }
            heap.push(item)
            model.push(item)
          }
        }
        const out: number[] = []
        for (let item = heap.pop(); item !== undefined; item = heap.pop()) out.push(item.rank)
        expect(out).toEqual(model.map(({ rank }) => rank).toSorted((a, b) => a - b))
      },
    ),
  )
})
