import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import type { StartRequest } from '../../../components/node-agent/runtime/container-runtime.ts'
import { PodAddresses } from '../../../components/node-agent/pods/pod-addresses.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { conditionOf, pod, runPod } from '../build.ts'

describe('a plain pod', () => {
  test('is reported once, running and ready, without any time passing', async () => {
    const run = await runPod(pod('web'))
    expect(run.statuses).toHaveLength(1)
    expect(run.last).toMatchObject({
      phase: 'Running',
      hostIP: '127.0.0.1',
      hostIPs: [{ ip: '127.0.0.1' }],
      podIP: '10.1.0.2',
      podIPs: [{ ip: '10.1.0.2' }],
      startTime: '2025-01-01T00:00:00Z',
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          started: true,
          restartCount: 0,
          image: 'app:1',
          state: { running: { startedAt: '2025-01-01T00:00:00Z' } },
        },
      ],
    })
    expect(run.last.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'PodReadyToStartContainers=True',
      'Initialized=True',
      'Ready=True',
      'ContainersReady=True',
      'PodScheduled=True',
    ])
    expect(run.last).not.toHaveProperty('qosClass')
    expect(run.events.map((event) => event.split(':')[0])).toEqual([
      'Pulling',
      'Pulled',
      'Created',
      'Started',
    ])
  })

  test('that takes long to start is reported as starting first', async () => {
    const run = await runPod(pod('slow', {}, { [podAnnotations.startDelay]: '3s' }))
    expect(run.statuses).toHaveLength(0)
    await run.clock.step(1000)
    expect(run.last.phase).toBe('Pending')
    expect(run.last.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ContainerCreating')
    expect(conditionOf(run.last, 'Ready')).toBe('False ContainersNotReady')
    await run.clock.step(2000)
    expect(run.last.phase).toBe('Running')
    expect(run.statuses).toHaveLength(2)
  })

  test('whose conditions somebody else changed is reported again', async () => {
    const run = await runPod(pod('web'))
    await run.change((changed) => {
      changed.status = structuredClone(run.last)
    })
    expect(run.statuses).toHaveLength(1)
    await run.change(({ status }) => {
      for (const condition of status?.conditions ?? []) {
        if (condition.type === 'Ready') condition.status = 'False'
      }
    })
    expect(run.statuses).toHaveLength(2)
    expect(conditionOf(run.last, 'Ready')).toBe('True')
  })

  test('whose conditions somebody changed before its own write was answered is reported again', async () => {
    let change: (() => Promise<void>) | undefined
    const run = await runPod(pod('web', {}, { [podAnnotations.startDelay]: '3s' }), {
      beforeAnswer: async () => await change?.(),
    })
    await run.clock.step(1000)
    change = async () => {
      change = undefined
      await run.change((changed) => {
        const conditions = structuredClone(run.last.conditions ?? [])
        for (const one of conditions) if (one.type === 'Ready') one.status = 'False'
        changed.status = { ...structuredClone(run.last), conditions }
      })
    }
    await run.clock.step(2000)
    await settle()
    expect(run.statuses).toHaveLength(3)
    expect(conditionOf(run.last, 'Ready')).toBe('True')
  })

  test('that the agent has reported keeps its start, though the server shows an older report', async () => {
    const run = await runPod(pod('web'))
    const { startTime } = run.last
    await run.change((changed) => {
      changed.status = { ...structuredClone(run.last), startTime: '2024-01-01T00:00:00Z' }
      changed.metadata.labels = { changed: 'yes' }
    })
    await run.change((changed) => {
      for (const condition of changed.status?.conditions ?? []) condition.status = 'False'
    })
    expect(run.last.startTime).toBe(startTime)
  })

  test('on the host network has the address of the node', async () => {
    const run = await runPod(pod('host', { hostNetwork: true }))
    expect(run.last.podIP).toBe('127.0.0.1')
  })

  test('that found no free address gets the first that is released', async () => {
    const addresses = new PodAddresses('10.1.0.0/30')
    const first = await runPod(pod('first'), { addresses })
    const gone = await runPod(pod('gone'), { addresses })
    const second = await runPod(pod('second'), { addresses })
    const third = await runPod(pod('third'), { addresses })
    expect(second.last).not.toHaveProperty('podIP')
    gone.worker.vanish()
    await settle()
    await first.delete(0)
    expect(second.last.podIP).toBe(first.last.podIP)
    expect(third.last).not.toHaveProperty('podIP')
    second.worker.vanish()
    await settle()
    expect(third.last.podIP).toBe(first.last.podIP)
  })

  test('goes on through a restart of the agent, without a restart of its containers', async () => {
    const first = await runPod(pod('web'))
    const before = first.last
    first.worker.abandon()
    await first.clock.step(60_000)
    const again = await runPod({ ...pod('web'), status: before }, { clock: first.clock })
    expect(again.last.containerStatuses).toEqual(before.containerStatuses)
    expect(again.last.conditions).toEqual(before.conditions)
    expect(again.last.podIP).toBe(before.podIP)
    expect(again.events).toEqual([])
  })
})

