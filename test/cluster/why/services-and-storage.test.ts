/** What `skiff why` finds about Services, storage, quotas, budgets, autoscalers, nodes and any other kind. */
import { expect, it } from 'vitest'
import type { Explainer } from '../../../cluster/why/explainer.ts'
import { anyObject } from '../../../cluster/why/kinds/any-object.ts'
import { horizontalPodAutoscaler as scaler } from '../../../cluster/why/kinds/horizontal-pod-autoscaler.ts'
import { ingress } from '../../../cluster/why/kinds/ingress.ts'
import { node } from '../../../cluster/why/kinds/node.ts'
import { persistentVolumeClaim as claim } from '../../../cluster/why/kinds/persistent-volume-claim.ts'
import { persistentVolume as volume } from '../../../cluster/why/kinds/persistent-volume.ts'
import { podDisruptionBudget as budget } from '../../../cluster/why/kinds/pod-disruption-budget.ts'
import { resourceQuota as quota } from '../../../cluster/why/kinds/resource-quota.ts'
import { service } from '../../../cluster/why/kinds/service.ts'
import type { Related } from '../../../cluster/why/related.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import {
  causesOf,
  condition,
  crashing,
  event,
  object,
  podWith,
  readyPod,
  related,
  textOf,
} from './objects.ts'

type Case = readonly [
  title: string,
  explainer: Explainer,
  about: KubeObject,
  found: { [K in keyof Related]?: unknown },
  causes: readonly string[],
  words: readonly string[],
]

const web = object('Service', 'web', {
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http' }] },
})
const slice = (ready: boolean) =>
  object('EndpointSlice', 'web-x', {
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  })
const labelled = { metadata: { labels: { app: 'web' } } }
const http = {
  spec: {
    containers: [{ name: 'app', image: 'app', ports: [{ name: 'http', containerPort: 8080 }] }],
  },
}
const served = { ...readyPod('a', labelled), ...http }

const services: readonly Case[] = [
  [
    'a Service with a ready endpoint is fine',
    service,
    web,
    { endpointSlices: [slice(true)], pods: [served] },
    [],
    [],
  ],
  [
    'a selector that matches nothing shows pods whose labels come near',
    service,
    web,
    { pods: [readyPod('a', { metadata: { labels: { app: 'wep' } } })] },
    ['SelectorMatchesNothing'],
    ['app=web', 'has the labels app=wep'],
  ],
  [
    'pods that are not ready are explained',
    service,
    web,
    {
      endpointSlices: [slice(false)],
      pods: [{ ...crashing('a', labelled), spec: { nodeName: 'n', ...http.spec } }],
    },
    ['NoReadyPods', 'CrashLoopBackOff'],
    ['1 endpoint, none ready', 'kubectl logs a'],
  ],
  [
    'a port that the pods lack is named with those that they have',
    service,
    web,
    {
      endpointSlices: [slice(true)],
      pods: [
        {
          ...served,
          spec: {
            containers: [{ name: 'app', image: 'app', ports: [{ name: 'web', containerPort: 1 }] }],
          },
        },
      ],
    },
    ['NoSuchPort'],
    ['"http"', 'web 1'],
  ],
  [
    'a Service without a selector needs endpoints from somebody',
    service,
    object('Service', 'web', { spec: {} }),
    {},
    ['NoEndpoints'],
    ['EndpointSlice'],
  ],
  [
    'an alias needs no endpoints',
    service,
    object('Service', 'web', { spec: { type: 'ExternalName', externalName: 'x' } }),
    {},
    [],
    [],
  ],
  [
    'a load balancer of a class of its own is waited for',
    service,
    object('Service', 'web', {
      spec: {
        ...web['spec'],
        type: 'LoadBalancer',
        loadBalancerClass: 'example.com/lb',
        ports: [],
      },
    }),
    { endpointSlices: [slice(true)] },
    ['NoLoadBalancer'],
    ['example.com/lb'],
  ],
  [
    'an Ingress without a class has no controller, and lacks its Service',
    ingress,
    object('Ingress', 'front', { spec: { defaultBackend: { service: { name: 'web' } } } }),
    {},
    ['NoIngressClass', 'MissingService'],
    ['Service web'],
  ],
  [
    'an Ingress of a class without a controller names the controller',
    ingress,
    object('Ingress', 'front', { spec: { ingressClassName: 'nginx' } }),
    {
      ingressClasses: [
        object('IngressClass', 'nginx', { spec: { controller: 'example.com/nginx' } }),
      ],
    },
    ['NoIngressController'],
    ['example.com/nginx'],
  ],
]

