/** What the kinds of the apps, batch and autoscaling groups show. */
import { ago } from './rows.ts'
import type { RowCase } from './rows.ts'

const template = {
  spec: {
    containers: [
      { name: 'a', image: 'i:1' },
      { name: 'b', image: 'j' },
    ],
  },
}
const selector = { matchLabels: { app: 'web' } }

export const workloadRows: readonly RowCase[] = [
  [
    'controllerRevisions',
    {
      metadata: {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true },
        ],
      },
      revision: 3,
    },
    { Controller: 'statefulset.apps/s', Revision: 3 },
  ],
  [
    'daemonSets',
    {
      spec: { template: { spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } }, selector },
      status: { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 1 },
    },
    {
      Desired: 3,
      Current: 2,
      Ready: 1,
      'Up-to-date': 0,
      Available: 0,
      'Node Selector': 'disk=ssd',
      Images: 'i:1,j',
      Selector: 'app=web',
    },
  ],
  [
    'deployments',
    {
      spec: { replicas: 3, selector, template },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    { Ready: '2/3', 'Up-to-date': 3, Available: 1, Containers: 'a,b', Selector: 'app=web' },
  ],
  [
    'replicaSets',
    { spec: { replicas: 3, selector, template }, status: { replicas: 3, readyReplicas: 1 } },
    { Desired: 3, Current: 3, Ready: 1, Selector: 'app=web' },
  ],
  [
    'statefulSets',
    { spec: { replicas: 2, template }, status: { readyReplicas: 1 } },
    { Ready: '1/2', Images: 'i:1,j' },
  ],
  [
    'cronJobs',
    {
      spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } },
      status: { active: [{}], lastScheduleTime: ago(30) },
    },
    {
      Schedule: '* * * * *',
      Timezone: '<none>',
      Suspend: 'False',
      Active: 1,
      'Last Schedule': '30s',
      Containers: 'a,b',
      Selector: '<none>',
    },
  ],
  [
    'jobs',
    {
      spec: { completions: 3, selector, template },
      status: { succeeded: 1, startTime: ago(100) },
    },
    { Status: 'Running', Completions: '1/3', Duration: '100s', Selector: 'app=web' },
  ],
  [
    'jobs',
    {
      spec: { parallelism: 4 },
      status: {
        succeeded: 1,
        startTime: ago(600),
        completionTime: ago(300),
        conditions: [{ type: 'Complete', status: 'True' }],
      },
    },
    { Status: 'Complete', Completions: '1/1 of 4', Duration: '5m' },
  ],
  [
    'jobs',
    { status: { conditions: [{ type: 'Suspended', status: 'True' }] } },
    { Status: 'Suspended', Completions: '0/1', Duration: '' },
  ],
  [
    'jobs',
    { status: { conditions: [{ type: 'FailureTarget', status: 'True' }] } },
    { Status: 'FailureTarget' },
  ],
  [
    'horizontalPodAutoscalers',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        maxReplicas: 9,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } },
          { type: 'Pods', pods: { target: { averageValue: '1k' } } },
          { type: 'Object', object: { target: { value: '5' } } },
        ],
      },
      status: {
        currentReplicas: 2,
        currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 33 } } }],
      },
    },
    {
      Reference: 'Deployment/d',
      Targets: 'cpu: 33%/80%, <unknown>/1k + 1 more...',
      MinPods: '<unset>',
      MaxPods: 9,
      Replicas: 2,
    },
  ],
  [
    'horizontalPodAutoscalers',
    {
      spec: {
        minReplicas: 1,
        metrics: [
          { type: 'External', external: { target: { averageValue: '7' } } },
          { type: 'Resource', resource: { name: 'memory', target: { averageValue: '10Mi' } } },
        ],
      },
      status: {
        currentMetrics: [
          { external: { current: { averageValue: '3' } } },
          { resource: { current: { averageValue: '4Mi' } } },
        ],
      },
    },
    { Targets: '3/7 (avg), memory: 4Mi/10Mi', MinPods: '1' },
  ],
  [
    'horizontalPodAutoscalersV1',
    { spec: { targetCPUUtilizationPercentage: 50 } },
    { Targets: 'cpu: <unknown>/50%' },
  ],
]