describe('a container that was restarted', () => {
  test('names its former self, also when the agent itself was restarted', async () => {
    const failing = pod(
      'web',
      {},
      { [podAnnotations.exitAfter]: '5s', [podAnnotations.exitCode]: '3' },
    )
    const first = await runPod(failing)
    const [{ containerID: former = '' } = { containerID: '' }] = first.last.containerStatuses ?? []
    await first.clock.step(6000)
    const [status] = first.last.containerStatuses ?? []
    expect(status).toMatchObject({
      restartCount: 1,
      state: { running: {} },
      lastState: { terminated: { exitCode: 3, containerID: former } },
    })
    expect(status?.containerID).not.toBe(former)
    first.worker.abandon()
    const again = await runPod({ ...failing, status: first.last }, { clock: first.clock })
    expect(again.last.containerStatuses).toEqual(first.last.containerStatuses)
    const { id = '' } = again.worker.container('main')
    expect(again.runtime.previous(id)).toBe(former.replace('simulated://', ''))
  })
})

describe('a pod of a Job', () => {
  const ofJob = (one: Pod): Pod => ({
    ...one,
    metadata: {
      ...one.metadata,
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid: 'u', controller: true },
      ],
    },
  })
  const spec = { restartPolicy: 'Never' }

  test('has done its work after a second when nothing says what that is', async () => {
    const run = await runPod(ofJob(pod('work', spec)))
    expect(run.last.phase).toBe('Running')
    await run.clock.step(1000)
    expect(run.last.phase).toBe('Succeeded')
    expect(run.last.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 0 })
  })

  test('does what its command and its annotations say instead', async () => {
    const command = ['sh', '-c', 'sleep 5; exit 3']
    const said = { ...spec, containers: [{ name: 'main', image: 'app:1', command }] }
    const run = await runPod(ofJob(pod('work', said)))
    await run.clock.step(4000)
    expect(run.last.phase).toBe('Running')
    await run.clock.step(2000)
    expect(run.last.phase).toBe('Failed')
    const asked = await runPod(ofJob(pod('work', spec, { [podAnnotations.exitAfter]: '1h' })))
    await asked.clock.step(60_000)
    expect(asked.last.phase).toBe('Running')
  })

  test('goes on while somebody may type into it', async () => {
    const open = { ...spec, containers: [{ name: 'main', image: 'app:1', stdin: true }] }
    const run = await runPod(ofJob(pod('work', open)))
    await run.clock.step(60_000)
    expect(run.last.phase).toBe('Running')
  })
})