const pending = (spec: object, metadata: object = {}) =>
  object('PersistentVolumeClaim', 'data', {
    metadata,
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...spec },
    status: { phase: 'Pending' },
  })
const gold = (mode: string) =>
  object('StorageClass', 'gold', { provisioner: 'example.com/disk', volumeBindingMode: mode })
const free = (storage: string) =>
  object('PersistentVolume', 'v1', {
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
    status: { phase: 'Available' },
  })

const storage: readonly Case[] = [
  [
    'a claim without a class or a volume that is large enough',
    claim,
    pending({ storageClassName: '' }),
    { persistentVolumes: [free('1Gi')] },
    ['NoStorageClass'],
    ['has only 1Gi', 'create a PersistentVolume'],
  ],
  [
    'a claim without a class, and no default',
    claim,
    pending({}),
    {},
    ['NoStorageClass'],
    ['mark a StorageClass as default'],
  ],
  [
    'a claim that waits for its first pod',
    claim,
    pending({ storageClassName: 'gold' }),
    { storageClasses: [gold('WaitForFirstConsumer')] },
    ['WaitForFirstConsumer'],
    ['no pod uses it', 'create a pod'],
  ],
  [
    'a provisioner that fails',
    claim,
    pending({ storageClassName: 'gold' }),
    {
      storageClasses: [gold('Immediate')],
      events: [event('PersistentVolumeClaim', 'data', 'ProvisioningFailed', 'out of disks')],
    },
    ['ProvisioningFailed'],
    ['out of disks', 'example.com/disk'],
  ],
  [
    'a provisioner that says nothing',
    claim,
    pending({ storageClassName: 'gold' }),
    { storageClasses: [gold('Immediate')] },
    ['WaitsForProvisioner'],
    ['check that the provisioner example.com/disk runs'],
  ],
  [
    'a volume that the claim names and that does not exist',
    claim,
    pending({ volumeName: 'v9' }),
    {},
    ['NamedVolume'],
    ['does not exist'],
  ],
  [
    'a claim that does not grow',
    claim,
    object('PersistentVolumeClaim', 'data', {
      spec: { resources: { requests: { storage: '4Gi' } } },
      status: { phase: 'Bound', capacity: { storage: '2Gi' } },
    }),
    { events: [event('PersistentVolumeClaim', 'data', 'VolumeResizeFailed', 'no room')] },
    ['NotExpanded'],
    ['asks for 4Gi and has 2Gi', 'no room'],
  ],
  [
    'a claim whose volume is gone',
    claim,
    object('PersistentVolumeClaim', 'data', {
      spec: { volumeName: 'v1' },
      status: { phase: 'Lost' },
    }),
    {},
    ['Lost'],
    ['volume v1'],
  ],
  [
    'a released volume keeps its data for somebody to free it',
    volume,
    object('PersistentVolume', 'v1', {
      spec: { claimRef: { namespace: 'shop', name: 'data' } },
      status: { phase: 'Released' },
    }),
    {},
    ['Released'],
    ['shop/data', '"claimRef":null'],
  ],
]

