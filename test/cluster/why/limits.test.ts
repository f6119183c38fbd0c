/** What `skiff why` finds about quotas, limits, budgets and autoscalers. */
import { horizontalPodAutoscaler as scaler } from '../../../cluster/why/kinds/horizontal-pod-autoscaler.ts'
import { limitRange } from '../../../cluster/why/kinds/limit-range.ts'
import { podDisruptionBudget as budget } from '../../../cluster/why/kinds/pod-disruption-budget.ts'
import { resourceQuota as quota } from '../../../cluster/why/kinds/resource-quota.ts'
import { itExplains } from './cases.ts'
import { condition, crashing, event, object, readyPod } from './objects.ts'

const labelled = { metadata: { labels: { app: 'web' } } }

const range = (name: string, item: object) =>
  object('LimitRange', name, { spec: { limits: [{ type: 'Container', ...item }] } })

itExplains([
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
    'a quota that forbids something has nothing left of it',
    quota,
    object('ResourceQuota', 'none', { status: { hard: { 'services.nodeports': '0' } } }),
    {},
    ['QuotaFull'],
    ['services.nodeports (0 of 0)', 'services.nodeports: 0 of 0 used'],
    ['undefined'],
  ],
  [
    'a quota that was not counted yet',
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
    'a budget whose pods cannot be counted says why',
    budget,
    object('PodDisruptionBudget', 'b', {
      metadata: { generation: 1 },
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: {
        conditions: [
          condition('DisruptionAllowed', 'False', {
            reason: 'SyncFailed',
            message: 'found no controller ref for pod "a"',
          }),
        ],
      },
    }),
    { pods: [readyPod('a', labelled)] },
    ['SyncFailed'],
    ['found no controller ref for pod "a".', 'minAvailable as a number'],
    ['none may ever be evicted'],
  ],
  [
    'a budget whose pods could not be read does not miss them',
    budget,
    object('PodDisruptionBudget', 'b', {
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 },
    }),
    { incomplete: new Set(['pods']) },
    ['NoDisruptionAllowed'],
    [],
    ['matches no pod'],
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
  [
    'a LimitRange contradicts another one from either side',
    limitRange,
    range('a', { min: { cpu: '2' }, max: { memory: '1Gi' } }),
    {
      limitRanges: [
        range('a', { min: { cpu: '2' }, max: { memory: '1Gi' } }),
        range('b', { max: { cpu: '1500m' }, default: { memory: '2Gi' } }),
      ],
    },
    ['MinimumAboveMaximum', 'DefaultAboveMaximum'],
    [
      'No Container can be created: the minimum of cpu in a is 2, the maximum in b is 1500m.',
      'the default in b is 2Gi, the maximum in a is 1Gi',
    ],
  ],
  [
    'LimitRanges that agree, or are about other things, are fine',
    limitRange,
    range('a', { min: { cpu: '1' } }),
    {
      limitRanges: [
        range('b', { max: { cpu: '1000m' } }),
        object('LimitRange', 'c', { spec: { limits: [{ type: 'Pod', max: { cpu: '1m' } }] } }),
      ],
    },
    [],
    [],
  ],
])