describe('init containers', () => {
  const spec = {
    initContainers: [
      { name: 'one', image: 'i:1' },
      { name: 'proxy', image: 'i:2', restartPolicy: 'Always' },
      { name: 'two', image: 'i:3' },
    ],
  }

  test('run one after the other, sidecars beside them, before the main ones', async () => {
    const run = await runPod(
      pod('init', spec, {
        [`${podAnnotations.exitAfter}.one`]: '5s',
        [`${podAnnotations.exitAfter}.two`]: '5s',
      }),
    )
    const up = (): string[] =>
      [...(run.last.initContainerStatuses ?? []), ...(run.last.containerStatuses ?? [])]
        .filter(({ state }) => state?.running !== undefined)
        .map(({ name }) => name)
    await run.clock.step(200)
    expect(up()).toEqual(['one'])
    expect(run.last.phase).toBe('Pending')
    expect(conditionOf(run.last, 'Initialized')).toBe('False ContainersNotInitialized')
    expect(run.last.conditions?.find(({ type }) => type === 'Initialized')?.message).toBe(
      'containers with incomplete status: [one proxy two]',
    )
    expect(run.last.containerStatuses?.[0]?.state?.waiting?.reason).toBe('PodInitializing')
    await run.clock.step(5000)
    expect(up()).toEqual(['proxy', 'two'])
    await run.clock.step(5000)
    expect(up()).toEqual(['proxy', 'main'])
    expect(run.last.phase).toBe('Running')
    expect(conditionOf(run.last, 'Ready')).toBe('True')
    expect(run.last.initContainerStatuses?.map(({ ready }) => ready)).toEqual([true, true, true])
  })

  test('have nothing to do unless told: they end at once, and the pod is ready', async () => {
    const run = await runPod(pod('init', spec))
    await run.clock.step(100)
    expect(run.last.phase).toBe('Running')
    expect(conditionOf(run.last, 'Ready')).toBe('True')
    expect(run.last.initContainerStatuses?.map(({ state }) => state?.terminated?.reason)).toEqual([
      'Completed',
      undefined,
      'Completed',
    ])
  })

  test('that fail are retried, or fail the pod when it is never to be restarted', async () => {
    const failing = {
      [`${podAnnotations.exitAfter}.one`]: '1s',
      [`${podAnnotations.exitCode}.one`]: '3',
    }
    const retried = await runPod(pod('retried', spec, failing))
    await retried.clock.step(2500)
    expect(retried.last.initContainerStatuses?.[0]?.restartCount).toBe(1)
    expect(retried.last.phase).toBe('Pending')
    const failed = await runPod(pod('failed', { ...spec, restartPolicy: 'Never' }, failing))
    await failed.clock.step(2500)
    expect(failed.last.phase).toBe('Failed')
    expect(failed.last.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3)
    expect(failed.last.containerStatuses?.[0]?.state?.waiting).toBeDefined()
  })
})

describe('containers whose command is known', () => {
  const script = (text: string) => ({
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', text] }],
  })

  test('do what it says', async () => {
    const run = await runPod(pod('job', script('sleep 5; exit 3')))
    await run.clock.step(4000)
    expect(run.last.phase).toBe('Running')
    await run.clock.step(1500)
    expect(run.last.phase).toBe('Failed')
    expect(run.last.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: 'Error',
    })
  })

  test('go on with it through a restart of the agent', async () => {
    const first = await runPod(pod('job', script('sleep 60')))
    await first.clock.step(20_000)
    first.worker.abandon()
    await first.clock.step(20_000)
    const status = first.last
    const again = await runPod(
      { ...pod('job', script('sleep 60')), status },
      { clock: first.clock },
    )
    await again.clock.step(15_000)
    expect(again.statuses.map(({ phase }) => phase)).not.toContain('Succeeded')
    await again.clock.step(6000)
    expect(again.last.phase).toBe('Succeeded')
  })

  test('do what annotations say instead', async () => {
    const run = await runPod(
      pod('job', script('exit 3'), {
        [podAnnotations.exitAfter]: '10s',
        [podAnnotations.exitCode]: '4',
      }),
    )
    await run.clock.step(9000)
    expect(run.last.phase).toBe('Running')
    await run.clock.step(2000)
    expect(run.last.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4)
  })
})

