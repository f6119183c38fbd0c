/** The scheduling loop against an in-memory server: what it binds, reports and takes up again. */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import type { Metrics } from '../../components/component-base/metrics.ts'
import { conflict } from '../../components/machinery/objects/status-error.ts'
import { createEventHandlers } from '../../components/scheduler/event-handlers.ts'
import { measuredProfile } from '../../components/scheduler/measured-profile.ts'
import type { PluginRun } from '../../components/scheduler/measured-profile.ts'
import { createPodReporter } from '../../components/scheduler/pod-reporter.ts'
import type { Profile } from '../../components/scheduler/profile.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import { createSchedulerMetrics } from '../../components/scheduler/scheduler-metrics.ts'
import { runScheduler } from '../../components/scheduler/scheduler.ts'
import { isWaiting } from '../../components/scheduler/waiting-pod.ts'
import { SchedulingQueue } from '../../components/scheduler/scheduling-queue.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import { defaultRights } from '../support/component-rights.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { node, pod, type PodWishes } from './build.ts'

const schedulerName = 'default-scheduler'
const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error('the test is over'))
})

async function start(...nodes: Node[]) {
  return await startWith({}, ...nodes)
}

/** With these plugins added to the default profile, and other profiles beside it. */
async function startWith(
  {
    more = {},
    names = [],
    onRun,
    metrics,
  }: {
    more?: Partial<Profile>
    names?: readonly string[]
    onRun?: (run: PluginRun) => void
    metrics?: Metrics
  },
  ...nodes: Node[]
) {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  for (const each of nodes) server.seed(resources.nodes, each)
  const bound: string[] = []
  server.react('create', 'pods/binding', ({ key, object }) => {
    const { target } = object as { target: { name: string } }
    server.change(resources.pods, key, (stored) => {
      stored['spec'].nodeName = target.name
    })
    bound.push(`${key} ${target.name}`)
  })
  const client = server.client(defaultRights(server.dialect)('system:kube-scheduler'))
  const snapshot = new Snapshot()
  const informers = createInformerFactory(client, clock, silentLog)
  const handle = { dialect: server.dialect, client, informers, namespaces: snapshot, clock }
  const profile = createProfile(defaultProfile(schedulerName), {
    ...handle,
    extenders: [],
    log: silentLog,
  })
  const profiles = new Map(
    [schedulerName, ...names].map((name) => [name, { ...profile, ...more, schedulerName: name }]),
  )
  const { queueSort } = profile
  const queue = new SchedulingQueue({ clock, queueSort, pluginsFor: () => profile })
  const podInformer = informers.informer<Pod>(resources.pods)
  const events = createEventHandlers({ queue, snapshot, schedulerNames: new Set(profiles.keys()) })
  podInformer.onEvent(events.onPod)
  informers.informer<Node>(resources.nodes).onEvent(events.onNode)
  const recorded: string[] = []
  const pods = client.resource<Pod>(resources.pods)
  const reporter = createPodReporter({
    pods,
    record: (from, { metadata }, { type, reason, message }) => {
      const by = from === schedulerName ? '' : `${from}: `
      recorded.push(`${by}${metadata.name} ${type} ${reason}: ${message}`)
    },
    clock,
  })
  const stop = new AbortController()
  stops.push(stop)
  const waitingPod = (key: string): Pod | undefined => {
    const found = podInformer.get(key)
    return found !== undefined && isWaiting(found, profiles) ? found : undefined
  }
  void informers.run(stop.signal)
  await informers.ready()
  const measured = new Map(
    [...profiles].map(([name, one]) => [name, measuredProfile(one, clock, onRun ?? (() => {}))]),
  )
  const options = {
    queue,
    snapshot,
    profiles,
    reporter,
    waitingPod,
    clock,
    log: silentLog,
    ...(onRun !== undefined && { measured }),
    ...(metrics && { metrics: createSchedulerMetrics(metrics, queue, snapshot) }),
  }
  void runScheduler(options, stop.signal)
  const add = async (each: Pod): Promise<void> => {
    server.seed(resources.pods, each)
    await settle()
  }
  const conditionOf = (name: string) =>
    server.peek<Pod>(resources.pods, `default/${name}`)?.status?.conditions?.[0]
  return { clock, server, resources, add, bound, recorded, conditionOf, queue }
}

