/** Which run of a CronJob is due, and when the next one will be (upstream: pkg/controller/cronjob/utils.go). Pure. */
import type { NextRun } from '../../api/cron/cron-job-runs.ts'
import type { CronJob } from '../../api/generated/types.ts'

/** Past this many missed runs, users should be warned. */
const manyMissed = 100
/** Clocks are corrected by small steps: a run is looked for slightly after its time. */
const paddingMs = 100

export interface DueRun {
  /** Undefined while no run is due. */
  readonly atMs: number | undefined
  /** Far more runs were missed than one; only the last is made up for. */
  readonly hasMissedMany: boolean
}

interface Recent {
  readonly earliestMs: number
  readonly recentMs: number | undefined
  readonly missed: 'none' | 'few' | 'many'
}

/** The last run that should have begun since the one before. Throws for a schedule that has no two runs a second apart. */
function mostRecentRun(
  cronJob: CronJob,
  next: NextRun,
  from: { nowMs: number; minMs: number },
): Recent {
  const { nowMs, minMs } = from
  const sinceText = cronJob.status?.lastScheduleTime ?? cronJob.metadata.creationTimestamp ?? ''
  const earliestMs = Math.max(Date.parse(sinceText), minMs)
  const none = { earliestMs, recentMs: undefined, missed: 'none' } as const
  const first = next(earliestMs)
  if (first !== undefined && nowMs < first) return none
  const second = first === undefined ? undefined : next(first)
  if (first !== undefined && second !== undefined && nowMs < second) {
    return { ...none, recentMs: first }
  }
  if (first === undefined || second === undefined) {
    throw new Error('time difference between two schedules is less than 1 second')
  }
  // Runs are taken to be equally far apart; only from shortly before the present on they are gone through one by one.
  const apartMs = second - first
  const count = Math.floor((nowMs - first) / apartMs) + 1
  let recentMs: number | undefined
  let runMs = next(first + (count - 2) * apartMs)
  while (runMs !== undefined && runMs <= nowMs) {
    recentMs = runMs
    runMs = next(runMs)
  }
  return { earliestMs, recentMs, missed: count > manyMissed ? 'many' : 'few' }
}

/** The run to start now. Throws for a schedule that never matches. */
export function dueRun(cronJob: CronJob, next: NextRun, nowMs: number): DueRun {
  const { startingDeadlineSeconds } = cronJob.spec ?? {}
  const minMs =
    startingDeadlineSeconds === undefined ? -Infinity : nowMs - startingDeadlineSeconds * 1000
  const { recentMs, missed } = mostRecentRun(cronJob, next, { nowMs, minMs })
  return { atMs: recentMs, hasMissedMany: recentMs !== undefined && missed === 'many' }
}

/** How long until the CronJob should be looked at again; undefined when it never runs again. */
export function nextRunInMs(cronJob: CronJob, next: NextRun, nowMs: number): number | undefined {
  let fromMs = nowMs
  try {
    const { earliestMs, recentMs, missed } = mostRecentRun(cronJob, next, {
      nowMs,
      minMs: -Infinity,
    })
    fromMs = recentMs ?? (missed === 'none' ? earliestMs : nowMs)
  } catch {
    // A schedule that never matches has no time since which to count.
  }
  const atMs = next(fromMs)
  return atMs === undefined ? undefined : Math.max(0, atMs + paddingMs - nowMs)
}
