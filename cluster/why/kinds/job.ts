/** Jobs that failed, retry, wait, or are suspended. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { Job, JobCondition, Pod } from '../../../components/api/generated/types.ts'
import { conditionOf, conditionsSeen, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { countText, sentence } from '../names.ts'
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
    return found?.evidence.slice(0, 1) ?? [seen(pod, 'failed')]
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

/** The Job has failed, or is about to: FailureTarget comes before its pods have ended. */
function failureOf(job: Job): JobCondition | undefined {
  return job.status?.conditions?.find(
    ({ type, status }) => ['Failed', 'FailureTarget'].includes(type) && status === 'True',
  )
}

/** Those that are named and not counted yet, too. */
function failureCount({ status }: Job): number {
  return (status?.failed ?? 0) + (status?.uncountedTerminatedPods?.failed?.length ?? 0)
}

interface View {
  readonly job: Job
  readonly pods: readonly Pod[]
  readonly related: Related
}

function failedFinding({ job, pods, related }: View, condition: JobCondition): Finding {
  const { reason = 'Failed', message = '' } = condition
  const failed = failureCount(job)
  const after = failed === 0 ? '' : ` after ${countText(failed, 'failed pod')}`
  const indexes = job.status?.failedIndexes
  return {
    cause: reason,
    message: sentence(`The Job failed${after}${message ? `: ${message}` : ''}`),
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

function retryFinding({ job, pods, related }: View): Finding | undefined {
  const { failed = 0 } = job.status ?? {}
  if (failed === 0) return undefined
  const { backoffLimit = 6, backoffLimitPerIndex: perIndex } = job.spec ?? {}
  // With a limit for each index, the one for the whole Job is the largest number there is.
  const [field, limit, each] =
    perIndex === undefined
      ? ['backoffLimit', backoffLimit, '']
      : ['backoffLimitPerIndex', perIndex, ' of an index']
  return {
    cause: 'Retrying',
    message: `${countText(failed, 'pod')} of the Job failed; it gives up after ${limit} retries${each}. It waits longer before each retry.`,
    evidence: [
      seen(job, `status.failed is ${failed}, spec.${field} ${limit}`),
      ...failuresSeen(pods, related),
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
  if (job.status?.startTime !== undefined) return undefined
  const manager = spec?.managedBy ?? labelKey(related.dialect, '', 'job-controller')
  if (manager !== labelKey(related.dialect, '', 'job-controller')) {
    return {
      cause: 'ManagedBy',
      message: `The Job is managed by ${manager}, which has not started it; the job controller leaves it alone.`,
      evidence: [seen(job, `spec.managedBy is ${manager}`), ...eventsSeen(related, job)],
      next: [`check that ${manager} runs`],
    }
  }
  return {
    cause: 'NotObserved',
    message: 'The job controller has not started the Job yet.',
    evidence: [seen(job, 'status.startTime is empty')],
    next: ['check that the controller manager runs: skiff status'],
  }
}

/** Whether pods are missing that the Job should run at the moment. */
export function lacksPods({ spec, status }: Pick<Job, 'spec' | 'status'>): boolean {
  const { parallelism = 1, completions = Infinity } = spec ?? {}
  const { active = 0, succeeded = 0 } = status ?? {}
  return active < Math.min(parallelism, completions - succeeded)
}

export function isFinished(job: Pick<Job, 'status'>): boolean {
  const ends = ['Complete', 'SuccessCriteriaMet', 'Failed', 'FailureTarget']
  return ends.some((type) => conditionOf(job, type)?.status === 'True')
}

function explainJob(job: Job, related: Related): Finding[] {
  const view = { job, pods: podsOf(job, related), related }
  const failed = failureOf(job)
  if (failed !== undefined) return [failedFinding(view, failed)]
  if (isFinished(job)) return []
  const waiting = waitingFinding(job, related)
  if (waiting !== undefined) return [waiting]
  const live = view.pods.filter(({ status }) => status?.phase !== 'Failed')
  const failure = lacksPods(job) ? creationFinding(job, related) : undefined
  const found = [failure, retryFinding(view), ...podsFindings(live, related)]
  return found.filter((one) => one !== undefined)
}

export const job = defineExplainer<Job>({
  needs: (object) => workloadNeeds(object),
  explain: explainJob,
  state: (object) => {
    const complete = conditionOf(object, 'Complete')
    const { succeeded = 0, active = 0, failed = 0 } = object.status ?? {}
    if (complete?.status === 'True') return `Complete since ${complete.lastTransitionTime}`
    if (failureOf(object) !== undefined) return 'Failed'
    if (isFinished(object)) return 'its success criteria are met'
    if (object.spec?.suspend === true) return 'Suspended'
    const wanted = object.spec?.completions ?? 1
    return `${active} active, ${succeeded} of ${wanted} succeeded, ${failed} failed`
  },
})
