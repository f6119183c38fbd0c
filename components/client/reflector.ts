/** Reflector: keeps a sink equal to the server's state: list, watch, resume where the watch ended, or list again. */
import { createBackoff } from '../component-base/backoff.ts'
import type { Backoff } from '../component-base/backoff.ts'
import type { Clock } from '../component-base/clock.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import { keyOf } from '../machinery/objects/object.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import { ConnectionError } from './connection-error.ts'
import type { ListOptions, ResourceClient, WatchEvent } from './resource-client.ts'

export interface ReflectorSink<T> {
  /** The whole state: an object that is not in it was deleted. */
  replace(objects: readonly T[]): void
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<ResourceClient<T>, 'list' | 'watch' | 'resource'>
  readonly selection: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>
  readonly sink: ReflectorSink<T>
  /**
   * The annotation of the bookmark that ends the first events of a watch. With it the state comes with the watch, in one request (KEP-3157,
   * upstream's WatchListClient); a server that refuses such a watch is listed.
   */
  readonly initialEventsEnd?: string | undefined
  readonly clock: Clock
  readonly log: Log
}

/** Upstream's reflector waits 0.8 s up to 30 s. */
const backoffOptions = { initialMs: 800, maxMs: 30_000, jitter: 1 }
/** Before that: a restarted server is back in less, and a refused connection costs it nothing. */
const quickRetriesMs = [50, 100, 200, 400]
/** The timeout that upstream asks for a watch: at least this, at most twice. */
const watchSeconds = 300
/** A watch that ended sooner without an event counts as a failure. */
const shortWatchMs = 1000

/** Where the reflector is, and how it fares. */
interface RetryState {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly backoff: Backoff
  /** Separate: a server that was away for long and lost its history meanwhile is retried soon. */
  readonly expiryBackoff: Backoff
  /** The resourceVersion of the next watch. */
  version: string
  /** The resourceVersion of the next list: `0` is any state, a version is not older than it, '' is the newest. */
  listVersion: string
  needsList: boolean
  /** The server has not refused to send the state with a watch. */
  mayStream: boolean
  failures: number
  expiries: number
}

type Progress<T extends KubeObject> = ReflectorOptions<T> & RetryState

/** Runs until `signal` aborts, whatever happens to the server. The sink is called synchronously and must not throw. */
export async function runReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock } = options
  const random = (): number => clock.random()
  const progress: Progress<T> = {
    ...options,
    log: options.log.with({ resource: client.resource.plural }),
    signal,
    backoff: createBackoff(backoffOptions, random),
    expiryBackoff: createBackoff(backoffOptions, random),
    version: '',
    listVersion: '0',
    needsList: true,
    mayStream: options.initialEventsEnd !== undefined,
    failures: 0,
    expiries: 0,
  }
  while (!signal.aborted) {
    try {
      if (progress.needsList && !progress.mayStream) {
        await list(progress)
        progress.needsList = false
      }
      await watch(progress)
    } catch (error) {
      if (signal.aborted) return
      if (mayRetryAtOnce(progress, error)) continue
      try {
        await pause(progress, error)
      } catch {
        // Only an abort ends the sleep early.
        return
      }
    }
  }
}

async function list<T extends KubeObject>(progress: Progress<T>): Promise<void> {
  const { client, selection, sink, signal, listVersion } = progress
  const answer = await client.list({ ...selection, resourceVersion: listVersion }, signal)
  sink.replace(answer.items)
  progress.version = answer.metadata.resourceVersion ?? ''
  progress.listVersion = progress.version
}

function openWatch<T extends KubeObject>(
  { client, selection, clock, signal, ...at }: Progress<T>,
  isInitial: boolean,
): AsyncIterable<WatchEvent<T>> {
  const start = isInitial
    ? {
        resourceVersion: at.listVersion,
        resourceVersionMatch: 'NotOlderThan' as const,
        sendInitialEvents: true,
      }
    : { resourceVersion: at.version }
  const timeoutSeconds = Math.floor(watchSeconds * (1 + clock.random()))
  return client.watch({ ...selection, ...start, allowWatchBookmarks: true, timeoutSeconds }, signal)
}

