/** Jobs that failed, retry, wait, or are suspended. */
import type { Job, Pod } from '../../../components/api/generated/types.ts'
import { conditionOf, conditionsSeen, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { countText } from '../names.ts'
import { creationFinding, podsFindings, podsOf } from '../owned-pods.ts'
import { containerFindings } from '../pod-containers.ts'
import type { Related } from '../related.ts'
import { workloadNeeds } from '../workload.ts'

/** As many failed pods as are shown, the newest first. */
const mostFailed = 3

const failedPods = (pods: readonly Pod[]): Pod[] =>
  pods.filter(({ status }) => status?.phase === 'Failed')

function failuresSeen(pods: readonly Pod[], related: Related): Evidence[] {
  const newest = failedPods(pods).toSorted(
    (a, b) => Date.parse(b.status?.startTime ?? '') - Date.parse(a.status?.startTime ?? ''),
  )
  return newest.slice(0, mostFailed).flatMap((pod) => {
    const [found] = containerFindings(pod, related)
    return found?.evidence.slice(0, 1) ?? [seen({ ...pod, kind: 'Pod' }, 'failed')]
  })
}

/** What to do about the reason of a Job's failure. */
const failureAdvice: Readonly<Record<string, string>> = {
  BackoffLimitExceeded:
    'correct why its pods fail; a failed Job never starts again: create it anew',
  DeadlineExceeded:
    'raise spec.activeDeadlineSeconds, or make the work faster, and create the Job anew',
  PodFailurePolicy:
    'a rule of spec.podFailurePolicy ended the Job at once: correct why the pod failed',
  FailedIndexes: 'see which indexes failed in status.failedIndexes, and create a Job for them',
  MaxFailedIndexesExceeded: 'more indexes failed than spec.maxFailedIndexes allows',
}

function failedFinding(job: Job, pods: readonly Pod[], related: Related): Finding {
  const { reason = 'Failed', message = '' } = conditionOf(job, 'Failed') ?? {}
  const failed = job.status?.failed ?? 0
  const indexes = job.status?.failedIndexes
  return {
    cause: reason,
    message: `The Job failed after ${countText(failed, 'failed pod')}: ${message}`,
    evidence: [
      ...conditionsSeen(job, 'Failed', 'FailureTarget'),
      ...(indexes ? [seen(job, `failed indexes: ${indexes}`)] : []),
      ...failuresSeen(pods, related),
    ],
    next: [
      failureAdvice[reason] ?? 'correct what the message names, and create the Job anew',
      `read the logs of its pods: kubectl logs -n ${job.metadata.namespace} job/${job.metadata.name}`,
    ],
  }
}

function retryFinding(job: Job, pods: readonly Pod[], related: Related): Finding | undefined {
  const { failed = 0 } = job.status ?? {}
  if (failed === 0) return undefined
  const limit = job.spec?.backoffLimit ?? 6
  return {
    cause: 'Retrying',
    message: `${countText(failed, 'pod')} of the Job failed; it gives up after ${limit} retries. It waits longer before each retry.`,
    evidence: [
      seen(job, `status.failed is ${failed}, spec.backoffLimit ${limit}`),
      ...failuresSeen(pods, related),
      ...eventsSeen(related, job, ['BackoffLimitExceeded', 'FailedIndexes']),
    ],
    next: [
      `read the logs of its pods: kubectl logs -n ${job.metadata.namespace} job/${job.metadata.name}`,
    ],
  }
}

function waitingFinding(job: Job, related: Related): Finding | undefined {
  const { spec, metadata } = job
  const { name, namespace } = metadata
  if (spec?.suspend === true) {
    return {
      cause: 'Suspended',
      message: 'The Job is suspended: it runs no pods.',
      evidence: [seen(job, 'spec.suspend is true'), ...conditionsSeen(job, 'Suspended')],
      next: [
        `resume it: kubectl patch job ${name} -n ${namespace} --type=merge -p '{"spec":{"suspend":false}}'`,
      ],
    }
  }
  const manager = spec?.managedBy
  const isForeign = manager !== undefined && !manager.endsWith('/job-controller')
  if (isForeign && job.status?.startTime === undefined) {
    return {
      cause: 'ManagedBy',
      message: `The Job is managed by ${manager}, which has not started it; the job controller leaves it alone.`,
      evidence: [seen(job, `spec.managedBy is ${manager}`), ...eventsSeen(related, job)],
      next: [`check that ${manager} runs`],
    }
  }
  return undefined
}

function explainJob(given: Job, related: Related): Finding[] {
  const job: Job = { ...given, kind: 'Job' }
  if (conditionOf(job, 'Complete')?.status === 'True') return []
  const pods = podsOf(job, related)
  const hasFailed = ['Failed', 'FailureTarget'].some(
    (type) => conditionOf(job, type)?.status === 'True',
  )
  if (hasFailed) return [failedFinding(job, pods, related)]
  const waiting = waitingFinding(job, related)
  if (waiting !== undefined) return [waiting]
  const live = pods.filter(({ status }) => status?.phase !== 'Failed')
  const failure = live.length === 0 ? creationFinding(job, related) : undefined
  const retry = retryFinding(job, pods, related)
  return [failure, retry, ...podsFindings(live, related)].filter((one) => one !== undefined)
}

export const job = defineExplainer<Job>({
  needs: (object) => workloadNeeds(object),
  explain: explainJob,
  state: (object) => {
    const complete = conditionOf(object, 'Complete')
    const { succeeded = 0, active = 0, failed = 0 } = object.status ?? {}
    if (complete?.status === 'True') return `Complete since ${complete.lastTransitionTime}`
    if (conditionOf(object, 'Failed')?.status === 'True') return 'Failed'
    if (object.spec?.suspend === true) return 'Suspended'
    const wanted = object.spec?.completions ?? 1
    return `${active} active, ${succeeded} of ${wanted} succeeded, ${failed} failed`
  },
})
