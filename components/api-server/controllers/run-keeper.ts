/** run-keeper: runs a reconciler of the server's own objects on the client's work queue and controller. */
import { runController, type Reconciler } from '../../client/controller.ts'
import { createWorkQueue } from '../../client/work-queue.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'

/** When the store accepts writes again, every key is retried within 10 s. */
const retry = { initialMs: 1000, maxMs: 10_000 }

export interface RunKeeperOptions {
  /** As in logs. */
  readonly name: string
  /** Makes the state of a key true, from the newest objects. A lost race is no error: the write that won adds the key again. */
  readonly reconcile: Reconciler
  /**
   * Called once. Adds the key of every object that may be wrong now, and later of every object that a change may have made
   * wrong. Returns the ways to stop.
   */
  readonly watch: (add: (key: string) => void) => readonly (() => void)[]
  /** Keys settled at once, so that their writes share flushes; default 1. */
  readonly workers?: number
  readonly clock: Clock
  readonly log: Log
}

/** Settles keys until `signal` aborts and the work under way has ended. Errors are logged and retried with back-off. */
export async function runKeeper(options: RunKeeperOptions, signal: AbortSignal): Promise<void> {
  const { name, reconcile, watch, workers = 1, clock, log } = options
  const queue = createWorkQueue({ clock, ...retry })
  const settle: Reconciler = async (key, own) => {
    try {
      return await reconcile(key, own)
    } catch (error) {
      // Another write was first: its event brings the key back.
      if (!isStatusError(error, 'Conflict', 'NotFound', 'AlreadyExists')) throw error
    }
  }
  const stops = watch((key) => queue.add(key))
  try {
    await runController(
      { name, informers: [], reconcile: settle, workers, clock, log, queue },
      signal,
    )
  } finally {
    for (const stop of stops) stop()
  }
}
