/**
 * A Job counts each of its pods once (KEP-2307): a pod is named as uncounted, loses its finalizer, and is then counted. So at
 * every revision the counts are the number of pods that were named and are not any more; no pod is named twice, none leaves
 * without being named, and nothing is open when the Job has ended.
 */
import type { Job, Pod } from '../../components/api/generated/types.ts'
import {
  indexCount,
  parseIntervals,
} from '../../components/controller-manager/job/index-intervals.ts'
import type { Change } from '../../monitors/change.ts'
import type { Invariant } from './invariant.ts'
import { isOf, nameOf, uidOf } from '../../monitors/change.ts'

const fields = ['succeeded', 'failed'] as const
type Field = (typeof fields)[number]

interface Counted {
  /** Uids that the status has named. */
  readonly named: Record<Field, Set<string>>
  /** What the counts were in the first state that was seen, less what was named then. */
  readonly base: Record<Field, number>
  /** Whether every state since the creation was seen. */
  readonly isWhole: boolean
}

interface TrackedPod {
  readonly text: string
  readonly job: string
  readonly phase: string
  readonly isHeld: boolean
  /** The Job must count it: it ended while it had the finalizer. */
  readonly owed: Field | undefined
  /** It was being deleted while it had the finalizer: then it counts as failed, even if it still succeeds. */
  readonly wasTerminating: boolean
  /**
   * It was deleted once it had lost the finalizer. So the controller deletes pods that it does not want any more (fewer at a time,
   * suspended), and may not have seen yet that they ended; upstream's does not count them either (deleteJobPods).
   */
  readonly wasDropped: boolean
}

const uncountedOf = ({ status }: Job, field: Field): readonly string[] =>
  status?.uncountedTerminatedPods?.[field] ?? []
const isIndexed = ({ spec }: Job): boolean => spec?.completionMode === 'Indexed'
const hasEnded = ({ status }: Job): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status: is }) => ['Complete', 'Failed'].includes(type) && is === 'True',
  )
/** Nobody else was asked to (`managedBy`). */
const countsItself = ({ spec }: Job): boolean => spec?.managedBy === undefined
/** Rules of a policy may ignore failures. */
const countsAllFailures = ({ spec }: Job): boolean => spec?.podFailurePolicy === undefined

function startOf(job: Job, isWhole: boolean): Counted {
  const named = {
    succeeded: new Set(uncountedOf(job, 'succeeded')),
    failed: new Set(uncountedOf(job, 'failed')),
  }
  const base = { succeeded: job.status?.succeeded ?? 0, failed: job.status?.failed ?? 0 }
  return { named, base, isWhole }
}

function faultsOfIndexes(job: Job, old: Job, at: string): string[] {
  const { status, spec } = job
  const completions = spec?.completions ?? 0
  const count = (one: Job): number =>
    indexCount(parseIntervals(one.status?.completedIndexes, completions))
  const succeeded = status?.succeeded ?? 0
  const isElastic = completions < (old.spec?.completions ?? 0) || spec?.completions === undefined
  // A change of the completions alone leaves the status behind it.
  const isCounted = JSON.stringify(status) !== JSON.stringify(old.status)
  return [
    ...(isCounted && count(job) !== succeeded
      ? [
          `${at}: ${succeeded} succeeded, but the completed indexes are "${status?.completedIndexes ?? ''}"`,
        ]
      : []),
    ...(!isElastic && count(job) < count(old)
      ? [
          `${at}: completed indexes went from "${old.status?.completedIndexes}" to "${status?.completedIndexes ?? ''}"`,
        ]
      : []),
  ]
}

