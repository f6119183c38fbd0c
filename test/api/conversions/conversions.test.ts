import { describe, expect, test } from 'vitest'
import { convert } from '../../../components/api/conversions/conversions.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

describe('Events', () => {
  const stored: KubeObject = {
    kind: 'Event',
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p' },
    message: 'm',
    source: { component: 'c' },
    firstTimestamp: null,
    lastTimestamp: null,
    count: 2,
    reportingComponent: 'r',
    reportingInstance: 'i',
    type: 'Normal',
    eventTime: null,
  }

  test('have other names in the group of their own, and come back unchanged', () => {
    const there = convert(stored, 'core/v1', 'events/v1')
    expect(there).toEqual({
      kind: 'Event',
      metadata: { name: 'e' },
      regarding: { kind: 'Pod', name: 'p' },
      note: 'm',
      deprecatedSource: { component: 'c' },
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: null,
      deprecatedCount: 2,
      reportingController: 'r',
      reportingInstance: 'i',
      type: 'Normal',
      eventTime: null,
    })
    expect(convert(there, 'events/v1', 'core/v1')).toEqual(stored)
  })
})

describe('autoscalers', () => {
  const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
  const stored: KubeObject = {
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a', annotations: { mine: 'x' } },
    spec: {
      scaleTargetRef,
      maxReplicas: 5,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
        },
        {
          type: 'Pods',
          pods: {
            metric: { name: 'rps', selector: { matchLabels: { a: 'b' } } },
            target: { type: 'AverageValue', averageValue: '10' },
          },
        },
        {
          type: 'Object',
          object: {
            describedObject: { kind: 'Service', name: 's' },
            metric: { name: 'hits' },
            target: { type: 'Value', value: '7' },
          },
        },
        {
          type: 'External',
          external: { metric: { name: 'queue' }, target: { type: 'Value', value: '3' } },
        },
        {
          type: 'ContainerResource',
          containerResource: {
            name: 'cpu',
            container: 'c',
            target: { type: 'Utilization', averageUtilization: 60 },
          },
        },
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
        },
      ],
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: 60,
          policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
        },
      },
    },
    status: {
      currentReplicas: 1,
      desiredReplicas: 2,
      currentMetrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', current: { averageUtilization: 50, averageValue: '500m' } },
        },
      ],
      conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: null }],
    },
  }
  const annotated = convert(stored, 'autoscaling/v2', 'autoscaling/v1')
  const noted = (name: string) =>
    JSON.parse(annotated.metadata.annotations?.[`autoscaling.alpha.kubernetes.io/${name}`] ?? '')

  test('of version 1 say one target, the rest is noted in annotations', () => {
    expect(annotated).toMatchObject({
      metadata: { annotations: { mine: 'x' } },
      spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 80 },
      status: { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 50 },
    })
    expect(annotated['spec']).not.toHaveProperty('metrics')
    expect(noted('metrics')).toEqual([
      { type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } },
      {
        type: 'Pods',
        pods: {
          metricName: 'rps',
          targetAverageValue: '10',
          selector: { matchLabels: { a: 'b' } },
        },
      },
      {
        type: 'Object',
        object: {
          target: { kind: 'Service', name: 's' },
          metricName: 'hits',
          targetValue: '7',
        },
      },
      { type: 'External', external: { metricName: 'queue', targetValue: '3' } },
      {
        type: 'ContainerResource',
        containerResource: { name: 'cpu', container: 'c', targetAverageUtilization: 60 },
      },
    ])
    expect(noted('current-metrics')).toEqual([
      {
        type: 'Resource',
        resource: { name: 'cpu', currentAverageUtilization: 50, currentAverageValue: '500m' },
      },
    ])
    expect(noted('conditions')).toEqual(stored['status'].conditions)
    expect(noted('behavior')).toEqual({
      ScaleUp: null,
      ScaleDown: {
        StabilizationWindowSeconds: 60,
        SelectPolicy: null,
        Policies: [{ Type: 'Percent', Value: 100, PeriodSeconds: 15 }],
      },
    })
  })

  test('come back unchanged', () => {
    expect(convert(annotated, 'autoscaling/v1', 'autoscaling/v2')).toEqual(stored)
  })

  test('with spoiled annotations keep what version 1 says itself', () => {
    const spoiled: KubeObject = {
      kind: 'HorizontalPodAutoscaler',
      metadata: {
        name: 'a',
        annotations: {
          'autoscaling.alpha.kubernetes.io/metrics': '{',
          'autoscaling.alpha.kubernetes.io/conditions': '"x"',
          'autoscaling.alpha.kubernetes.io/current-metrics': '[1, null]',
        },
      },
      spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 70 },
    }
    expect(convert(spoiled, 'autoscaling/v1', 'autoscaling/v2')).toEqual({
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a' },
      spec: {
        scaleTargetRef,
        maxReplicas: 5,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
          },
        ],
      },
      status: { currentMetrics: [{ type: '' }, { type: '' }] },
    })
  })
})

test('kinds of one form are left as they are', () => {
  const object: KubeObject = { kind: 'Pod', metadata: { name: 'p' } }
  expect(convert(object, 'core/v1', 'core/v1')).toBe(object)
})
