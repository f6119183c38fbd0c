/**
 * Scheduler: takes the next pod, finds it a node, counts it there at once and binds it; reports why a pod fits nowhere (upstream:
 * schedule_one.go). One decision is one step over the snapshot; only bindings and reports are in flight at the same time.
 */
import { withCause } from '../client/cause.ts'
import type { PodInfo } from './pod-info.ts'
import type { SchedulerOptions } from './schedule-one.ts'
import { ScheduleOne } from './schedule-one.ts'

/** Runs until the signal aborts, then waits for the bindings in flight. */
export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { queue, log, parallelism = 64 } = options
  const scheduler = new ScheduleOne(options, signal)
  const inFlight = new Set<Promise<void>>()
  const launch = (info: PodInfo, work: Promise<void>): void => {
    const reported = work.catch((error: unknown) => {
      log.warn('reporting on a pod failed', { pod: info.key, error })
    })
    const tracked: Promise<void> = reported.finally(() => inFlight.delete(tracked))
    inFlight.add(tracked)
  }
  try {
    for (;;) {
      const queued = await queue.pop(signal)
      const { cause } = queued
      const write = await withCause(cause, () => scheduler.scheduleOne(queued))
      launch(queued.info, withCause(cause, write))
      if (inFlight.size >= parallelism) await Promise.race(inFlight)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await Promise.allSettled(inFlight)
  }
}
