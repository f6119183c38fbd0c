/** Autoscalers and metrics that are missing, stale or absurd; targets of other kinds; a clock that is set back. */
import { afterEach, describe, expect, it } from 'vitest'
import type { MetricSpec } from '../../../components/api/generated/types.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { internalError, StatusError } from '../../../components/machinery/objects/status-error.ts'
import { autoscaler, cpu, startAutoscaler } from '../../support/autoscaler-story.ts'
import type { AutoscalerSeed, AutoscalerStory } from '../../support/autoscaler-story.ts'

let story: AutoscalerStory
afterEach(() => story.harness.stop())
const start = async (seed: AutoscalerSeed = {}): Promise<void> => {
  story = await startAutoscaler(seed)
}

const external = '/apis/external.metrics.k8s.io/v1beta1/namespaces/default/load'
const load: MetricSpec = {
  type: 'External',
  external: { metric: { name: 'load' }, target: { type: 'Value', value: '10' } },
}
const values = (...all: string[]) => ({
  items: all.map((value) => ({ metricName: 'load', timestamp: '2025-01-01T00:00:00Z', value })),
})

describe('a metric that fails', () => {
  it('has an empty place among the others in the status', async () => {
    await start({ usage: 100, spec: { metrics: [load, cpu(50)] } })
    await story.look()
    expect(story.replicas()).toBe(4)
    expect(story.status().currentMetrics).toEqual([
      { type: '' },
      expect.objectContaining({ type: 'Resource' }),
    ])
    expect(story.status()).not.toHaveProperty('observedGeneration')
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no items', { items: [] }],
    ['another object', { kind: 'Status' }],
    ['items that are none', { items: [{}] }],
    ['a value that is none', values('lots')],
    ['a value too long to be read', values('9'.repeat(2000))],
  ])('with %s scales nothing, is reported, and asked for once a period', async (_, answer) => {
    await start({ usage: 1, spec: { metrics: [load] } })
    const { cluster } = story.harness
    if (answer !== undefined) cluster.react('get', external, () => answer)
    await story.look(10)
    expect(story.replicas()).toBe(2)
    expect(story.conditions()).toContain('ScalingActive False FailedGetExternalMetric')
    const asked = cluster.calls.filter(
      ({ verb, resource }) => verb === 'get' && resource === external,
    )
    expect(asked).toHaveLength(10)
    // Its first status alone.
    expect(cluster.writes).toHaveLength(1)
    cluster.react('get', external, () => values('20'))
    await story.look()
    expect(story.replicas()).toBe(4)
  })
})

describe('an absurd metric', () => {
  it.each<[string, string, number]>([
    ['far too much', '9e30', 4],
    ['nothing', '0', 2],
    ['less than nothing', '-50', 2],
  ])('of %s scales within the limits', async (_, value, wanted) => {
    await start({ usage: 1, spec: { metrics: [load] } })
    story.harness.cluster.react('get', external, () => values(value))
    await story.look()
    expect(story.replicas()).toBe(wanted)
    await story.look(100)
    const end = story.replicas()
    expect([1, 10]).toContain(end)
    expect(end).toBe(value === '9e30' ? 10 : 1)
    const writes = story.harness.cluster.writes.length
    await story.look(20)
    expect(story.harness.cluster.writes).toHaveLength(writes)
  })

  it('of a pod does not scale beyond the maximum either', async () => {
    await start({ usage: 1e15 })
    await story.look(100)
    expect(story.replicas()).toBe(10)
    const [{ resource }] = story.status().currentMetrics as unknown as [{ resource: object }]
    // Fields of 32 and 64 bits.
    expect(resource).toMatchObject({
      current: { averageUtilization: 2 ** 31 - 1, averageValue: '1T' },
    })
  })
})

describe('a stale metric', () => {
  it('of a pod that has just become ready does not count as CPU', async () => {
    await start({ replicas: 0, spec: { minReplicas: 1 } })
    story.harness.cluster.change(
      story.harness.resources.deployments,
      'default/web',
      (one) => void (one['spec'] = { replicas: 2 }),
    )
    story.addPods(2, 10_000)
    // Measured when the pods started: for the most part before they were ready.
    story.use(100, story.harness.clock.now() - 10_000)
    await story.look()
    expect(story.replicas()).toBe(2)
    expect(story.conditions()).toContain('ScalingActive False FailedGetResourceMetric')
    await story.look()
    story.use(100)
    await story.look()
    expect(story.replicas()).toBe(4)
  })

  it('of a pod that is gone counts for nothing, and missing ones keep it from scaling down', async () => {
    await start({
      replicas: 4,
      usage: 10,
      spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } },
    })
    const { cluster, resources } = story.harness
    for (const name of ['p1', 'p2', 'p3']) cluster.remove(resources.podMetrics, `default/${name}`)
    await story.look(5)
    expect(story.replicas()).toBe(4)
    for (const name of ['p0', 'p1', 'p2', 'p3']) cluster.remove(resources.pods, `default/${name}`)
    await story.look(5)
    expect(story.replicas()).toBe(4)
    expect(story.conditions()).toContain('ScalingActive False FailedGetResourceMetric')
  })
})