const limits: readonly Case[] = [
  [
    'a full quota names what is used up and whom it refused',
    quota,
    object('ResourceQuota', 'few', {
      status: { hard: { pods: '2', cpu: '4' }, used: { pods: '2', cpu: '1' } },
    }),
    { events: [event('ReplicaSet', 'web-1', 'FailedCreate', 'exceeded quota')] },
    ['QuotaFull'],
    ['pods (2 of 2)', 'exceeded quota'],
  ],
  [
    'a quota with room is fine, in any notation',
    quota,
    object('ResourceQuota', 'few', { status: { hard: { cpu: '1' }, used: { cpu: '999m' } } }),
    {},
    [],
    [],
  ],
  [
    'a quota that nobody has counted',
    quota,
    object('ResourceQuota', 'few', { spec: { hard: { pods: '1' } } }),
    {},
    ['NotObserved'],
    [],
  ],
  [
    'a budget that wants every pod healthy can never allow anything',
    budget,
    object('PodDisruptionBudget', 'b', {
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    }),
    { pods: [readyPod('a', labelled)] },
    ['NoDisruptionAllowed'],
    ['none may ever be evicted'],
  ],
  [
    'a budget whose pods are not healthy leads to them',
    budget,
    object('PodDisruptionBudget', 'b', {
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 },
    }),
    { pods: [readyPod('a', labelled), crashing('c', labelled)] },
    ['NoDisruptionAllowed', 'CrashLoopBackOff'],
    ['1 of 2 pods (c)'],
  ],
  [
    'a budget of no pods protects nothing',
    budget,
    object('PodDisruptionBudget', 'b', {
      spec: { selector: { matchLabels: { app: 'x' } } },
      status: {},
    }),
    {},
    ['SelectorMatchesNothing'],
    ['app=x'],
  ],
  [
    'an autoscaler without metrics has the reason of its condition',
    scaler,
    object('HorizontalPodAutoscaler', 's', {
      spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
      status: {
        desiredReplicas: 1,
        conditions: [
          condition('AbleToScale', 'True'),
          condition('ScalingActive', 'False', {
            reason: 'FailedGetResourceMetric',
            message: 'no metrics',
          }),
          condition('ScalingLimited', 'True', { reason: 'TooFewReplicas' }),
        ],
      },
    }),
    {},
    ['FailedGetResourceMetric'],
    ['no metrics', 'kubectl top pod -n shop'],
  ],
  [
    'an autoscaler at its limit says which limit',
    scaler,
    object('HorizontalPodAutoscaler', 's', {
      spec: { maxReplicas: 3 },
      status: {
        desiredReplicas: 3,
        conditions: [condition('ScalingLimited', 'True', { reason: 'TooManyReplicas' })],
      },
    }),
    {},
    ['TooManyReplicas'],
    ['raise spec.maxReplicas'],
  ],
]

const others: readonly Case[] = [
  [
    'a node whose agent is silent, and that is cordoned',
    node,
    object('Node', 'n1', {
      spec: { unschedulable: true },
      status: {
        conditions: [
          condition('Ready', 'Unknown', { message: 'Kubelet stopped posting node status.' }),
          condition('DiskPressure', 'True', { message: 'simulated' }),
        ],
      },
    }),
    {},
    ['NodeStatusUnknown', 'DiskPressure', 'Cordoned'],
    ['stopped posting', 'skiff logs n1', 'kubectl uncordon n1'],
  ],
  [
    'of a custom resource every bad condition is a cause, and the good ones are not',
    anyObject,
    object('Backup', 'b', {
      apiVersion: 'example.com/v1',
      metadata: { generation: 2 },
      status: {
        observedGeneration: 1,
        conditions: [
          condition('Ready', 'False', { reason: 'NoBucket', message: 'the bucket is missing' }),
          condition('Synced', 'Unknown'),
          condition('Stalled', 'True', { reason: 'Waiting' }),
          condition('Degraded', 'False'),
          condition('Available', 'True'),
        ],
      },
    }),
    { events: [event('Backup', 'b', 'Failed', 'cannot write')] },
    ['NotObserved', 'NoBucket', 'SyncedUnknown', 'Waiting'],
    ['the bucket is missing', 'cannot write'],
  ],
  [
    'an object without conditions is fine',
    anyObject,
    object('ConfigMap', 'c', { apiVersion: 'v1' }),
    {},
    [],
    [],
  ],
  [
    'a kind that nothing acts on is stored only',
    anyObject,
    object('NetworkPolicy', 'deny', { apiVersion: 'networking.k8s.io/v1' }),
    {},
    ['NothingActs'],
    ['stored only'],
  ],
  [
    'conditions that are none are no trouble',
    anyObject,
    object('Odd', 'o', {
      apiVersion: 'example.com/v1',
      status: { conditions: ['x', null, { type: 1 }] },
    }),
    {},
    [],
    [],
  ],
]

it.each([...services, ...storage, ...limits, ...others])(
  '%s',
  (_, explainer, about, found, causes, words) => {
    const known = related(found)
    const findings = explainer.explain(about, known)
    expect(causesOf(findings)).toEqual(causes)
    const text = textOf(findings)
    for (const word of words) expect(text).toContain(word)
    for (const { evidence, next } of findings) {
      expect(evidence.length * next.length).toBeGreaterThan(0)
    }
    expect(explainer.state(about, known)).not.toBe('')
  },
)

it('a pod that no condition describes is shown by its phase', () => {
  expect(anyObject.state(podWith('a', {}), related())).toContain('no condition is as it should be')
})
