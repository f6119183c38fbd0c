/** Why a deleted object is still there: which finalizer, whose it is, and what remains. */
import { expect, it } from 'vitest'
import type { Related } from '../../../cluster/why/related.ts'
import {
  deletedAt,
  terminatingFindings,
  terminatingNeeds,
} from '../../../cluster/why/terminating.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { causesOf, condition, event, object, readyPod, related, textOf } from './objects.ts'

const deletionTimestamp = '2026-11-22T11:59:00Z'
const ended = (kind: string, finalizers: readonly string[], more: { metadata?: object } = {}) =>
  object(kind, 'x', { ...more, metadata: { deletionTimestamp, finalizers, ...more.metadata } })
const node = (ready: string) =>
  object('Node', 'node-1', { status: { conditions: [condition('Ready', ready)] } })
const pod = (more: object = {}): KubeObject => ({
  ...readyPod('x', { metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30, ...more } }),
  kind: 'Pod',
})
const managedFields = [
  {
    manager: 'backup-operator',
    fieldsV1: { 'f:metadata': { 'f:finalizers': { 'v:"example.com/x"': {} } } },
  },
]
const dependent = (
  blockOwnerDeletion: boolean,
  name = 'child',
  finalizers: readonly string[] = ['example.com/held'],
) =>
  object('ReplicaSet', name, {
    metadata: {
      finalizers,
      ownerReferences: [{ kind: 'Deployment', name: 'x', uid: 'uid-x', blockOwnerDeletion }],
    },
  })
const user = {
  ...readyPod('user'),
  spec: {
    nodeName: 'node-1',
    volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'x' } }],
  },
}

it.each<
  [
    title: string,
    about: KubeObject,
    found: { [K in keyof Related]?: unknown },
    causes: string[],
    words: string[],
  ]