export function jobCounts(): Invariant {
  const jobs = new Map<string, Counted>()
  const pods = new Map<string, TrackedPod>()

  const faultsOfField = (change: Change, counted: Counted, field: Field): string[] => {
    const job = change.object as Job
    const at = `${nameOf(change)} at revision ${change.revision}`
    const before = uncountedOf(change.old as Job, field)
    const now = uncountedOf(job, field)
    const named = counted.named[field]
    const faults: string[] = []
    for (const uid of now) {
      if (before.includes(uid)) continue
      if (named.has(uid)) faults.push(`${at}: pod ${uid} is named as ${field} a second time`)
      named.add(uid)
    }
    const other = field === 'failed' ? 'succeeded' : 'failed'
    const twice = now.find((uid) => counted.named[other].has(uid))
    if (twice !== undefined) faults.push(`${at}: pod ${twice} has both succeeded and failed`)
    for (const uid of before) {
      const pod = pods.get(uid)
      if (!now.includes(uid) && pod?.isHeld === true)
        faults.push(`${at}: ${pod.text} counts as ${field} and still has the finalizer`)
    }
    if (isIndexed(job) && field === 'succeeded') return faults
    const wanted = counted.base[field] + named.size - now.length
    const is = job.status?.[field] ?? 0
    if (is !== wanted)
      faults.push(`${at}: ${is} ${field}, but ${wanted} pods have been named and released`)
    return faults
  }
  const faultsOfEnd = (change: Change, { named, isWhole }: Counted): string[] => {
    const job = change.object as Job
    const at = `${nameOf(change)} ended at revision ${change.revision}`
    const faults = fields
      .filter((field) => uncountedOf(job, field).length > 0)
      .map((field) => `${at} with pods that are named as ${field} and not counted`)
    for (const [uid, pod] of pods) {
      const { job: owner, owed, text } = pod
      if (owner !== uidOf(job) || owed === undefined || !isWhole || pod.wasDropped) continue
      const isSkipped =
        owed === 'succeeded' ? isIndexed(job) : !countsAllFailures(job) || isIndexed(job)
      const isCounted = named[owed].has(uid) || (pod.wasTerminating && named.failed.has(uid))
      if (!isSkipped && !isCounted) faults.push(`${at} and never counted ${text} as ${owed}`)
    }
    return faults
  }
  const takeJob = (change: Change): string[] => {
    const job = change.object as Job
    const uid = uidOf(job)
    if (change.type === 'DELETED') {
      jobs.delete(uid)
      for (const [pod, { job: owner }] of pods) if (owner === uid) pods.delete(pod)
      return []
    }
    const counted = jobs.get(uid)
    if (counted === undefined || change.isListed || change.old === undefined) {
      jobs.set(uid, startOf(job, change.type === 'ADDED' && !change.isListed))
      return []
    }
    if (!countsItself(job)) return []
    const old = change.old as Job
    const at = `${nameOf(change)} at revision ${change.revision}`
    return [
      ...fields.flatMap((field) => faultsOfField(change, counted, field)),
      ...(isIndexed(job) ? faultsOfIndexes(job, old, at) : []),
      ...(hasEnded(job) && !hasEnded(old) ? faultsOfEnd(change, counted) : []),
    ]
  }

  const takePod = (change: Change): void => {
    const pod = change.object as Pod
    const uid = uidOf(pod)
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)
    if (owner?.kind !== 'Job') return
    const isHeld =
      change.type !== 'DELETED' &&
      (pod.metadata.finalizers ?? []).some((one) => one.endsWith('/job-tracking'))
    const known = pods.get(uid)
    const phase = pod.status?.phase ?? ''
    const ended: Partial<Record<string, Field>> = { Succeeded: 'succeeded', Failed: 'failed' }
    // What it was when it lost the finalizer decides.
    const owed = known?.isHeld === true && !isHeld ? ended[known.phase] : known?.owed
    const isTerminating = change.type === 'DELETED' || pod.metadata.deletionTimestamp !== undefined
    const wasTerminating = known?.wasTerminating === true || (isHeld && isTerminating)
    const wasDropped =
      known?.wasDropped === true ||
      (known?.isHeld === false && isTerminating && !known.wasTerminating)
    const judged = { owed, wasTerminating, wasDropped }
    pods.set(uid, { text: nameOf(change), job: owner.uid, phase, isHeld, ...judged })
    if (!jobs.has(owner.uid)) pods.delete(uid)
  }
  return {
    name: 'a Job counts each pod once',
    take: (change) => {
      if (isOf(change, 'jobs')) return takeJob(change)
      if (isOf(change, 'pods')) takePod(change)
      return []
    },
  }
}
