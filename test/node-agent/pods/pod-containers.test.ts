/** Containers of a pod on a worker: what is reported of those that end, change, or cannot be created. */
import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { pod, runPod } from '../build.ts'

describe('the message of a container that ended', () => {
  const ending = (script: string, more: object = {}) => ({
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image: 'busybox',
        command: ['sh', '-c', script],
        terminationMessagePolicy: 'FallbackToLogsOnError',
        ...more,
      },
    ],
  })
  const messageOf = async (spec: ReturnType<typeof ending>) => {
    const run = await runPod(pod('ends', spec))
    await run.clock.step(200)
    return run.last.containerStatuses?.[0]?.state?.terminated?.message
  }

  test('is its log when it failed and its policy says so', async () => {
    expect(await messageOf(ending('echo -n DONE; /bin/false'))).toBe('DONE')
    expect(await messageOf(ending('echo one; echo two; exit 1'))).toBe('one\ntwo\n')
  })

  test('is the end of a long log', async () => {
    const long = `${'echo line;'.repeat(100)} exit 1`
    expect(await messageOf(ending(long))).toBe('line\n'.repeat(80))
    const wide = `echo ${'x'.repeat(3000)}; exit 1`
    expect(await messageOf(ending(wide))).toBe(`${'x'.repeat(2047)}\n`)
  })

  test('is empty when it succeeded, and with the other policy', async () => {
    expect(await messageOf(ending('echo DONE'))).toBeUndefined()
    const file = ending('echo DONE; exit 1', { terminationMessagePolicy: 'File' })
    expect(await messageOf(file)).toBeUndefined()
  })
})

describe('a container that cannot be configured', () => {
  test('waits until what its environment names is there', async () => {
    const cluster = new FakeCluster(new FakeClock())
    const { configMaps } = resourcesOf(dialects.kubernetes)
    const valueFrom = { configMapKeyRef: { name: 'settings', key: 'COLOUR' } }
    const containers = [{ name: 'main', image: 'app:1', env: [{ name: 'COLOUR', valueFrom }] }]
    const run = await runPod(pod('web', { containers }), { cluster })
    await run.clock.step(200)
    expect(run.last.phase).toBe('Pending')
    expect(run.last.containerStatuses?.[0]?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'configmap "settings" not found',
    })
    expect(run.events).toContain('Failed: Error: configmap "settings" not found')
    await run.clock.step(60_000)
    const metadata = { name: 'settings', namespace: 'default' }
    cluster.seed(configMaps, { metadata, data: { COLOUR: 'blue' } })
    await run.clock.step(10_000)
    expect(run.last.phase).toBe('Running')
  })

  const main = (securityContext: object) => [{ name: 'main', image: 'app:1', securityContext }]

  test.each([
    ['its own user is', { containers: main({ runAsNonRoot: true, runAsUser: 0 }) }],
    [
      "its pod's user is",
      { containers: main({ runAsNonRoot: true }), securityContext: { runAsUser: 0 } },
    ],
    [
      'its own user is, against that of its pod',
      {
        containers: main({ runAsUser: 0 }),
        securityContext: { runAsNonRoot: true, runAsUser: 1000 },
      },
    ],
  ])('is refused when %s root but must not be', async (_, spec) => {
    const run = await runPod(pod('root', spec))
    await run.clock.step(200)
    const message =
      `container's runAsUser breaks non-root policy ` +
      `(pod: "root_default(uid-root)", container: main)`
    expect(run.last.containerStatuses?.[0]?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message,
    })
    expect(run.events).toContain(`Failed: Error: ${message}`)
  })

  test('is created when its user is another, or is the image’s', async () => {
    const other = await runPod(pod('other', { containers: main({ runAsUser: 7 }) }))
    expect(other.last.phase).toBe('Running')
    const image = await runPod(pod('image', { containers: main({ runAsNonRoot: true }) }))
    expect(image.last.phase).toBe('Running')
  })
})

describe('a container whose image changes', () => {
  const setImage =
    (image: string) =>
    ({ spec }: Pod): void => {
      for (const container of spec?.containers ?? []) container.image = image
    }
  const crashing = { [podAnnotations.exitAfter]: '2s', [podAnnotations.exitCode]: '1' }

  test('is replaced while it runs, whatever the policy', async () => {
    const run = await runPod(pod('web', { restartPolicy: 'Never' }))
    const before = run.last.containerStatuses?.[0]
    await run.change(setImage('app:2'))
    await run.clock.step(0)
    const after = run.last.containerStatuses?.[0]
    expect(after).toMatchObject({ image: 'app:2', restartCount: 1, state: { running: {} } })
    expect(after?.lastState?.terminated?.containerID).toBe(before?.containerID)
    expect(run.last.phase).toBe('Running')
    expect(run.events).toContain('Killing: Container main definition changed, will be restarted')
    expect(run.events).toContain('Pulling: Pulling image "app:2"')
  })

  test('is replaced when the agent finds the change after its own restart', async () => {
    const first = await runPod(pod('web'))
    first.worker.abandon()
    const changed = { ...pod('web'), status: first.last }
    setImage('app:2')(changed)
    const again = await runPod(changed, { clock: first.clock })
    expect(again.last.containerStatuses?.[0]).toMatchObject({ image: 'app:2', restartCount: 1 })
  })

  test('starts over with its back-off', async () => {
    const run = await runPod(pod('crash', {}, crashing))
    await run.clock.step(50_000)
    const waiting = () => run.last.containerStatuses?.[0]?.state?.waiting
    const restarts = () => run.last.containerStatuses?.[0]?.restartCount
    expect(waiting()?.message).toContain('back-off 40s')
    expect(restarts()).toBe(3)
    await run.change(setImage('app:2'))
    expect(restarts()).toBe(4)
    await run.clock.step(2500)
    expect(waiting()?.message).toContain('back-off 10s')
  })

  test('is not waited for any longer when the former one could not be pulled', async () => {
    const image = { [podAnnotations.start]: 'image-pull-error' }
    const run = await runPod(pod('pull', {}, image))
    await run.clock.step(60_000)
    await run.change((changed) => {
      setImage('app:2')(changed)
      changed.metadata.annotations = {}
    })
    expect(run.last.phase).toBe('Running')
  })

  test('stays as it ended when it is not to be restarted', async () => {
    const run = await runPod(pod('done', { restartPolicy: 'Never' }, crashing))
    await run.clock.step(3000)
    await run.change(setImage('app:2'))
    expect(run.last).toMatchObject({ phase: 'Failed' })
    expect(run.last.containerStatuses?.[0]).toMatchObject({ image: 'app:1', restartCount: 0 })
  })
})

test('all containers of a pod with init containers wait with PodInitializing', async () => {
  const initContainers = [{ name: 'setup', image: 'i:1' }]
  const slow = { [podAnnotations.startDelay]: '5s' }
  const run = await runPod(pod('init', { initContainers }, slow))
  await run.clock.step(200)
  const { initContainerStatuses = [], containerStatuses = [] } = run.last
  const reasons = [...initContainerStatuses, ...containerStatuses].map(
    ({ state }) => state?.waiting?.reason,
  )
  expect(reasons).toEqual(['PodInitializing', 'PodInitializing'])
})