describe('a pod that fits', () => {
  test('is measured plugin by plugin in a tenth of the attempts, and bound like any other', async () => {
    const runs: PluginRun[] = []
    const { add, bound } = await startWith(
      { onRun: (run) => runs.push(run) },
      node('n1', { pods: '200' }),
      node('n2', { pods: '200' }),
    )
    for (let count = 0; count < 100; count += 1) await add(pod())
    expect(bound).toHaveLength(100)
    const binds = runs.filter(({ point }) => point === 'Bind')
    expect(binds.length).toBeGreaterThan(2)
    expect(binds.length).toBeLessThan(25)
    expect(binds[0]).toEqual({
      plugin: 'DefaultBinder',
      point: 'Bind',
      status: 'Success',
      seconds: 0,
    })
    const fits = runs.filter(
      ({ plugin, point }) => plugin === 'NodeResourcesFit' && point === 'Filter',
    )
    expect(fits).toHaveLength(2 * binds.length)
  })

  test('is bound and an event says where', async () => {
    const { add, bound, recorded } = await start(node('n1'))
    await add(pod({ name: 'web' }))
    expect(bound).toEqual(['default/web n1'])
    expect(recorded).toEqual(['web Normal Scheduled: Successfully assigned default/web to n1'])
  })

  test('is left alone when it is for another scheduler, gated, ending or bound already', async () => {
    const { add, bound, server, resources } = await start(node('n1'))
    await add(pod({ name: 'other', schedulerName: 'mine' }))
    await add(pod({ name: 'gated', schedulingGates: [{ name: 'example.com/wait' }] }))
    await add(pod({ name: 'placed', nodeName: 'n1' }))
    const ending = pod({ name: 'ending' })
    ending.metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
    await add(ending)
    expect(bound).toEqual([])
    server.change(resources.pods, 'default/gated', (stored) => {
      stored['spec'].schedulingGates = []
    })
    await settle()
    expect(bound).toEqual(['default/gated n1'])
  })

  test('counts at once, before the server has confirmed the binding', async () => {
    const { add, bound, conditionOf } = await start(node('n1', { cpu: '1' }))
    await Promise.all(['a', 'b', 'c'].map((name) => add(pod({ name, cpu: '1' }))))
    expect(bound).toHaveLength(1)
    expect(conditionOf('b')?.reason).toBe('Unschedulable')
  })

  test('is tried again after a binding that failed, and its room is given back meanwhile', async () => {
    const { add, bound, clock, server, resources } = await start(node('n1', { cpu: '1' }))
    let failures = 1
    const unreact = server.react('create', 'pods/binding', () => {
      failures -= 1
      if (failures >= 0) throw conflict(resources.pods, 'a', 'busy')
      return undefined
    })
    await add(pod({ name: 'a', cpu: '1' }))
    expect(bound).toEqual([])
    unreact()
    await add(pod({ name: 'b', cpu: '1' }))
    expect(bound).toEqual(['default/b n1'])
    server.remove(resources.pods, 'default/b')
    await clock.step(2000)
    expect(bound).toEqual(['default/b n1', 'default/a n1'])
  })
})

