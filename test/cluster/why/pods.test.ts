/** What `skiff why` finds about pods on nodes. */
import { pod } from '../../../cluster/why/kinds/pod.ts'
import { itExplains } from './cases.ts'
import { condition, crashing, event, object, podWith, readyPod } from './objects.ts'

const node = (ready: string) =>
  object('Node', 'node-1', {
    metadata: { namespace: undefined },
    status: { conditions: [condition('Ready', ready, { message: 'the disk is gone' })] },
  })
const probe = { readinessProbe: { httpGet: { port: 8080, path: '/ready' } } }
const running = { state: { running: { startedAt: '2026-11-22T11:58:00Z' } } }

const ended = (name: string, terminated: object) => ({
  name,
  ready: false,
  restartCount: 1,
  state: { terminated },
})

itExplains([
  ['a ready pod is fine', pod, readyPod('a'), {}, [], []],
  [
    'a crash loop has the last exit, the restarts and the command for the log',
    pod,
    crashing('a'),
    { events: [event('Pod', 'a', 'BackOff', 'Back-off restarting')] },
    ['CrashLoopBackOff'],
    [
      'exit code 3 (Error)',
      '4 restarts',
      'Back-off restarting',
      'kubectl logs a -n shop -c app --previous',
    ],
  ],
  [
    'an image that cannot be pulled is named',
    pod,
    podWith('a', { state: { waiting: { reason: 'ImagePullBackOff', message: 'no such tag' } } }),
    {},
    ['ImagePullBackOff'],
    ['app:1', 'no such tag'],
  ],
  [
    'a readiness probe that fails is shown as it is written',
    pod,
    podWith('a', running, { spec: { containers: [{ name: 'app', image: 'app', ...probe }] } }),
    { events: [event('Pod', 'a', 'Unhealthy', 'Readiness probe failed: 500')] },
    ['ReadinessProbeFails'],
    ['GET :8080/ready', 'Readiness probe failed: 500'],
  ],
  [
    'a startup probe comes before a readiness probe',
    pod,
    podWith(
      'a',
      { ...running, started: false },
      {
        spec: {
          containers: [
            { name: 'app', image: 'app', ...probe, startupProbe: { tcpSocket: { port: 5432 } } },
          ],
        },
      },
    ),
    {},
    ['StartupProbeFails'],
    ['TCP :5432'],
  ],
  [
    'a missing Secret of a container is named by its node',
    pod,
    podWith('a', {
      state: {
        waiting: { reason: 'CreateContainerConfigError', message: 'secret "tls" not found' },
      },
    }),
    {},
    ['CreateContainerConfigError'],
    ['secret "tls" not found', 'create the Secret'],
  ],
  [
    'a container that is being created without any warning is only waited for',
    pod,
    podWith('a', { state: { waiting: { reason: 'ContainerCreating' } } }),
    {},
    ['ContainerCreating'],
    ['wait'],
  ],
  [
    'a volume that cannot be mounted is the cause of a container that is being created',
    pod,
    podWith('a', { state: { waiting: { reason: 'ContainerCreating' } } }),
    { events: [event('Pod', 'a', 'FailedMount', 'configmap "x" not found')] },
    ['FailedMount'],
    ['configmap "x" not found'],
  ],
  [
    'a container killed for its memory says so',
    pod,
    {
      ...podWith('a', { state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
      status: {
        phase: 'Failed',
        containerStatuses: [
          {
            name: 'app',
            ready: false,
            restartCount: 0,
            state: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          },
        ],
      },
    },
    {},
    ['OOMKilled'],
    ['raise the memory limit'],
  ],
  [
    'an evicted pod has the message of its node',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1' },
      status: {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource: memory.',
      },
    }),
    {},
    ['Evicted'],
    ['low on resource: memory', 'node-1'],
  ],
  [
    'an evicted pod shows the trouble of its own node, not of others',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1' },
      status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' },
    }),
    {
      nodes: [
        object('Node', 'node-1', { status: { conditions: [condition('MemoryPressure', 'True')] } }),
        object('Node', 'node-2', { status: { conditions: [condition('DiskPressure', 'True')] } }),
      ],
    },
    ['Evicted'],
    ['MemoryPressure is True'],
    ['DiskPressure'],
  ],
  [
    'a pod past its deadline failed for that, not for how its containers were killed',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1' },
      status: {
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
        containerStatuses: [ended('app', { exitCode: 137 })],
      },
    }),
    {},
    ['DeadlineExceeded'],
    ['longer than the specified deadline.', 'raise spec.activeDeadlineSeconds', 'exit code 137'],
    ['liveness'],
  ],
  [
    'a container that ended shows this exit, not the one before',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1' },
      status: {
        phase: 'Failed',
        containerStatuses: [
          { ...ended('app', { exitCode: 5 }), lastState: { terminated: { exitCode: 1 } } },
        ],
      },
    }),
    {},
    ['ContainerFailed'],
    ['ended last with exit code 5'],
    ['exit code 1'],
  ],
  [
    'an init container that runs keeps the others waiting',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1', initContainers: [{ name: 'wait' }] },
      status: {
        phase: 'Pending',
        conditions: [condition('Ready', 'False')],
        initContainerStatuses: [{ name: 'wait', ready: false, restartCount: 0, ...running }],
        containerStatuses: [
          {
            name: 'app',
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: 'PodInitializing' } },
          },
        ],
      },
    }),
    {},
    ['Initializing'],
    ['Init container wait runs', 'kubectl logs a -n shop -c wait'],
  ],
  [
    'a container that has done its work keeps the pod from being Ready, and is at no fault',
    pod,
    object('Pod', 'a', {
      spec: { nodeName: 'node-1', restartPolicy: 'Never' },
      status: {
        phase: 'Running',
        conditions: [condition('Ready', 'False')],
        containerStatuses: [
          ended('once', { exitCode: 0 }),
          { name: 'app', ready: true, restartCount: 0, ...running },
        ],
      },
    }),
    {},
    ['ContainerCompleted'],
    ['1 container (once) ended with success'],
    ['starting the pod'],
  ],
  [
    'a sandbox that cannot be created is not taken for a mount',
    pod,
    podWith('a', { state: { waiting: { reason: 'ContainerCreating' } } }),
    { events: [event('Pod', 'a', 'FailedCreatePodSandBox', 'no network')] },
    ['FailedCreatePodSandBox'],
    ['no network.', 'kubectl describe pod/a -n shop'],
    ['volume'],
  ],
  [
    'a node that is not Ready is the first cause',
    pod,
    podWith('a', running),
    { nodes: [node('Unknown')] },
    ['NodeNotReady', 'NotReady'],
    ['skiff why node node-1', 'the disk is gone'],
  ],
  [
    'readiness gates that are not set are named',
    pod,
    podWith(
      'a',
      { ...running, ready: true },
      { spec: { readinessGates: [{ conditionType: 'example.com/lb' }] } },
    ),
    {},
    ['ReadinessGate'],
    ['example.com/lb'],
  ],
])
