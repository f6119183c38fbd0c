/** What `skiff why` finds about Jobs and CronJobs. */
import { cronJob } from '../../../cluster/why/kinds/cron-job.ts'
import { job } from '../../../cluster/why/kinds/job.ts'
import { itExplains } from './cases.ts'
import { condition, crashing, event, object, ownedBy, podWith, readyPod } from './objects.ts'

const quota = object('ResourceQuota', 'few', {
  status: { hard: { pods: '2' }, used: { pods: '2' } },
})
const startTime = '2026-11-22T11:50:00Z'

itExplains([
  [
    'a Job that no controller has started is not fine',
    job,
    object('Job', 'load', { spec: {} }),
    {},
    ['NotObserved'],
    ['skiff status'],
  ],
  [
    'a Job whose failure is announced has the reason before its pods have ended',
    job,
    object('Job', 'load', {
      status: {
        startTime,
        failed: 1,
        conditions: [
          condition('FailureTarget', 'True', { reason: 'PodFailurePolicy', message: 'exit 42' }),
        ],
      },
    }),
    {},
    ['PodFailurePolicy'],
    ['after 1 failed pod: exit 42.', 'spec.podFailurePolicy'],
  ],
  [
    'a Job whose success is announced is fine, though its other pods still end',
    job,
    object('Job', 'load', {
      status: { startTime, conditions: [condition('SuccessCriteriaMet', 'True')] },
    }),
    { pods: [crashing('load-a', { metadata: ownedBy('Job', 'load') })] },
    [],
    [],
  ],
  [
    'a Job with a limit for each index gives up by that one',
    job,
    object('Job', 'load', {
      spec: { backoffLimit: 2_147_483_647, backoffLimitPerIndex: 3 },
      status: { startTime, failed: 1 },
    }),
    {},
    ['Retrying'],
    ['after 3 retries of an index', 'spec.backoffLimitPerIndex 3'],
    ['2147483647'],
  ],
  [
    'a Job with some of its pods names the quota that keeps the others from being created',
    job,
    object('Job', 'load', { spec: { parallelism: 3 }, status: { startTime, active: 2 } }),
    {
      pods: [readyPod('load-a', { metadata: ownedBy('Job', 'load') })],
      events: [event('Job', 'load', 'FailedCreate', 'exceeded quota: few')],
      resourceQuotas: [quota],
    },
    ['QuotaFull'],
    ['pods: 2 of 2 used'],
  ],
  [
    'a Job of another controller waits for that one, whatever its name ends in',
    job,
    object('Job', 'load', { spec: { managedBy: 'example.com/job-controller' } }),
    {},
    ['ManagedBy'],
    ['check that example.com/job-controller runs'],
  ],
  [
    'a failed Job has its reason, and how its pods ended',
    job,
    object('Job', 'load', {
      status: {
        failed: 1,
        uncountedTerminatedPods: { failed: ['uid-not-counted-yet'] },
        conditions: [
          condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'too often' }),
        ],
      },
    }),
    {
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
    },
    ['BackoffLimitExceeded'],
    ['2 failed pods', 'exit code 7', 'create it anew'],
  ],
  [
    'a Job that retries says how often it will',
    job,
    object('Job', 'load', { spec: { backoffLimit: 4 }, status: { startTime, failed: 1 } }),
    {},
    ['Retrying'],
    ['gives up after 4 retries'],
  ],
  [
    'a suspended Job is resumed by hand',
    job,
    object('Job', 'load', { spec: { suspend: true } }),
    {},
    ['Suspended'],
    ['"suspend":false'],
  ],
  [
    'a complete Job is fine',
    job,
    object('Job', 'load', { status: { failed: 1, conditions: [condition('Complete', 'True')] } }),
    {},
    [],
    [],
  ],
  [
    'a schedule that never matches never runs',
    cronJob,
    object('CronJob', 'leap', { spec: { schedule: '0 0 30 2 *' } }),
    {},
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
    {},
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
    {
      jobs: [
        object('Job', 'sync-1', {
          metadata: ownedBy('CronJob', 'sync'),
          status: { conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })] },
        }),
      ],
    },
    ['MissedRun', 'LastJobFailed'],
    ['startingDeadlineSeconds (10)', 'skiff why job sync-1'],
  ],
  [
    'a run whose Job cannot be created names the event, not the controller manager',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC' },
      status: { lastScheduleTime: '2026-11-22T11:30:00Z' },
    }),
    { events: [event('CronJob', 'sync', 'FailedCreate', 'exceeded quota: few')] },
    ['JobsNotCreated'],
    ['A Job could not be created: exceeded quota: few.'],
    ['skiff status'],
  ],
  [
    'a Job that could not be created before the last run is no cause any more',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC' },
      status: { lastScheduleTime: '2026-11-22T11:59:30Z' },
    }),
    { events: [event('CronJob', 'sync', 'FailedCreate', 'exceeded quota: few')] },
    [],
    [],
  ],
  [
    'a time zone that does not exist is named',
    cronJob,
    object('CronJob', 'sync', { spec: { schedule: '* * * * *', timeZone: 'Mars/Olympus' } }),
    { events: [event('CronJob', 'sync', 'UnknownTimeZone', 'invalid timeZone')] },
    ['InvalidSchedule'],
    ['unknown time zone Mars/Olympus', 'invalid timeZone'],
  ],
  [
    'a schedule that cannot be read has the event of the controller',
    cronJob,
    object('CronJob', 'sync', { spec: { schedule: 'often' } }),
    { events: [event('CronJob', 'sync', 'UnparseableSchedule', 'unparseable')] },
    ['InvalidSchedule'],
    ['UnparseableSchedule: unparseable'],
  ],
  [
    'a CronJob that has just run is fine',
    cronJob,
    object('CronJob', 'sync', {
      spec: { schedule: '*/5 * * * *', timeZone: 'Etc/UTC' },
      status: { lastScheduleTime: '2026-11-22T11:55:00Z' },
    }),
    {},
    [],
    [],
  ],
])