>([
  [
    'an unknown finalizer has the field manager that set it, and the last resort',
    ended('Backup', ['example.com/x'], { metadata: { managedFields } }),
    {},
    ['Finalizer'],
    ['backup-operator set it', 'controller behind example.com', 'kubectl patch backup x -n shop'],
  ],
  [
    'the protection of a claim names the pods that use it',
    ended('PersistentVolumeClaim', ['kubernetes.io/pvc-protection']),
    { pods: [user, readyPod('other')] },
    ['Finalizer'],
    ['no pod to use the claim', 'or wait for its end: pod/user -n shop'],
  ],
  [
    'a pod that has ended keeps its claim until it is deleted',
    ended('PersistentVolumeClaim', ['kubernetes.io/pvc-protection']),
    { pods: [{ ...user, status: { phase: 'Succeeded' } }] },
    ['Finalizer'],
    ['remains, and is Succeeded', 'delete what remains: pod/user -n shop'],
  ],
  [
    'a pod without a node does not keep its claim',
    ended('PersistentVolumeClaim', ['kubernetes.io/pvc-protection']),
    { pods: [{ ...user, spec: { ...user.spec, nodeName: undefined } }] },
    ['Finalizer'],
    ['check that it runs: skiff status'],
  ],
  [
    'a foreground deletion waits for dependents that block it, and leads to what holds them',
    ended('Deployment', ['foregroundDeletion']),
    { dependents: [dependent(false, 'first'), dependent(true)] },
    ['Finalizer'],
    [
      'the objects that depend on it',
      'finalizers example.com/held',
      'skiff why replicaset/child -n shop',
    ],
  ],
  [
    'a dependent that does not block is not waited for',
    ended('Deployment', ['foregroundDeletion']),
    { dependents: [dependent(false)] },
    ['Finalizer'],
    ['skiff status'],
  ],
  [
    'of several dependents the one that is held itself is led to',
    ended('Deployment', ['foregroundDeletion']),
    { dependents: [dependent(true, 'free', []), dependent(true)] },
    ['Finalizer'],
    ['skiff why replicaset/child -n shop'],
  ],
  [
    'the last resort removes an unknown finalizer, and leaves the others',
    ended('PersistentVolumeClaim', ['kubernetes.io/pvc-protection', 'example.com/x']),
    {},
    ['Finalizer', 'Finalizer'],
    ['"finalizers":["kubernetes.io/pvc-protection"]'],
  ],
  [
    'an unknown finalizer in the spec of a namespace goes through its finalize sub-resource',
    { ...ended('Namespace', []), spec: { finalizers: ['example.com/x'] } },
    {},
    ['Finalizer'],
    ['/api/v1/namespaces/x/finalize'],
  ],
  [
    'a volume waits for the claim that it is bound to',
    {
      ...ended('PersistentVolume', ['kubernetes.io/pv-protection']),
      spec: { claimRef: { namespace: 'shop', name: 'data' } },
      status: { phase: 'Bound' },
    },
    {},
    ['Finalizer'],
    ['kubectl delete pvc data -n shop'],
  ],
  [
    'a definition leads to the objects of its kind',
    {
      ...ended('CustomResourceDefinition', ['customresourcecleanup.apiextensions.k8s.io']),
      spec: { group: 'example.com', names: { plural: 'backups' } },
    },
    {},
    ['Finalizer'],
    ['the API server removes it', 'kubectl get backups.example.com -A'],
  ],
  [
    'a resource claim leads to the pod that it is reserved for',
    {
      ...ended('ResourceClaim', ['resource.kubernetes.io/delete-protection']),
      status: { reservedFor: [{ resource: 'pods', name: 'train', uid: 'u' }] },
    },
    {},
    ['Finalizer'],
    ['controller resourceclaim-controller', 'kubectl get pods train -n shop'],
  ],
  [
    'the protection of a VolumeAttributesClass is known',
    ended('VolumeAttributesClass', ['kubernetes.io/vac-protection']),
    {},
    ['Finalizer'],
    ['volumeattributesclass-protection-controller'],
  ],
  [
    'the protection of a ServiceCIDR is known',
    ended('ServiceCIDR', ['networking.k8s.io/service-cidr-finalizer']),
    {},
    ['Finalizer'],
    ['service-cidr-controller', 'kubectl get ipaddresses'],
  ],
  [
    'a namespace has what remains in it, and its conditions',
    {
      ...ended('Namespace', []),
      spec: { finalizers: ['kubernetes'] },
      status: {
        conditions: [
          condition('NamespaceContentRemaining', 'True', {
            message: 'Some resources are remaining',
          }),
        ],
      },
    },
    { contents: Array.from({ length: 12 }, (_, index) => object('ConfigMap', `c${index}`)) },
    ['Finalizer'],
    ['everything in the namespace', '2 more objects remain', 'Some resources are remaining'],
  ],
  [
    'a pod in its grace is waited for',
    pod({ deletionTimestamp: '2026-11-22T12:00:20Z' }),
    { nodes: [node('True')] },
    ['StoppingContainers'],
    ['wait for the grace period'],
  ],
  [
    'a pod past its grace leads to the log of its agent',
    pod(),
    { nodes: [node('True')] },
    ['StoppingContainers'],
    ['has not confirmed', 'skiff logs node-1'],
  ],
  [
    'a pod on a node that is not Ready cannot end',
    pod(),
    { nodes: [node('Unknown')] },
    ['NodeNotReady'],
    ['skiff why node node-1', '--force'],
  ],
  [
    'a pod on a node that is gone is for the garbage collector',
    pod(),
    {},
    ['NodeIsGone'],
    ['does not exist'],
  ],
  [
    'a node that could not be read is not taken for gone',
    pod(),
    { incomplete: new Set(['nodes']) },
    ['StoppingContainers'],
    [],
  ],
  [
    'a pod with a finalizer that has ended is held by that',
    {
      ...pod({ finalizers: ['batch.kubernetes.io/job-tracking'] }),
      status: { phase: 'Failed' },
    },
    {},
    ['Finalizer'],
    ['controller job-controller', 'counted in the status of its Job'],
  ],
  [
    'a pod with a finalizer that still runs waits for its node, too',
    pod({ finalizers: ['batch.kubernetes.io/job-tracking'] }),
    { nodes: [node('Unknown')] },
    ['NodeNotReady', 'Finalizer'],
    ['skiff why node node-1'],
  ],
])('%s', (_, about, found, causes, words) => {
  const findings = terminatingFindings(
    about,
    related({ events: [event('Pod', 'x', 'Killing')], ...found }),
  )
  expect(causesOf(findings)).toEqual(causes)
  for (const word of words) expect(textOf(findings)).toContain(word)
  for (const { evidence, next } of findings)
    expect(evidence.length * next.length).toBeGreaterThan(0)
})

it('an object was deleted when its grace began', () => {
  expect(deletedAt(pod())).toBe('2026-11-22T11:58:30Z')
  expect(deletedAt(ended('ConfigMap', []))).toBe(deletionTimestamp)
})

it('only what can hold an object is read', () => {
  expect(terminatingNeeds(ended('ConfigMap', ['example.com/x']))).toEqual([])
  expect(terminatingNeeds(ended('Namespace', []))).toEqual([{ of: 'contents', namespace: 'x' }])
  expect(terminatingNeeds(ended('Job', ['foregroundDeletion']))).toEqual([
    { of: 'dependents', uid: 'uid-x', namespace: 'shop' },
  ])
  expect(terminatingNeeds(pod())).toEqual([{ of: 'nodes', name: 'node-1' }])
})
