/**
 * Controller: informers -> keys -> work queue -> reconciler. Level based: a reconciler gets a key, never an event. What it sends
 * carries the cause of its key (`cause.ts`).
 */
import { aborted } from '../component-base/aborted.ts'
import type { Clock } from '../component-base/clock.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { keyOf } from '../machinery/objects/object.ts'
import { isStatusError, StatusError } from '../machinery/objects/status-error.ts'
import { requeueCause, startCause, withCause } from './cause.ts'
import { ConnectionError } from './connection-error.ts'
import type { Informer, InformerEvent } from './informer.ts'
import { createWorkQueue } from './work-queue.ts'
import type { WorkQueue, WorkQueues } from './work-queue.ts'

/** A reconciler's result. No result means done; an error is retried with back-off, except a TerminalError. */
export interface Result {
  /** Reconcile the key again after this time even if nothing changes. */
  readonly requeueAfterMs?: number
  /** What led to this is still to be acted on: the next time has the same cause. */
  readonly isPutOff?: boolean
  /** Nothing is expected to have changed by then: it is a look. */
  readonly isUpkeep?: boolean
}

export type Reconciler = (key: string, signal: AbortSignal) => Promise<Result | void>

/** An error that a retry cannot fix. It is logged, and the key waits for its next change. */
export class TerminalError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'TerminalError'
  }
}

/** An informer and the keys its events put on the queue. */
export interface ControllerSource {
  readonly informer: Informer
  /** Keys to reconcile because of this event; of an update the old state's keys are asked for too. */
  readonly keysOf: (object: KubeObject) => readonly string[]
}

/** A source whose events are of type T: `source(pods, (pod) => [keyOf(pod)])`. `keysOf` defaults to the object's own key. */
export function source<T extends KubeObject>(
  informer: Informer<T>,
  keysOf: (object: T) => readonly string[] = (object) => [keyOf(object)],
): ControllerSource {
  return { informer: informer as unknown as Informer, keysOf: keysOf as ControllerSource['keysOf'] }
}

export interface ControllerOptions {
  /** As in logs. */
  readonly name: string
  readonly informers: readonly ControllerSource[]
  readonly reconcile: Reconciler
  /** Keys worked on at once; default 1. */
  readonly workers?: number
  readonly clock: Clock
  readonly log: Log
  /** For those who add keys of their own; made here when absent. Shut down at the end either way. */
  readonly queue?: WorkQueue
  /** Makes the queue where none is given. */
  readonly queues?: WorkQueues
  /** Keys to reconcile once at the start even if no object gives them. */
  readonly initialKeys?: readonly string[]
}

/** An event's keys, old and new, each once. */
function keysOfEvent(event: InformerEvent<KubeObject>, keysOf: ControllerSource['keysOf']) {
  const keys = keysOf(event.object)
  return event.type === 'update' ? new Set([...keysOf(event.old), ...keys]) : keys
}

/**
 * Waits until all informers are ready, then reconciles keys until `signal` aborts and the work under way has ended. The
 * caller must run the informers. Errors of the reconciler are logged and retried; a lost race is retried quietly.
 */
export async function runController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name, informers, reconcile, workers = 1, clock, initialKeys = [] } = options
  const log = options.log.with({ controller: name })
  const queue = options.queue ?? options.queues?.(name) ?? createWorkQueue({ clock })
  const stop = (): void => queue.shutDown()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()

  for (const { informer, keysOf } of informers) {
    informer.onEvent((event) => {
      for (const key of keysOfEvent(event, keysOf)) queue.add(key)
    })
  }
  withCause(startCause, () => {
    for (const key of initialKeys) queue.add(key)
  })

  const retry = (key: string, error: unknown): void => {
    if (error instanceof TerminalError) {
      log.error('reconcile failed for good', { key, error })
      queue.forget(key)
      return
    }
    const fields = { key, retries: queue.retries(key) }
    if (isStatusError(error, 'Conflict')) log.debug('lost a race; trying again', fields)
    else if (error instanceof StatusError || error instanceof ConnectionError)
      log.warn('reconcile failed; trying again', { ...fields, why: messageOf(error) })
    else log.error('reconcile failed; trying again', { ...fields, error })
    queue.addRateLimited(key)
  }
  const again = (key: string, { requeueAfterMs, isPutOff, isUpkeep }: Result): void => {
    if (requeueAfterMs === undefined) return
    const cause = isPutOff === true ? queue.causeOf(key) : requeueCause
    withCause(cause, () => queue.addAfter(key, requeueAfterMs, isUpkeep))
  }
  const work = async (): Promise<void> => {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      try {
        const current = key
        const result = await withCause(queue.causeOf(key), () => reconcile(current, signal))
        queue.forget(key)
        if (result !== undefined) again(key, result)
      } catch (error) {
        if (!signal.aborted) retry(key, error)
      } finally {
        queue.done(key)
      }
    }
  }

  await Promise.race([
    Promise.all(informers.map(({ informer }) => informer.ready)),
    aborted(signal),
  ])
  await Promise.all(Array.from({ length: workers }, work))
  signal.removeEventListener('abort', stop)
}