async function watch<T extends KubeObject>(progress: Progress<T>): Promise<void> {
  const { sink, clock, initialEventsEnd = '' } = progress
  let events = 0
  const startedAt = clock.now()
  const lasted = (): boolean => clock.now() - startedAt >= shortWatchMs
  let first: Map<string, T> | undefined = progress.needsList ? new Map() : undefined
  try {
    for await (const { type, object } of openWatch(progress, first !== undefined)) {
      if (first !== undefined) {
        if (type !== 'BOOKMARK') collect(first, type, object)
        if (object.metadata.annotations?.[initialEventsEnd] !== 'true') continue
        sink.replace([...first.values()])
        first = undefined
        progress.needsList = false
      }
      if (events === 0) recovered(progress)
      events += 1
      progress.version = object.metadata.resourceVersion ?? progress.version
      progress.listVersion = progress.version
      if (type !== 'BOOKMARK') sink.apply(type, object)
    }
  } catch (error) {
    // A watch that was open and quiet had reached the server, whatever failed before it.
    if (error instanceof ConnectionError && error.code === 'lost' && lasted()) recovered(progress)
    throw error
  }
  if (events === 0 && !lasted()) throw new ConnectionError('lost', 'the watch ended at once')
  recovered(progress)
}

/** An event of a state that is not whole yet. */
function collect<T extends KubeObject>(
  first: Map<string, T>,
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  object: T,
): void {
  if (type === 'DELETED') first.delete(keyOf(object))
  else first.set(keyOf(object), object)
}

/** Ends the back-off. A list alone proves little: a server may answer it and refuse every watch. */
function recovered(progress: RetryState): void {
  if (progress.failures > quickRetriesMs.length) progress.log.info('server reached again')
  progress.failures = 0
  progress.expiries = 0
  progress.backoff.reset()
  progress.expiryBackoff.reset()
}

/** Decides what the next try lists. True if it need not wait: the first after an expired version. */
function mayRetryAtOnce(progress: RetryState, error: unknown): boolean {
  // The server does not know the version (any more, or yet: it was restored), so the next list asks for the newest.
  const { needsList, listVersion } = progress
  if (needsList && progress.mayStream && isStatusError(error, 'Invalid', 'BadRequest')) {
    progress.mayStream = false
    return true
  }
  if (needsList && listVersion !== '' && isStatusError(error, 'Expired', 'Gone', 'Timeout')) {
    progress.listVersion = ''
    return true
  }
  if (isStatusError(error, 'Expired', 'Gone')) {
    progress.needsList = true
    progress.expiries += 1
    return progress.expiries === 1
  }
  // The server went back to an earlier state: it would refuse a watch from this version for as long as that lasts.
  if (isStatusError(error, 'Timeout')) progress.needsList = true
  return false
}

async function pause(progress: RetryState, error: unknown): Promise<void> {
  const { clock, log, signal } = progress
  progress.failures += 1
  const { failures } = progress
  const isExpired = isStatusError(error, 'Expired', 'Gone')
  const isAnswered = isStatusError(error)
  const quickMs = isAnswered && failures > 1 ? undefined : quickRetriesMs[failures - 1]
  const askedMs = isAnswered ? (error.details?.retryAfterSeconds ?? 0) * 1000 : 0
  const waits = isExpired ? progress.expiryBackoff : progress.backoff
  const delayMs = Math.max(quickMs ?? waits.next(), askedMs)
  const fields = { why: messageOf(error), retryInMs: Math.round(delayMs) }
  // Logged once, and then only as often as the longest waits: every informer of a process loses the server at once.
  const isNews = failures === (isAnswered ? 2 : quickRetriesMs.length + 1)
  if (isNews || delayMs >= backoffOptions.maxMs)
    log.warn('cannot list and watch; trying again', fields)
  else log.debug('watch interrupted; trying again', fields)
  await clock.sleep(delayMs, signal)
}