describe('ephemeral containers', () => {
  const withLooker = (command: string[]) => (changed: Pod) => {
    const looker = { name: 'look', image: 'busybox', command }
    changed.spec = { ...changed.spec, containers: changed.spec?.containers ?? [] }
    changed.spec.ephemeralContainers = [looker]
  }

  test('start in a pod that runs, run once, and leave it as it was', async () => {
    const run = await runPod(pod('web'))
    await run.change(withLooker(['sh', '-c', 'sleep 5; exit 3']))
    await settle()
    expect(run.last.ephemeralContainerStatuses).toMatchObject([
      { name: 'look', ready: false, restartCount: 0, state: { running: {} } },
    ])
    await run.clock.step(60_000)
    expect(run.last.ephemeralContainerStatuses).toMatchObject([
      { name: 'look', restartCount: 0, state: { terminated: { exitCode: 3 } } },
    ])
    expect(run.last.phase).toBe('Running')
    expect(conditionOf(run.last, 'Ready')).toBe('True')
    expect(run.last.containerStatuses).toHaveLength(1)
  })

  test('start while init containers run, and end with the pod', async () => {
    const initContainers = [{ name: 'one', image: 'i:1', command: ['sleep', '60'] }]
    const run = await runPod(pod('web', { initContainers, restartPolicy: 'Never' }))
    await run.change(withLooker(['sleep', '1h']))
    await run.clock.step(1000)
    expect(run.last.phase).toBe('Pending')
    expect(run.last.ephemeralContainerStatuses?.[0]?.state?.running).toBeDefined()
    await run.delete(0)
    await run.clock.step(1000)
    expect(run.last.ephemeralContainerStatuses?.[0]?.state?.terminated).toBeDefined()
    expect(run.deletions).toBe(1)
  })
})

describe('containers that end', () => {
  const ends = (code: number) => ({
    [podAnnotations.exitAfter]: '2s',
    [podAnnotations.exitCode]: String(code),
  })

  test.each([
    ['Never', 0, 'Succeeded'],
    ['Never', 1, 'Failed'],
    ['OnFailure', 0, 'Succeeded'],
    ['OnFailure', 1, 'Running'],
    ['Always', 0, 'Running'],
  ])('with restartPolicy %s and code %i leave the pod %s', async (restartPolicy, code, phase) => {
    const run = await runPod(pod('job', { restartPolicy }, ends(code)))
    await run.clock.step(2100)
    expect(run.last.phase).toBe(phase)
    if (phase === 'Succeeded') expect(conditionOf(run.last, 'Ready')).toBe('False PodCompleted')
    if (phase === 'Failed') expect(conditionOf(run.last, 'Ready')).toBe('False PodFailed')
    if (phase !== 'Running') {
      await run.clock.step(3_600_000)
      expect(run.last.containerStatuses?.[0]?.restartCount).toBe(0)
    }
  })

  test('are restarted at once, then after 10 s, 20 s, 40 s', async () => {
    const run = await runPod(pod('crash', {}, ends(1)))
    const restarts: number[] = []
    for (let second = 1; second <= 90; second++) {
      await run.clock.step(1000)
      const count = run.last.containerStatuses?.[0]?.restartCount ?? 0
      if (count > restarts.length) restarts.push(second)
    }
    // Each run takes 2 s: ends at 2, 4, 16, 38; starts again at 2, 14, 36, 78.
    expect(restarts).toEqual([2, 14, 36, 78])
  })

  test('show CrashLoopBackOff with their last end while they wait', async () => {
    const run = await runPod(pod('crash', {}, ends(1)))
    await run.clock.step(5000)
    const status = run.last.containerStatuses?.[0]
    expect(status?.state?.waiting).toEqual({
      reason: 'CrashLoopBackOff',
      message: 'back-off 10s restarting failed container=main pod=crash_default(uid-crash)',
    })
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 1, reason: 'Error' })
    expect(run.last.phase).toBe('Running')
    expect(conditionOf(run.last, 'Ready')).toBe('False ContainersNotReady')
    expect(run.events.filter((event) => event.startsWith('BackOff'))).toHaveLength(1)
  })

  test('past their deadline fail the pod', async () => {
    const run = await runPod(pod('late', { activeDeadlineSeconds: 5 }))
    await run.clock.step(4999)
    expect(run.last.phase).toBe('Running')
    await run.clock.step(1)
    expect(run.last).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' })
    expect(run.last.containerStatuses?.[0]?.state?.terminated).toBeDefined()
  })

  test('take their sidecars along once the work is done', async () => {
    const initContainers = [{ name: 'proxy', image: 'i:1', restartPolicy: 'Always' }]
    const run = await runPod(
      pod(
        'job',
        { initContainers, restartPolicy: 'Never' },
        {
          [`${podAnnotations.exitAfter}.main`]: '2s',
        },
      ),
    )
    await run.clock.step(2100)
    expect(run.last.phase).toBe('Succeeded')
    expect(run.last.initContainerStatuses?.[0]?.state?.terminated).toBeDefined()
  })
})

