import { afterEach, describe, expect, it } from 'vitest'
import type { MetricSpec } from '../../../components/api/generated/types.ts'
import { servedRelease } from '../../../components/api/lifecycle.ts'
import { createMetrics } from '../../../components/component-base/metrics.ts'
import {
  declareAutoscalerMetrics,
  measureComputation,
  startReconciliation,
} from '../../../components/controller-manager/horizontal-pod-autoscaler/autoscaler-metrics.ts'
import { SpecError } from '../../../components/controller-manager/horizontal-pod-autoscaler/spec-error.ts'
import { internalError } from '../../../components/machinery/objects/status-error.ts'
import { autoscaler, cpu, startAutoscaler } from '../../support/autoscaler-story.ts'
import type { AutoscalerSeed, AutoscalerStory } from '../../support/autoscaler-story.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const subsystem = 'horizontal_pod_autoscaler_controller'

describe('the metrics of a running autoscaler', () => {
  let story: AutoscalerStory
  afterEach(() => story.harness.stop())

  const start = async (seed: AutoscalerSeed = {}): Promise<void> => {
    story = await startAutoscaler(seed)
  }
  const reconciliations = () => story.harness.shown(`${subsystem}_reconciliations_total`)
  const computations = () => story.harness.shown(`${subsystem}_metric_computation_total`)
  const load = (type = 'External'): MetricSpec => ({
    type,
    external: { metric: { name: 'load' }, target: { type: 'Value', value: '10' } },
  })

  it('count what each look did, and what each metric asked for', async () => {
    await start({ usage: 100 })
    await story.look()
    expect(reconciliations()).toEqual(['{action="scale_up",error="none"} 1'])
    // The status shows no replicas before the first look, so that any are more.
    expect(computations()).toEqual(['{action="scale_up",error="none",metric_type="Resource"} 1'])
    story.addPods(4)
    story.use(50)
    await story.look(2)
    expect(reconciliations()).toEqual([
      '{action="scale_up",error="none"} 1',
      '{action="none",error="none"} 2',
    ])
    // The first of them compares with the two replicas that the status still showed.
    expect(computations()).toEqual([
      '{action="scale_up",error="none",metric_type="Resource"} 2',
      '{action="none",error="none",metric_type="Resource"} 1',
    ])
    expect(story.harness.shown(`${subsystem}_reconciliation_duration_seconds`)).toEqual([
      '{action="scale_up",error="none"} 1, 0',
      '{action="none",error="none"} 2, 0',
    ])
  })

  it('count a scale down once the replicas were written', async () => {
    const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } }
    await start({ replicas: 4, usage: 10, spec: { behavior } })
    const heal = story.harness.cluster.react('update', 'deployments/scale', () => {
      throw internalError('not now')
    })
    await story.look()
    expect(reconciliations()).toEqual(['{action="none",error="internal"} 1'])
    heal()
    await story.look()
    expect(reconciliations()).toEqual([
      '{action="none",error="internal"} 1',
      '{action="scale_down",error="none"} 1',
    ])
  })

  it('count a look that scaled in spite of a metric that failed as scaled, with an error', async () => {
    await start({ usage: 100, spec: { metrics: [load(), cpu(50)] } })
    await story.look()
    expect(reconciliations()).toEqual(['{action="scale_up",error="internal"} 1'])
    expect(computations()).toEqual([
      '{action="none",error="internal",metric_type="External"} 1',
      '{action="scale_up",error="none",metric_type="Resource"} 1',
    ])
  })

  it('blame the spec for a metric of an unknown type, and not for what follows from it', async () => {
    await start({ spec: { metrics: [load('Guess')] } })
    await story.look()
    expect(computations()).toEqual(['{action="none",error="spec",metric_type="Guess"} 1'])
    // As upstream, whose summary of the metrics' errors drops their causes.
    expect(reconciliations()).toEqual(['{action="none",error="internal"} 1'])
  })

  it('blame the spec for a target without a readable version, and compute nothing', async () => {
    const scaleTargetRef = { apiVersion: 'a/b/c', kind: 'Deployment', name: 'web' }
    await start({ usage: 100, spec: { scaleTargetRef } })
    await story.look()
    expect(reconciliations()).toEqual(['{action="none",error="spec"} 1'])
    expect(computations()).toEqual([])
  })

  it('count pods of two autoscalers as an error of the cluster', async () => {
    await start({ usage: 100, others: [autoscaler({ metrics: [cpu(10)] }, 'again')] })
    await story.look(2)
    expect(reconciliations()).toContain('{action="none",error="internal"} 3')
  })
})

describe('the times of an autoscaler', () => {
  function measured() {
    const metrics = createMetrics({ release: servedRelease })
    const clock = new FakeClock()
    const sums = (name: string): string[] =>
      metrics
        .text()
        .split('\n')
        .filter((line) => line.startsWith(`${subsystem}_${name}_sum`))
        .map((line) => line.slice(subsystem.length + name.length + '__sum'.length))
    return { declared: declareAutoscalerMetrics(metrics), clock, sums }
  }

  it('are those from the start of a look to its end', async () => {
    const { declared, clock, sums } = measured()
    const look = startReconciliation(declared, clock)
    await clock.step(1500)
    look.scaled(3, 1)
    look.ended()
    expect(sums('reconciliation_duration_seconds')).toEqual([
      '{action="scale_down",error="none"} 1.5',
    ])
  })

  it('are those of one metric, whether it can be computed or not', async () => {
    const { declared, clock, sums } = measured()
    const measure = <T extends { replicas: number }>(compute: () => Promise<T>): Promise<T> =>
      measureComputation(
        { metrics: declared, clock },
        { type: 'Pods', shownReplicas: 2 },
        async () => {
          await clock.step(250)
          return await compute()
        },
      )
    expect(await measure(async () => ({ replicas: 1 }))).toEqual({ replicas: 1 })
    const invalid = new SpecError('unknown')
    await expect(measure(() => Promise.reject(invalid))).rejects.toBe(invalid)
    expect(sums('metric_computation_duration_seconds')).toEqual([
      '{action="scale_down",error="none",metric_type="Pods"} 0.25',
      '{action="none",error="spec",metric_type="Pods"} 0.25',
    ])
  })
})
