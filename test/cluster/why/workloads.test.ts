/** What `skiff why` finds about workloads and their pods: objects in, causes and the words that matter out. */
import { describe, expect, it } from 'vitest'
import { cronJob } from '../../../cluster/why/kinds/cron-job.ts'
import { daemonSet } from '../../../cluster/why/kinds/daemon-set.ts'
import { deployment } from '../../../cluster/why/kinds/deployment.ts'
import { job } from '../../../cluster/why/kinds/job.ts'
import { pod } from '../../../cluster/why/kinds/pod.ts'
import { replicaSet } from '../../../cluster/why/kinds/replica-set.ts'
import { statefulSet } from '../../../cluster/why/kinds/stateful-set.ts'
import type { Explainer } from '../../../cluster/why/explainer.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Related } from '../../../cluster/why/related.ts'
import {
  causesOf,
  condition,
  crashing,
  event,
  object,
  ownedBy,
  podWith,
  readyPod,
  related,
  textOf,
} from './objects.ts'

type Case = readonly [
  title: string,
  explainer: Explainer,
  about: KubeObject,
  found: Related,
  causes: readonly string[],
  words: readonly string[],
]

const node = (ready: string) =>
  object('Node', 'node-1', {
    metadata: { namespace: undefined },
    status: { conditions: [condition('Ready', ready, { message: 'the disk is gone' })] },
  })
const probe = { readinessProbe: { httpGet: { port: 8080, path: '/ready' } } }
const running = { state: { running: { startedAt: '2026-11-22T11:58:00Z' } } }

const pods: readonly Case[] = [
  ['a ready pod is fine', pod, readyPod('a'), related(), [], []],
  [
    'a crash loop has the last exit, the restarts and the command for the log',
    pod,
    crashing('a'),
    related({ events: [event('Pod', 'a', 'BackOff', 'Back-off restarting')] }),
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
    related(),
    ['ImagePullBackOff'],
    ['app:1', 'no such tag'],
  ],
  [
    'a readiness probe that fails is shown as it is written',
    pod,
    podWith('a', running, { spec: { containers: [{ name: 'app', image: 'app', ...probe }] } }),
    related({ events: [event('Pod', 'a', 'Unhealthy', 'Readiness probe failed: 500')] }),
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
    related(),
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
    related(),
    ['CreateContainerConfigError'],
    ['secret "tls" not found', 'create the Secret'],
  ],
  [
    'a container that is being created without any warning is only waited for',
    pod,
    podWith('a', { state: { waiting: { reason: 'ContainerCreating' } } }),
    related(),
    ['ContainerCreating'],
    ['wait'],
  ],
  [
    'a volume that cannot be mounted is the cause of a container that is being created',
    pod,
    podWith('a', { state: { waiting: { reason: 'ContainerCreating' } } }),
    related({ events: [event('Pod', 'a', 'FailedMount', 'configmap "x" not found')] }),
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
    related(),
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
    related(),
    ['Evicted'],
    ['low on resource: memory', 'node-1'],
  ],
  [
    'a node that is not Ready is the first cause',
    pod,
    podWith('a', running),
    related({ nodes: [node('Unknown')] }),
    ['NodeNotReady', 'NotReady'],
    ['skiff why node node-1', 'the disk is gone'],
  ],
  [
    'readiness gates that nobody has set are named',
    pod,
    podWith(
      'a',
      { ...running, ready: true },
      { spec: { readinessGates: [{ conditionType: 'example.com/lb' }] } },
    ),
    related(),
    ['ReadinessGate'],
    ['example.com/lb'],
  ],
]

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