describe('containers that do not start', () => {
  test('show why, and are tried again later', async () => {
    const run = await runPod(pod('bad', {}, { [podAnnotations.start]: 'fail' }))
    await run.clock.step(200)
    expect(run.last.containerStatuses?.[0]?.state?.waiting?.reason).toBe('CreateContainerError')
    expect(run.last.phase).toBe('Pending')
    await run.change(({ metadata }) => {
      metadata.annotations = {}
    })
    await run.clock.step(10_000)
    expect(run.last.phase).toBe('Running')
  })

  test('for want of their image go from ErrImagePull to ImagePullBackOff', async () => {
    const run = await runPod(pod('bad', {}, { [podAnnotations.start]: 'image-pull-error' }))
    await run.clock.step(200)
    expect(run.last.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ErrImagePull')
    await run.clock.step(11_000)
    const waiting = run.last.containerStatuses?.[0]?.state?.waiting
    expect(waiting?.reason).toBe('ImagePullBackOff')
    expect(waiting?.message).toContain('Back-off pulling image "app:1"')
  })
})

describe('deletion', () => {
  test('ends the containers, reports their end, then removes the object', async () => {
    const run = await runPod(pod('web'))
    await run.delete()
    expect(run.last.phase).toBe('Succeeded')
    expect(run.last.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
    })
    expect(run.deletions).toBe(1)
    expect(run.events).toContain('Killing: Stopping container main')
  })

  test('is reported once, when the last container has ended', async () => {
    const containers = [
      { name: 'slow', image: 'a', lifecycle: { preStop: { sleep: { seconds: 4 } } } },
      { name: 'quick', image: 'b' },
    ]
    const run = await runPod(pod('web', { containers }))
    await run.change((changed) => {
      changed.status = structuredClone(run.last)
    })
    const reported = run.statuses.length
    await run.delete()
    await run.clock.step(3900)
    expect(run.statuses).toHaveLength(reported)
    await run.clock.step(100)
    expect(run.statuses).toHaveLength(reported + 1)
    expect(run.last.phase).toBe('Succeeded')
    const ended = run.last.containerStatuses?.map(({ state }) => state?.terminated?.exitCode)
    expect(ended).toEqual([0, 0])
  })

  test('goes on reporting conditions that somebody else changed', async () => {
    const run = await runPod(pod('web', {}, { [podAnnotations.stopAfter]: '1h' }))
    await run.delete()
    const reported = run.statuses.length
    await run.change((changed) => {
      changed.status = structuredClone(run.last)
      for (const condition of changed.status.conditions ?? []) condition.status = 'Unknown'
    })
    expect(run.statuses).toHaveLength(reported + 1)
    expect(conditionOf(run.last, 'Ready')).toBe('True')
  })

  test('a second deletion with less grace ends a slow container sooner', async () => {
    const run = await runPod(pod('web', {}, { [podAnnotations.stopAfter]: '1h' }))
    await run.delete(30)
    await run.clock.step(5000)
    await run.delete(2)
    await run.clock.step(1999)
    expect(run.deletions).toBe(0)
    await run.clock.step(1)
    expect(run.last.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137)
    expect(run.deletions).toBe(1)
  })

  test('a second deletion with more grace changes nothing', async () => {
    const run = await runPod(pod('web', {}, { [podAnnotations.stopAfter]: '1h' }))
    await run.delete(3)
    await run.delete(60)
    await run.clock.step(3000)
    expect(run.deletions).toBe(1)
  })

  test('waits for a slow container, but no longer than the grace period', async () => {
    const slow = await runPod(pod('slow', {}, { [podAnnotations.stopAfter]: '5s' }))
    await slow.delete(30)
    await slow.clock.step(4900)
    expect(slow.deletions).toBe(0)
    await slow.clock.step(100)
    expect(slow.deletions).toBe(1)
    const stuck = await runPod(pod('stuck', {}, { [podAnnotations.stopAfter]: '1h' }))
    await stuck.delete(10)
    await stuck.clock.step(9900)
    expect(stuck.deletions).toBe(0)
    await stuck.clock.step(100)
    expect(stuck.deletions).toBe(1)
    expect(stuck.last.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 137,
      signal: 9,
    })
    expect(stuck.last.phase).toBe('Failed')
  })

  test('lets a preStop sleep pass first', async () => {
    const lifecycle = { preStop: { sleep: { seconds: 4 } } }
    const run = await runPod(pod('hook', { containers: [{ name: 'main', image: 'a', lifecycle }] }))
    await run.delete()
    await run.clock.step(3900)
    expect(run.deletions).toBe(0)
    await run.clock.step(100)
    expect(run.deletions).toBe(1)
  })

  test('of an object that has gone already tells nobody and cleans up', async () => {
    const run = await runPod(pod('gone', {}, { [podAnnotations.stopAfter]: '1h' }))
    const reported = run.statuses.length
    run.worker.vanish()
    await settle()
    await run.worker.done
    expect(run.statuses).toHaveLength(reported)
    expect(run.deletions).toBe(0)
  })

  test('of a pod that ended before starts nothing again', async () => {
    const over = pod('over')
    over.status = { phase: 'Failed', reason: 'Evicted' }
    const run = await runPod(over)
    expect(run.statuses).toHaveLength(0)
    expect(run.events).toEqual([])
    await run.delete()
    expect(run.deletions).toBe(1)
  })
})