describe('a pod that fits nowhere', () => {
  const message =
    '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: ' +
    '1 No preemption victims found for incoming pod.'

  test('gets the condition and the event, once as long as nothing changes', async () => {
    const { add, clock, conditionOf, recorded, server } = await start(node('n1', { cpu: '1' }))
    await add(pod({ name: 'big', cpu: '2' }))
    expect(conditionOf('big')).toEqual({
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastTransitionTime: '2025-01-01T00:00:00Z',
    })
    expect(recorded).toEqual([`big Warning FailedScheduling: ${message}`])
    await clock.step(60_000)
    expect(server.writes.filter((write) => write.startsWith('patch'))).toHaveLength(1)
  })

  test('is tried again when a node comes', async () => {
    const { add, bound, clock, server, resources } = await start(node('n1', { cpu: '1' }))
    await add(pod({ name: 'big', cpu: '2' }))
    server.seed(resources.nodes, node('n2'))
    await clock.step(1000)
    expect(bound).toEqual(['default/big n2'])
  })

  test('is tried again when another pod leaves', async () => {
    const { add, bound, clock, server, resources } = await start(node('n1', { cpu: '2' }))
    await add(pod({ name: 'first', cpu: '2' }))
    await add(pod({ name: 'second', cpu: '2' }))
    await clock.step(30_000)
    server.remove(resources.pods, 'default/first')
    await clock.step(0)
    expect(bound).toEqual(['default/first n1', 'default/second n1'])
  })

  test('waits for its taint to go, not for changes that do not concern it', async () => {
    const taints = [{ key: 'a', value: 'b', effect: 'NoSchedule' }]
    const { add, bound, clock, server, resources, queue } = await start(node('n1', { taints }))
    await add(pod({ name: 'p' }))
    await clock.step(30_000)
    server.change(resources.nodes, 'n1', (stored) => {
      stored['metadata'].labels = { changed: 'yes' }
    })
    await settle()
    expect(queue.sizes.unschedulable).toBe(1)
    server.change(resources.nodes, 'n1', (stored) => {
      stored['spec'].taints = []
    })
    await settle()
    expect(bound).toEqual(['default/p n1'])
  })

  test('is tried again when a pod that is placed gets the label it looks for', async () => {
    const { add, bound, clock, server, resources } = await start(
      node('n1', { labels: { zone: 'a' } }),
    )
    await add(pod({ name: 'other', nodeName: 'n1' }))
    const podAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'db' } } },
      ],
    }
    await add(pod({ name: 'near', affinity: { podAffinity } }))
    await clock.step(30_000)
    expect(bound).toEqual([])
    server.change(resources.pods, 'default/other', (stored) => {
      stored.metadata.labels = { app: 'db' }
    })
    await clock.step(0)
    expect(bound).toEqual(['default/near n1'])
  })

  test('is tried again when the empty domain it may not leave out is gone', async () => {
    const { add, bound, clock, server, resources } = await start(
      node('n1', { labels: { zone: 'a' } }),
      node('n2', { labels: { zone: 'b' }, cpu: '0' }),
    )
    const spread = (name: string) => {
      const one = pod({
        name,
        cpu: '1',
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
      })
      one.metadata.labels = { app: 'web' }
      return one
    }
    await add(spread('first'))
    await add(spread('second'))
    await clock.step(30_000)
    expect(bound).toEqual(['default/first n1'])
    server.remove(resources.nodes, 'n2')
    await clock.step(0)
    expect(bound).toEqual(['default/first n1', 'default/second n1'])
  })

  test('without any node says so', async () => {
    const { add, conditionOf } = await start()
    await add(pod({ name: 'p' }))
    expect(conditionOf('p')?.message).toBe('no nodes available to schedule pods')
  })

  test('of higher priority evicts one of lower priority and takes its place', async () => {
    const { add, bound, clock, server, resources, recorded } = await start(node('n1', { cpu: '2' }))
    await add(pod({ name: 'low', cpu: '2', priority: 1 }))
    await add(pod({ name: 'high', cpu: '2', priority: 100 }))
    expect(server.writes).toContain('delete pods default/low')
    expect(recorded).toContain('low Normal Preempted: Preempted by pod uid-high on node n1')
    const high = server.peek<Pod>(resources.pods, 'default/high')
    expect(high?.status?.nominatedNodeName).toBe('n1')
    await clock.step(1000)
    expect(bound).toEqual(['default/low n1', 'default/high n1'])
  })
})

test('an eviction that fails is tried again', async () => {
  const { add, bound, clock, server } = await start(node('n1', { cpu: '2' }))
  await add(pod({ name: 'low', cpu: '2', priority: 1 }))
  let failures = 2
  server.react('delete', 'pods', () => {
    failures -= 1
    if (failures >= 0) throw new Error('500')
    return undefined
  })
  await add(pod({ name: 'high', cpu: '2', priority: 100 }))
  await clock.step(30_000)
  expect(failures).toBeLessThan(0)
  await clock.step(30_000)
  expect(bound).toEqual(['default/low n1', 'default/high n1'])
})

test('a nominated pod gives way to a more important one, which takes its node', async () => {
  const { add, bound, clock, server, resources } = await start(node('n1', { cpu: '2' }))
  const low = pod({ name: 'low', cpu: '2', priority: 1 })
  low.metadata.finalizers = ['example.com/slow']
  await add(low)
  await add(pod({ name: 'mid', cpu: '2', priority: 50 }))
  const nominationOf = (name: string) =>
    server.peek<Pod>(resources.pods, `default/${name}`)?.status?.nominatedNodeName
  expect(nominationOf('mid')).toBe('n1')
  await add(pod({ name: 'high', cpu: '2', priority: 100 }))
  expect([nominationOf('high'), nominationOf('mid')]).toEqual(['n1', undefined])
  expect(server.writes.filter((write) => write === 'delete pods default/low')).toHaveLength(1)
  server.change(resources.pods, 'default/low', (stored) => {
    stored.metadata.finalizers = []
  })
  await clock.step(10_000)
  expect(bound).toEqual(['default/low n1', 'default/high n1'])
})

