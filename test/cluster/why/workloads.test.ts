/** What `skiff why` finds about workloads whose pods go on running. */
import { daemonSet } from '../../../cluster/why/kinds/daemon-set.ts'
import { deployment } from '../../../cluster/why/kinds/deployment.ts'
import { replicaSet } from '../../../cluster/why/kinds/replica-set.ts'
import { statefulSet } from '../../../cluster/why/kinds/stateful-set.ts'
import { itExplains } from './cases.ts'
import { condition, crashing, event, object, ownedBy, readyPod } from './objects.ts'

const node = (ready: string) =>
  object('Node', 'node-1', {
    metadata: { namespace: undefined },
    status: { conditions: [condition('Ready', ready, { message: 'the disk is gone' })] },
  })
const set = (name: string, revision: string, spec: object, status: object) =>
  object('ReplicaSet', name, {
    metadata: {
      ...ownedBy('Deployment', 'web'),
      annotations: { 'deployment.kubernetes.io/revision': revision },
    },
    spec,
    status,
  })
const stuck = object('Deployment', 'web', {
  metadata: { generation: 2 },
  spec: { replicas: 2, selector: { matchLabels: { app: 'web' } } },
  status: {
    observedGeneration: 2,
    replicas: 3,
    updatedReplicas: 1,
    availableReplicas: 2,
    conditions: [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })],
  },
})
const quota = object('ResourceQuota', 'few', {
  status: { hard: { pods: '2' }, used: { pods: '2' } },
})
const budget = object('PodDisruptionBudget', 'tight', {
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 0 },
})

const quotaOf = (name: string, hard: object, used: object) =>
  object('ResourceQuota', name, { status: { hard, used } })
/** Lacks a pod of one CPU. */
const short = object('ReplicaSet', 'web-2', {
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] } },
  },
  status: { replicas: 1, availableReplicas: 1 },
})
const refused = [event('ReplicaSet', 'web-2', 'FailedCreate', 'no more')]