describe('seccomp', () => {
  async function startedWith(spec: Parameters<typeof pod>[1]): Promise<StartRequest[]> {
    const clock = new FakeClock()
    const runtime = new SimulatedRuntime({
      clock,
      version: 'test',
      writeCheckpoint: async () => {},
    })
    const requests: StartRequest[] = []
    const start = runtime.startContainer.bind(runtime)
    runtime.startContainer = (request) => {
      requests.push(request)
      return start(request)
    }
    await runPod(pod('sec', spec), { clock, runtime })
    return requests
  }
  const runtimeDefault = { seccompProfile: { type: 'RuntimeDefault' } }
  const unconfined = { seccompProfile: { type: 'Unconfined' } }

  test("[POD-008] the pod's profile reaches the runtime for containers that have none", async () => {
    const containers = [
      { name: 'a', image: 'a' },
      { name: 'b', image: 'b' },
    ]
    const requests = await startedWith({ securityContext: runtimeDefault, containers })
    expect(requests.map(({ seccompProfile }) => seccompProfile?.type)).toEqual([
      'RuntimeDefault',
      'RuntimeDefault',
    ])
  })

  test("[POD-007] a container's own profile beats the pod's", async () => {
    const containers = [{ name: 'a', image: 'a', securityContext: unconfined }]
    const requests = await startedWith({ securityContext: runtimeDefault, containers })
    expect(requests[0]?.seccompProfile?.type).toBe('Unconfined')
  })

  test('[POD-009] a privileged container is never confined', async () => {
    const securityContext = { privileged: true, ...runtimeDefault }
    const requests = await startedWith({ containers: [{ name: 'a', image: 'a', securityContext }] })
    expect(requests[0]?.seccompProfile?.type).toBe('Unconfined')
  })
})
