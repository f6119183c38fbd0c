/** Probes of a pod on a worker: what they find, and what follows from it. */
import { describe, expect, test } from 'vitest'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { conditionOf, pod, runPod } from '../build.ts'

describe('probes', () => {
  const probe = { periodSeconds: 1, failureThreshold: 2, exec: { command: ['true'] } }

  test('readiness follows the probe, with its thresholds', async () => {
    const containers = [
      { name: 'main', image: 'a', readinessProbe: { ...probe, initialDelaySeconds: 5 } },
    ]
    const run = await runPod(pod('ready', { containers }))
    await run.clock.step(4900)
    expect(run.last.phase).toBe('Running')
    expect(conditionOf(run.last, 'Ready')).toBe('False ContainersNotReady')
    await run.clock.step(200)
    expect(conditionOf(run.last, 'Ready')).toBe('True')
    await run.change(({ metadata }) => {
      metadata.annotations = { [podAnnotations.readiness]: 'fail' }
    })
    await run.clock.step(1000)
    expect(conditionOf(run.last, 'Ready')).toBe('True')
    await run.clock.step(1000)
    expect(conditionOf(run.last, 'Ready')).toBe('False ContainersNotReady')
    expect(run.events).toContain('Unhealthy: Readiness probe failed: ')
  })

  test('liveness that fails restarts the container', async () => {
    const containers = [{ name: 'main', image: 'a', livenessProbe: probe }]
    const run = await runPod(
      pod('live', { containers }, { [podAnnotations.liveness]: 'until 10s' }),
    )
    await run.clock.step(9900)
    expect(run.last.containerStatuses?.[0]?.restartCount).toBe(0)
    await run.clock.step(2000)
    expect(run.last.containerStatuses?.[0]?.restartCount).toBe(1)
    expect(run.events).toContain('Killing: Container main failed liveness probe, will be restarted')
  })

  test('the others wait for the startup probe', async () => {
    const containers = [
      {
        name: 'main',
        image: 'a',
        startupProbe: { ...probe, failureThreshold: 30 },
        readinessProbe: probe,
      },
    ]
    const run = await runPod(
      pod('start', { containers }, { [podAnnotations.startup]: 'after 10s' }),
    )
    await run.clock.step(9000)
    expect(run.last.containerStatuses?.[0]).toMatchObject({ started: false, ready: false })
    await run.clock.step(2000)
    expect(run.last.containerStatuses?.[0]).toMatchObject({ started: true, ready: true })
  })

  describe('of a command', () => {
    const probed = (command: string[], more: object = {}) => ({
      containers: [
        { name: 'main', image: 'a', readinessProbe: { ...probe, exec: { command }, ...more } },
      ],
    })

    test('that is known fail as it does, and say what it said', async () => {
      const failing = await runPod(pod('false', probed(['/bin/false'])))
      await failing.clock.step(3000)
      expect(conditionOf(failing.last, 'Ready')).toBe('False ContainersNotReady')
      const script = ['sh', '-c', 'echo not yet; exit 1']
      const saying = await runPod(pod('script', probed(script)))
      await saying.clock.step(3000)
      expect(saying.events).toContain('Unhealthy: Readiness probe failed: not yet\n')
    })

    test.each([
      ['known and succeeds', ['sh', '-c', 'false || true']],
      ['not known', ['redis-cli', 'ping']],
      ['known, of a file that is not', ['cat', '/tmp/healthy']],
    ])('that is %s pass', async (_, command) => {
      const run = await runPod(pod('ok', probed(command)))
      await run.clock.step(3000)
      expect(conditionOf(run.last, 'Ready')).toBe('True')
    })

    test('end at their timeout', async () => {
      const slow = ['sleep', '2']
      const run = await runPod(pod('slow', probed(slow, { timeoutSeconds: 1 })))
      await run.clock.step(10_000)
      expect(conditionOf(run.last, 'Ready')).toBe('False ContainersNotReady')
      expect(run.events).toContain('Unhealthy: Readiness probe failed: command "sleep 2" timed out')
      const patient = await runPod(pod('patient', probed(slow, { timeoutSeconds: 3 })))
      await patient.clock.step(1900)
      expect(conditionOf(patient.last, 'Ready')).toBe('False ContainersNotReady')
      await patient.clock.step(200)
      expect(conditionOf(patient.last, 'Ready')).toBe('True')
    })

    test('do what annotations say instead', async () => {
      const run = await runPod(
        pod('told', probed(['/bin/false']), { [podAnnotations.readiness]: 'ok' }),
      )
      await run.clock.step(3000)
      expect(conditionOf(run.last, 'Ready')).toBe('True')
    })
  })

  test('a readiness gate holds the pod back until its condition is there', async () => {
    const gate = 'example.com/balanced'
    const run = await runPod(pod('gate', { readinessGates: [{ conditionType: gate }] }))
    expect(conditionOf(run.last, 'Ready')).toBe('False ReadinessGatesNotReady')
    expect(conditionOf(run.last, 'ContainersReady')).toBe('True')
    await run.change((changed) => {
      changed.status = { ...run.last, conditions: [{ type: gate, status: 'True' }] }
    })
    expect(conditionOf(run.last, 'Ready')).toBe('True')
  })
})

test('a probe’s own grace period counts for a container that it ends', async () => {
  const livenessProbe = { periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 2 }
  const run = await runPod(
    pod(
      'web',
      { containers: [{ name: 'main', image: 'app:1', livenessProbe }] },
      { [podAnnotations.stopAfter]: '1h', [podAnnotations.liveness]: 'until 5s' },
    ),
  )
  await run.clock.step(5000 + 2000 + 1000)
  expect(run.last.containerStatuses?.[0]).toMatchObject({
    restartCount: 1,
    lastState: { terminated: { exitCode: 137 } },
  })
})