describe('a custom resource as target', () => {
  const widgets: Resource = {
    group: 'example.com',
    package: 'example.com/v1',
    version: 'v1',
    plural: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    namespaced: true,
    verbs: ['get'],
    shortNames: [],
    categories: [],
    subresources: [{ name: 'scale', verbs: ['get', 'update'] }],
  } as unknown as Resource
  const target = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'w' }

  it('is scaled by its sub-resource', async () => {
    await start({ usage: 100, spec: { scaleTargetRef: target }, custom: [widgets] })
    const { cluster } = story.harness
    let replicas = 2
    const scale = () => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'w', namespace: 'default', resourceVersion: '7' },
      spec: { replicas },
      status: { replicas, selector: 'app=web' },
    })
    cluster.react('get', 'widgets/scale', scale)
    cluster.react('update', 'widgets/scale', ({ object }) => {
      replicas = (object as { spec: { replicas: number } }).spec.replicas
      return scale()
    })
    await story.look()
    expect(replicas).toBe(4)
    expect(story.harness.events).toEqual([
      'Normal SuccessfulRescale HorizontalPodAutoscaler default/web: New size: 4; reason: cpu resource utilization (percentage of request) above target',
    ])
  })

  it.each<[string, string, string]>([
    ['without a selector', '', 'ScalingActive False InvalidSelector'],
    ['with a selector that is none', 'app in (', 'ScalingActive False InvalidSelector'],
  ])('%s is left alone', async (_, selector, condition) => {
    await start({ usage: 100, spec: { scaleTargetRef: target }, custom: [widgets] })
    story.harness.cluster.react('get', 'widgets/scale', () => ({
      metadata: { name: 'w', namespace: 'default' },
      spec: { replicas: 2 },
      status: { replicas: 2, selector },
    }))
    await story.look(3)
    expect(story.conditions()).toContain(condition)
    expect(story.harness.cluster.writes).toHaveLength(1)
  })

  it('whose kind is unknown is reported', async () => {
    await start({ usage: 100, spec: { scaleTargetRef: target } })
    await story.look(3)
    expect(story.status().conditions).toEqual([
      expect.objectContaining({
        type: 'AbleToScale',
        reason: 'FailedGetScale',
        message: `the HPA controller was unable to get the target's current scale: no matches for kind "Widget" in group "example.com"`,
      }),
    ])
  })
})

describe('under faults', () => {
  it('looks once a period, however long the server refuses, and then scales once', async () => {
    await start({ usage: 100 })
    const { cluster } = story.harness
    const heal = cluster.react('*', '*', ({ verb }) => {
      if (verb === 'watch') return
      throw new StatusError('TooManyRequests', 'wait', { details: { retryAfterSeconds: 1 } })
    })
    const before = cluster.calls.length
    await story.look(20)
    expect(cluster.calls.length - before).toBeLessThanOrEqual(3 * 20)
    heal()
    await story.look(3)
    expect(story.replicas()).toBe(4)
    expect(
      story.harness.events.filter((event) => event.includes('SuccessfulRescale')),
    ).toHaveLength(1)
  })

  it('does not scale twice when the answer to the first time is lost', async () => {
    await start({ usage: 100 })
    const { cluster, resources } = story.harness
    const heal = cluster.react('update', 'deployments/scale', ({ object }) => {
      const { replicas } = (object as { spec: { replicas: number } }).spec
      cluster.change(resources.deployments, 'default/web', (one) => {
        one['spec'] = { replicas }
      })
      throw internalError('the answer is lost')
    })
    await story.look()
    expect(story.replicas()).toBe(4)
    heal()
    story.addPods(4)
    story.use(50)
    await story.look(5)
    expect(story.replicas()).toBe(4)
  })

  it('goes on when the clock is set back, with a recommendation of the future at most for its window', async () => {
    await start({ replicas: 4, usage: 100 })
    await story.look()
    expect(story.replicas()).toBe(8)
    story.harness.clock.setBack(3_600_000)
    story.addPods(8)
    story.use(10)
    await story.look(300)
    expect(story.replicas()).toBe(2)
  })

  it('two that fight over the same pods scale nothing until one is gone', async () => {
    await start({ usage: 100, others: [autoscaler({ metrics: [cpu(10)] }, 'again')] })
    await story.look()
    const before = story.replicas()
    const { cluster, resources } = story.harness
    await story.look(2)
    const writes = cluster.writes.length
    await story.look(10)
    expect(story.replicas()).toBe(before)
    expect(cluster.writes).toHaveLength(writes)
    cluster.remove(resources.horizontalPodAutoscalers, 'default/again')
    await story.look()
    expect(story.conditions()).toContain('ScalingActive True ValidMetricFound')
  })
})