const replicated: readonly Case[] = [
  [
    'a stuck rollout is followed to the newest pods, and a tight budget is named',
    deployment,
    stuck,
    related({
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
    }),
    ['CrashLoopBackOff', 'ProgressDeadlineExceeded'],
    ['1 of 2 pods are of the newest revision', 'rollout undo', 'web-2-a', 'allows no disruption'],
  ],
  [
    'a quota that keeps pods from being created is the cause, with what it has left',
    deployment,
    stuck,
    related({
      replicaSets: [set('web-2', '2', { replicas: 2 }, { replicas: 1 })],
      events: [event('ReplicaSet', 'web-2', 'FailedCreate', 'exceeded quota: few')],
      resourceQuotas: [quota],
    }),
    ['QuotaFull', 'ProgressDeadlineExceeded'],
    ['exceeded quota: few', 'pods: 2 of 2 used', 'skiff why quota few -n shop'],
  ],
  [
    'a webhook that refuses pods is not blamed on a quota with room',
    replicaSet,
    object('ReplicaSet', 'web-2', { spec: { replicas: 2 }, status: { replicas: 0 } }),
    related({ events: [event('ReplicaSet', 'web-2', 'FailedCreate', 'admission webhook denied')] }),
    ['PodsNotCreated', 'NotAvailable'],
    ['admission webhook denied'],
  ],
  [
    'a paused rollout is resumed by hand',
    deployment,
    { ...stuck, spec: { ...stuck['spec'], paused: true } },
    related(),
    ['Paused'],
    ['kubectl rollout resume deployment/web -n shop'],
  ],
  [
    'a specification that no controller has seen is said before all else',
    deployment,
    { ...stuck, metadata: { ...stuck.metadata, generation: 3 } },
    related(),
    ['NotObserved'],
    ['skiff status'],
  ],
  [
    'of a StatefulSet the first pod that is not ready holds up the rest',
    statefulSet,
    object('StatefulSet', 'db', { spec: { replicas: 3 }, status: { readyReplicas: 1 } }),
    related({
      pods: [
        readyPod('db-0', { metadata: ownedBy('StatefulSet', 'db') }),
        crashing('db-1', { metadata: ownedBy('StatefulSet', 'db') }),
      ],
    }),
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
    related({ pods: [readyPod('db-0', { metadata: ownedBy('StatefulSet', 'db') })] }),
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
    related({ nodes: [node('True')] }),
    ['NoEligibleNode'],
    ['None of 1 node', 'disk=ssd'],
  ],
]

const jobs: readonly Case[] = [
  [
    'a failed Job has its reason, and how its pods ended',
    job,
    object('Job', 'load', {
      status: {
        failed: 2,
        conditions: [
          condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'too often' }),
        ],
      },
    }),
    related({
      pods: [
        {
          ...podWith('load-a', {}, { metadata: ownedBy('Job', 'load') }),
          status: {
            phase: 'Failed',
            containerStatuses: [
              {
                name: 'app',
                ready: false,
                restartCount: 0,
                state: { terminated: { exitCode: 7 } },
              },
            ],
          },
        },
      ],
    }),
    ['BackoffLimitExceeded'],
    ['2 failed pods', 'exit code 7', 'create it anew'],
  ],
  [
    'a Job that retries says how often it will',
    job,
    object('Job', 'load', { spec: { backoffLimit: 4 }, status: { failed: 1 } }),
    related(),
    ['Retrying'],
    ['gives up after 4 retries'],
  ],
  [
    'a suspended Job is resumed by hand',
    job,
    object('Job', 'load', { spec: { suspend: true } }),
    related(),
    ['Suspended'],
    ['"suspend":false'],
  ],
  [
    'a complete Job is fine',
    job,
    object('Job', 'load', { status: { failed: 1, conditions: [condition('Complete', 'True')] } }),
    related(),
    [],
    [],
  ],
  [
    'a schedule that never matches never runs',
    cronJob,
    object('CronJob', 'leap', { spec: { schedule: '0 0 30 2 *' } }),
    related(),
    ['NeverRuns'],
    ['matches no moment'],
  ],
  [
    'a run that waits for the one before names it',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC', concurrencyPolicy: 'Forbid' },
      status: { lastScheduleTime: '2026-11-22T11:30:00Z', active: [{ name: 'sync-1' }] },
    }),
    related(),
    ['StillRunning'],
    ['2026-11-22T11:35:00Z', 'skiff why job sync-1 -n shop'],
  ],
  [
    'a missed run and a failed last Job are two findings',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC', startingDeadlineSeconds: 10 },
      status: { lastScheduleTime: '2026-11-22T11:30:00Z' },
    }),
    related({
      jobs: [
        object('Job', 'sync-1', {
          metadata: ownedBy('CronJob', 'sync'),
          status: { conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })] },
        }),
      ],
    }),
    ['MissedRun', 'LastJobFailed'],
    ['startingDeadlineSeconds (10)', 'skiff why job sync-1'],
  ],
  [
    'a CronJob that has just run is fine',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC' },
      status: { lastScheduleTime: '2026-11-22T11:55:00Z' },
    }),
    related(),
    [],
    [],
  ],
]

describe.each([
  ['pods', pods],
  ['replicated pods', replicated],
  ['jobs', jobs],
])('%s', (_, cases) => {
  it.each(cases)('%s', (_title, explainer, about, found, causes, words) => {
    const findings = explainer.explain(about, found)
    expect(causesOf(findings)).toEqual(causes)
    const text = textOf(findings)
    for (const word of words) expect(text).toContain(word)
    // Every finding leads on, and rests on something.
    for (const { next, evidence } of findings) {
      expect(next.length).toBeGreaterThan(0)
      expect(evidence.length).toBeGreaterThan(0)
    }
  })
})