itExplains([
  [
    'a stuck rollout is followed to the newest pods, and a tight budget is named',
    deployment,
    stuck,
    {
      replicaSets: [
        set('web-1', '1', { replicas: 2 }, { replicas: 2, readyReplicas: 2 }),
        set('web-2', '2', { replicas: 1 }, { replicas: 1 }),
      ],
      pods: [
        readyPod('web-1-a', { metadata: ownedBy('ReplicaSet', 'web-1') }),
        crashing('web-2-a', {
          metadata: { ...ownedBy('ReplicaSet', 'web-2'), labels: { app: 'web' } },
        }),
      ],
      podDisruptionBudgets: [budget],
    },
    ['CrashLoopBackOff', 'ProgressDeadlineExceeded'],
    ['1 of 2 pods are of the newest revision', 'rollout undo', 'web-2-a', 'allows no disruption'],
  ],
  [
    'a quota that keeps pods from being created is the cause, with what it has left',
    deployment,
    stuck,
    {
      replicaSets: [set('web-2', '2', { replicas: 2 }, { replicas: 1 })],
      events: [event('ReplicaSet', 'web-2', 'FailedCreate', 'exceeded quota: few')],
      resourceQuotas: [quota],
    },
    ['QuotaFull', 'ProgressDeadlineExceeded'],
    ['exceeded quota: few', 'pods: 2 of 2 used', 'skiff why quota few -n shop'],
  ],
  [
    'a webhook that refuses pods is not blamed on a quota with room',
    replicaSet,
    object('ReplicaSet', 'web-2', { spec: { replicas: 2 }, status: { replicas: 0 } }),
    { events: [event('ReplicaSet', 'web-2', 'FailedCreate', 'admission webhook denied')] },
    ['PodsNotCreated', 'NotAvailable'],
    ['admission webhook denied'],
  ],
  [
    'a webhook that refuses pods is to be corrected, too, where a quota is full',
    replicaSet,
    short,
    {
      events: [event('ReplicaSet', 'web-2', 'FailedCreate', 'admission webhook denied')],
      resourceQuotas: [quota],
    },
    ['QuotaFull', 'NotAvailable'],
    [
      'admission webhook denied',
      'skiff why quota few -n shop',
      'correct whatever else the event names',
    ],
  ],
  [
    'a quota that is full of other things is not blamed',
    replicaSet,
    short,
    {
      events: refused,
      resourceQuotas: [
        quotaOf('a', { secrets: '1' }, { secrets: '1' }),
        quotaOf('b', { 'requests.example.com/gpu': '0' }, { 'requests.example.com/gpu': '0' }),
        { ...quota, spec: { scopes: ['Terminating'] } },
      ],
    },
    ['PodsNotCreated', 'NotAvailable'],
    ['no more'],
  ],
  [
    'a quota with too little left for one more pod is the cause',
    replicaSet,
    short,
    {
      events: refused,
      resourceQuotas: [quotaOf('cpu', { 'requests.cpu': '2' }, { 'requests.cpu': '1500m' })],
    },
    ['QuotaFull', 'NotAvailable'],
    ['requests.cpu: 1500m of 2 used', 'skiff why quota cpu -n shop'],
  ],
  [
    'a creation that failed before and works again is no cause',
    replicaSet,
    short,
    {
      events: [
        ...refused,
        event('ReplicaSet', 'web-2', 'SuccessfulCreate', 'Created pod: x', {
          lastTimestamp: '2026-11-22T11:59:30Z',
        }),
      ],
    },
    ['NotAvailable'],
    [],
  ],
  [
    'a ReplicaSet that cannot be created holds up the rollout, and waiting does not help',
    deployment,
    {
      ...stuck,
      status: {
        ...stuck['status'],
        conditions: [
          condition('Progressing', 'False', {
            reason: 'ReplicaSetCreateError',
            message: 'Failed to create new replica set "web-3": exceeded quota',
          }),
        ],
      },
    },
    { events: [event('Deployment', 'web', 'ReplicaSetCreateError', 'exceeded quota')] },
    ['ReplicaSetCreateError'],
    ['web-3', 'correct what the condition names', 'ReplicaSetCreateError: exceeded quota'],
    ['wait, and watch it'],
  ],
  [
    'a DaemonSet whose failed pod is being replaced could create it',
    daemonSet,
    object('DaemonSet', 'logs', {
      spec: { template: {} },
      status: { desiredNumberScheduled: 2, numberAvailable: 1, updatedNumberScheduled: 2 },
    }),
    { events: [event('DaemonSet', 'logs', 'FailedDaemonPod', 'Found failed pod')] },
    ['NotAvailable'],
    ['Found failed pod'],
  ],
  [
    'nodes that could not be read are not counted',
    daemonSet,
    object('DaemonSet', 'logs', { spec: {}, status: { desiredNumberScheduled: 0 } }),
    { incomplete: new Set(['nodes']) },
    ['NoEligibleNode'],
    ['No node is eligible'],
    ['0 nodes'],
  ],
  [
    'a paused rollout is resumed by hand',
    deployment,
    { ...stuck, spec: { ...stuck['spec'], paused: true } },
    {},
    ['Paused'],
    ['kubectl rollout resume deployment/web -n shop'],
  ],
  [
    'a specification that no controller has seen is said before all else',
    deployment,
    { ...stuck, metadata: { ...stuck.metadata, generation: 3 } },
    {},
    ['NotObserved'],
    ['skiff status'],
  ],
  [
    'of a StatefulSet the first pod that is not ready holds up the rest',
    statefulSet,
    object('StatefulSet', 'db', { spec: { replicas: 3 }, status: { readyReplicas: 1 } }),
    {
      pods: [
        readyPod('db-0', { metadata: ownedBy('StatefulSet', 'db') }),
        crashing('db-1', { metadata: ownedBy('StatefulSet', 'db') }),
      ],
    },
    ['CrashLoopBackOff', 'NotReady'],
    ['db-1 has to be ready before the next pod is created'],
  ],
  [
    'with OnDelete pods keep the older revision until they are deleted',
    statefulSet,
    object('StatefulSet', 'db', {
      spec: { replicas: 1, updateStrategy: { type: 'OnDelete' } },
      status: {
        readyReplicas: 1,
        updatedReplicas: 0,
        currentRevision: 'db-1',
        updateRevision: 'db-2',
      },
    }),
    { pods: [readyPod('db-0', { metadata: ownedBy('StatefulSet', 'db') })] },
    ['UpdateOnDelete'],
    ['delete the older pods'],
  ],
  [
    'a DaemonSet without an eligible node names the labels that it wants',
    daemonSet,
    object('DaemonSet', 'logs', {
      spec: { template: { spec: { nodeSelector: { disk: 'ssd' } } } },
      status: { desiredNumberScheduled: 0 },
    }),
    { nodes: [node('True')] },
    ['NoEligibleNode'],
    ['None of 1 node', 'disk=ssd'],
  ],
])
