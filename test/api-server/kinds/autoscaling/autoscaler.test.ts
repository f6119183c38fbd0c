import { describe, expect, test } from 'vitest'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const autoscalers = strategyRuns('horizontalPodAutoscalers')
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const base = { scaleTargetRef, maxReplicas: 5 }
const cpu = (target: object) => ({ type: 'Resource', resource: { name: 'cpu', target } })

describe('defaults', () => {
  test('one replica at least, 80 percent of the requested CPU', () => {
    const made = autoscalers.created({ spec: base })
    expect(made['spec']).toMatchObject({
      minReplicas: 1,
      metrics: [cpu({ type: 'Utilization', averageUtilization: 80 })],
    })
    expect(made['spec'].behavior).toBeUndefined()
    expect(made['status']).toEqual({ desiredReplicas: 0, currentMetrics: null })
  })

  test('behavior, where some is given, is filled in for both directions', () => {
    const { spec } = autoscalers.created({
      spec: { ...base, behavior: { scaleUp: { selectPolicy: 'Min' } } },
    })
    expect(spec.behavior).toEqual({
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: 'Min',
        policies: [
          { type: 'Pods', value: 4, periodSeconds: 15 },
          { type: 'Percent', value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: {
        selectPolicy: 'Max',
        policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
      },
    })
  })

  test('an object of version 1 gets the same', () => {
    const { spec } = strategyRuns('horizontalPodAutoscalersV1').created({
      spec: { ...base, targetCPUUtilizationPercentage: 50 },
    })
    expect(spec).toMatchObject({
      minReplicas: 1,
      metrics: [cpu({ type: 'Utilization', averageUtilization: 50 })],
    })
  })
})

describe('validation', () => {
  test.each([
    [{}, []],
    [
      { minReplicas: 0, maxReplicas: 0, scaleTargetRef: { kind: '', name: 'a/b' } },
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.maxReplicas: Invalid value: 0: must be greater than 0',
        'spec.scaleTargetRef.kind: Required value',
        `spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'`,
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
    [
      { minReplicas: 6 },
      ['spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
    ],
    [
      { metrics: [{ type: 'Magic' }] },
      Array<string>(2).fill(
        'spec.metrics[0].type: Unsupported value: "Magic": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      ),
    ],
    [
      { metrics: [{ type: 'Pods' }] },
      [
        'spec.metrics[0].pods: Required value: must populate information for the given metric source',
      ],
    ],
    [
      { metrics: [cpu({ type: 'Utilization', averageUtilization: 0, averageValue: '-1' })] },
      [
        'spec.metrics[0].resource.target.averageValue: Invalid value: "-1": must be positive',
        'spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0',
        'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
      ],
    ],
    [
      { metrics: [cpu({ type: '' })] },
      [
        'spec.metrics[0].resource.target.type: Required value: must specify a metric target type',
        'spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
        'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
      ],
    ],
    [
      {
        metrics: [
          {
            ...cpu({ type: 'Utilization', averageUtilization: 1 }),
            pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } },
          },
        ],
      },
      ['spec.metrics[0].pods: Forbidden: must populate the given metric source only'],
    ],
    [
      {
        metrics: [
          { type: 'External', external: { metric: { name: '' }, target: { type: 'Value' } } },
        ],
      },
      [
        'spec.metrics[0].external.metric.name: Required value: must specify a metric name',
        'spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target',
      ],
    ],
    [
      {
        metrics: [
          {
            type: 'External',
            external: {
              metric: { name: 'a/b' },
              target: { type: 'Value', value: '1', averageValue: '1' },
            },
          },
          { type: 'Pods', pods: { metric: { name: '' }, target: { type: 'AverageValue' } } },
        ],
      },
      [
        `spec.metrics[0].external.metric.name: Invalid value: "a/b": may not contain '/'`,
        'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
        'spec.metrics[1].pods.metric.name: Required value: must specify a metric name',
        'spec.metrics[1].pods.target.averageValue: Required value: must specify a positive target averageValue',
      ],
    ],
    [
      {
        minReplicas: 0,
        metrics: [
          {
            type: 'Object',
            object: {
              describedObject: { kind: 'Ingress', name: 'i' },
              metric: { name: 'm' },
              target: { type: 'Value', value: '1' },
            },
          },
        ],
      },
      ['spec.minReplicas: Invalid value: 0: must be greater than or equal to 1'],
    ],
    [
      {
        metrics: [
          {
            type: 'Object',
            object: { describedObject: {}, metric: {}, target: { type: 'Value' } },
          },
          {
            type: 'ContainerResource',
            containerResource: { name: '', container: '', target: { type: 'AverageValue' } },
          },
        ],
      },
      [
        'spec.metrics[0].object.describedObject.kind: Required value',
        'spec.metrics[0].object.describedObject.name: Required value',
        'spec.metrics[0].object.metric.name: Required value: must specify a metric name',
        'spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue',
        'spec.metrics[1].containerResource.name: Required value: must specify a resource name',
        'spec.metrics[1].containerResource.container: Required value: must specify a container',
        'spec.metrics[1].containerResource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
      ],
    ],
    [
      {
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 3601,
            selectPolicy: 'Some',
            policies: [{ type: 'Nodes', value: 0, periodSeconds: 1801 }],
          },
        },
      },
      [
        'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
        'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Some": supported values: "Disabled", "Max", "Min"',
        'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
        'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
        'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
      ],
    ],
  ])('%j', (change, faults) => {
    expect(autoscalers.createFaults({ spec: { ...base, ...change } })).toEqual(faults)
  })

  test('status counts are not negative', () => {
    const old = autoscalers.created({ spec: base })
    const update = { spec: base, status: { currentReplicas: -1, desiredReplicas: 1 } }
    expect(autoscalers.updateFaults(old, update, 'status')).toEqual([
      'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0',
    ])
  })
})
