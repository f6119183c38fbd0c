/** Containers of a pod on a worker: what is reported of those that end, change, or cannot be created. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { pod, runPod } from './build.ts'

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