describe('profiles', () => {
  test('schedule the pods of their own names, and their events come from them', async () => {
    const { add, bound, recorded } = await startWith({ names: ['second'] }, node('n1'))
    await add(pod({ name: 'a', schedulerName: 'second' }))
    await add(pod({ name: 'b', schedulerName: 'third' }))
    expect(bound).toEqual(['default/a n1'])
    expect(recorded).toEqual(['second: a Normal Scheduled: Successfully assigned default/a to n1'])
  })
})

describe('what is in flight', () => {
  const counts = (metrics: Metrics): string[] =>
    metrics
      .text()
      .split('\n')
      .filter((line) => /^scheduler_(goroutines|inflight_events)\{/.test(line))

  test('is counted until the pods are bound', async () => {
    const metrics = createMetrics({ release: servedRelease })
    const { promise, resolve } = Promise.withResolvers<void>()
    const binds = [{ name: 'Slow', bind: () => promise }]
    const { add } = await startWith({ more: { binds }, metrics }, node('n1'))
    await add(pod())
    await add(pod())
    expect(counts(metrics)).toEqual([
      'scheduler_goroutines{operation="binding"} 2',
      'scheduler_inflight_events{event="PodPopped"} 2',
    ])
    resolve()
    await settle()
    expect(counts(metrics)).toEqual([
      'scheduler_goroutines{operation="binding"} 0',
      'scheduler_inflight_events{event="PodPopped"} 0',
    ])
  })

  test('is nothing after a binding that failed, a pod that fits nowhere and one that is gone', async () => {
    const metrics = createMetrics({ release: servedRelease })
    const { promise, reject } = Promise.withResolvers<void>()
    const binds = [{ name: 'Slow', bind: () => promise }]
    const { add, server, resources } = await startWith(
      { more: { binds }, metrics },
      node('n1', { cpu: '2' }),
    )
    await add(pod({ name: 'failing', cpu: '1' }))
    await add(pod({ name: 'gone', cpu: '1' }))
    await add(pod({ name: 'large', cpu: '1' }))
    expect(counts(metrics)).toContain('scheduler_inflight_events{event="PodPopped"} 2')
    server.remove(resources.pods, 'default/gone')
    await settle()
    reject(new Error('500'))
    await settle()
    expect(counts(metrics)).toEqual([
      'scheduler_goroutines{operation="binding"} 0',
      'scheduler_inflight_events{event="PodPopped"} 0',
    ])
  })

  test('keeps the events of an attempt, and wakes the pod by those that help it', async () => {
    const metrics = createMetrics({ release: servedRelease })
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const postFilters = [{ name: 'Slow', postFilter: () => promise }]
    const { add, bound, clock, server, resources } = await startWith(
      { more: { postFilters }, metrics },
      node('n1', { cpu: '1' }),
    )
    await add(pod({ name: 'large', cpu: '4' }))
    server.seed(resources.nodes, node('n2', { cpu: '8' }))
    await settle()
    expect(counts(metrics)).toEqual([
      'scheduler_inflight_events{event="PodPopped"} 1',
      'scheduler_inflight_events{event="NodeAdd"} 1',
    ])
    resolve(undefined)
    await clock.step(1000)
    expect(bound).toEqual(['default/large n2'])
    expect(counts(metrics)).toEqual([
      'scheduler_goroutines{operation="binding"} 0',
      'scheduler_inflight_events{event="PodPopped"} 0',
      'scheduler_inflight_events{event="NodeAdd"} 0',
    ])
  })
})

describe('a pod that changes during its attempt', () => {
  /** The attempt lasts until `end` is called. */
  async function attempt(wishes: PodWishes) {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const postFilters = [{ name: 'Slow', postFilter: () => promise }]
    const cluster = await startWith({ more: { postFilters } }, node('n1', { cpu: '2' }))
    await cluster.add(pod({ name: 'p', ...wishes }))
    return { ...cluster, end: () => resolve(undefined) }
  }
  const nothing = { active: 0, backoff: 0, unschedulable: 0, gated: 0 }

  test('stays out of the queue until the attempt has ended, and waits there once', async () => {
    const { server, resources, queue, clock, end } = await attempt({ cpu: '4' })
    server.change(resources.pods, 'default/p', ({ metadata }) => {
      metadata.labels = { color: 'blue' }
    })
    await settle()
    expect(queue.sizes).toEqual(nothing)
    end()
    await settle()
    expect(queue.sizes).toEqual({ ...nothing, unschedulable: 1 })
    await clock.step(60_000)
    expect(queue.sizes).toEqual({ ...nothing, unschedulable: 1 })
  })

  test('is tried again after a change that helps it, in its newest form', async () => {
    const { server, resources, bound, clock, end } = await attempt({ cpu: '4' })
    server.change(resources.pods, 'default/p', (stored) => {
      stored['spec'].containers[0].resources.requests.cpu = '1'
    })
    await settle()
    end()
    await clock.step(1000)
    expect(bound).toEqual(['default/p n1'])
  })

  test('is forgotten when it is deleted, and does not come back with a pod of its name', async () => {
    const { server, resources, queue, bound, clock, add, end } = await attempt({ cpu: '4' })
    await server.client().resource(resources.pods).delete({ namespace: 'default', name: 'p' })
    await settle()
    await add({ ...pod({ name: 'p', cpu: '1' }), metadata: { ...pod().metadata, name: 'p' } })
    end()
    await clock.step(1000)
    expect(bound).toEqual(['default/p n1'])
    expect(queue.sizes).toEqual(nothing)
  })
})

describe('a plugin that reserves', () => {
  const reserving = (steps: string[], preBind: () => Promise<void>): Partial<Profile> => ({
    reserves: [
      {
        name: 'Keeper',
        reserve: (info, { name }) => {
          steps.push(`reserve ${info.key} ${name}`)
          return { preBind, unreserve: () => void steps.push(`unreserve ${info.key}`) }
        },
      },
    ],
    preBinds: new Set(['Keeper']),
  })

  test('works before the binding', async () => {
    const steps: string[] = []
    const more = reserving(steps, async () => void steps.push('pre-bind'))
    const { add, bound } = await startWith({ more }, node('n1'))
    await add(pod({ name: 'a' }))
    expect(steps).toEqual(['reserve default/a n1', 'pre-bind'])
    expect(bound).toEqual(['default/a n1'])
  })

  test('gives back when it fails, and the pod is tried again', async () => {
    const steps: string[] = []
    let failures = 1
    const more = reserving(steps, async () => {
      failures -= 1
      if (failures >= 0) throw new Error('no volume')
    })
    const { add, bound, clock, conditionOf } = await startWith({ more }, node('n1'))
    await add(pod({ name: 'a' }))
    expect(steps).toEqual(['reserve default/a n1', 'unreserve default/a'])
    expect(conditionOf('a')).toMatchObject({
      reason: 'SchedulerError',
      message: 'running PreBind plugin "Keeper": no volume',
    })
    await clock.step(2000)
    expect(bound).toEqual(['default/a n1'])
  })

  test('may reject the node, and then nothing is bound', async () => {
    const rejection = { reasons: ['node(s) had no volumes left'], resolvable: false }
    const reserves = [{ name: 'Keeper', reserve: () => rejection }]
    const { add, bound, conditionOf } = await startWith({ more: { reserves } }, node('n1'))
    await add(pod({ name: 'a' }))
    expect(bound).toEqual([])
    expect(conditionOf('a')?.message).toContain('0/1 nodes are available: 1 node(s) had no volumes')
  })
})

test('whatever bindings fail, no pod is bound twice and no node beyond its room', async () => {
  const faults = fc.array(fc.constantFrom('ok', 'conflict', 'server'), { maxLength: 12 })
  const sizes = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(sizes, faults, async (cpus, outcomes) => {
      const nodes = [node('n1', { cpu: '4' }), node('n2', { cpu: '4' })]
      const { add, bound, clock, server, resources } = await start(...nodes)
      const left = [...outcomes]
      server.react('create', 'pods/binding', () => {
        const outcome = left.shift()
        if (outcome === 'conflict') throw conflict(resources.pods, 'p', 'busy')
        if (outcome === 'server') throw new Error('500')
        return undefined
      })
      for (const [index, cpu] of cpus.entries()) {
        await add(pod({ name: `p${index}`, cpu: String(cpu) }))
      }
      for (let round = 0; round < 20; round++) await clock.step(10_000)
      const names = bound.map((each) => each.split(' ')[0])
      expect(new Set(names).size).toBe(names.length)
      const used = new Map<string, number>()
      for (const each of bound) {
        const [key = '', on = ''] = each.split(' ')
        used.set(on, (used.get(on) ?? 0) + (cpus[Number(key.replace('default/p', ''))] ?? 0))
      }
      expect(Math.max(...used.values())).toBeLessThanOrEqual(4)
      // What fits nowhere is larger than what is left everywhere.
      const waiting = cpus.filter((_cpu, index) => !names.includes(`default/p${index}`))
      const room = ['n1', 'n2'].map((name) => 4 - (used.get(name) ?? 0))
      for (const cpu of waiting) expect(cpu).toBeGreaterThan(Math.max(...room))
    }),
    { numRuns: 25 },
  )
})
