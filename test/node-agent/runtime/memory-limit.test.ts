/** Containers whose memory exceeds their limit: when they are killed, and how it shows. */
import { describe, expect, test } from 'vitest'
import type { PodSpec } from '../../../components/api/generated/types.ts'
import { firstAgeAbove, readUsage, type Usage } from '../../../components/api/simulated-usage.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { parseUsageRules } from '../../../components/node-agent/runtime/usage-rules.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { pod, runPod } from '../build.ts'

const memory = 'skiff.dev/memory-usage'

const limited = (limit = '128Mi', more: Partial<PodSpec> = {}): Partial<PodSpec> => ({
  containers: [{ name: 'main', image: 'app:1', resources: { limits: { memory: limit } } }],
  ...more,
})

async function start(annotations: Record<string, string>, spec = limited()) {
  const clock = new FakeClock()
  const runtime = new SimulatedRuntime({ clock, version: 'test', writeCheckpoint: async () => {} })
  const run = await runPod(pod('web', spec, annotations), { clock, runtime })
  return {
    ...run,
    clock,
    runtime,
    main: () => run.statuses.at(-1)?.containerStatuses?.[0],
    phase: () => run.statuses.at(-1)?.phase,
  }
}

const killed = { exitCode: 137, reason: 'OOMKilled' }

describe('a container whose memory exceeds its limit', () => {
  test('is killed at that moment, and restarted with back-off', async () => {
    const run = await start({ [memory]: '64Mi for 1m, 129Mi' })
    await run.clock.step(59_999)
    expect(run.main()).toMatchObject({ restartCount: 0, state: { running: {} } })
    await run.clock.step(1)
    expect(run.main()).toMatchObject({ restartCount: 1, lastState: { terminated: killed } })
    expect(run.main()?.state?.running?.startedAt).toBe('2025-01-01T00:01:00Z')
    await run.clock.step(60_000)
    expect(run.main()?.state).toMatchObject({ waiting: { reason: 'CrashLoopBackOff' } })
    expect(run.main()?.lastState).toMatchObject({ terminated: killed })
    expect(run.events.filter((event) => event.startsWith('BackOff'))).toHaveLength(1)
  })

  test('that is never restarted fails its pod', async () => {
    const run = await start({ [memory]: '1Gi' }, limited('128Mi', { restartPolicy: 'Never' }))
    await run.clock.step(0)
    expect(run.main()?.state).toMatchObject({ terminated: killed })
    expect(run.phase()).toBe('Failed')
  })

  test.each([
    ['uses exactly its limit', '128Mi', limited()],
    ['uses all that it requests', '100%', limited()],
    ['has no limit', '1Ti', {}],
  ])('is not one that %s', async (_, usage, spec) => {
    const run = await start({ [memory]: usage }, spec)
    await run.clock.step(3_600_000)
    expect(run.main()).toMatchObject({ restartCount: 0, state: { running: {} } })
  })

  test('for requests that it answers is killed while they count', async () => {
    const run = await start({ 'skiff.dev/listen': '80', [memory]: '100Mi + 20Mi per request' })
    await run.clock.step(60_000)
    for (let n = 0; n < 20; n += 1) {
      const connection = await run.runtime.connect('uid-web', 80)
      connection.write('GET / HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n')
      for await (const _ of connection) break
    }
    await run.clock.step(0)
    expect(run.main()).toMatchObject({ restartCount: 1, lastState: { terminated: killed } })
  })

  test('by an annotation or a rule that comes later is killed then', async () => {
    const run = await start({})
    await run.clock.step(60_000)
    await run.change(({ metadata }) => {
      metadata.annotations = { [memory]: '200Mi for 1s, 1Mi' }
    })
    await run.clock.step(0)
    // Its first second was long ago when the annotation came; the next container has one of its own.
    expect(run.main()).toMatchObject({ restartCount: 0 })
    await run.change(({ metadata }) => {
      metadata.annotations = {}
    })
    run.runtime.useRules(parseUsageRules('default/web memory 200Mi'))
    await run.clock.step(0)
    expect(run.main()).toMatchObject({ lastState: { terminated: killed } })
  })

  test('is spared when the annotation goes in time', async () => {
    const run = await start({ [memory]: '64Mi for 1m, 1Gi' })
    await run.clock.step(30_000)
    await run.change(({ metadata }) => {
      metadata.annotations = {}
    })
    await run.clock.step(600_000)
    expect(run.main()).toMatchObject({ restartCount: 0, state: { running: {} } })
  })

  test('leaves no timer behind when its pod goes first', async () => {
    const run = await start({ [memory]: '64Mi for 1h, 1Gi' })
    run.runtime.removePod('uid-web')
    const waiting = run.clock.pending
    const other = await start({})
    other.runtime.removePod('uid-web')
    expect(waiting).toBe(other.clock.pending)
  })
})

describe('the first age above a limit', () => {
  const read = (text: string): Usage => readUsage(text) as Usage
  test.each([
    ['10', 0, 5, 0],
    ['10', 700, 5, 700],
    ['10', 0, 10, undefined],
    ['1 for 1s, 10 for 1s', 0, 5, 1000],
    ['1 for 1s, 10 for 1s', 1500, 5, 1500],
    ['1 for 1s, 10 for 1s', 2000, 5, 3000],
    ['10 for 1s, 1 for 1s', 1000, 5, 2000],
    ['10 for 1s, 1 for 1s', 7500, 5, 8000],
    ['10 for 1s, 1', 1000, 5, undefined],
    ['1 for 1s, 10', 99_000, 5, 99_000],
    ['10% for 1s, 90%', 0, 5, 1000],
  ])('of %s from %d ms on, %d: %s', (text, fromMs, limit, age) => {
    expect(firstAgeAbove(read(text), { fromMs, requested: 10, limit })).toBe(age)
  })
})
