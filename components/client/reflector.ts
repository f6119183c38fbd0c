/** Reflector: keeps a sink equal to what the server has: list, watch, resume where the watch ended, list again when it cannot. */
import { createBackoff } from '../component-base/backoff.ts'
import type { Clock } from '../component-base/clock.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import { ConnectionError } from './connection-error.ts'
import type { ListOptions, ResourceClient, WatchEvent } from './resource-client.ts'

export interface ReflectorSink<T> {
  /** The whole state: what is not in it is gone. */
  replace(objects: readonly T[]): void
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<ResourceClient<T>, 'list' | 'watch' | 'resource'>
  readonly selection: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>
  readonly sink: ReflectorSink<T>
  readonly clock: Clock
  readonly log: Log
}

/** Upstream's reflector waits 0.8 s up to 30 s. */
const backoffOptions = { initialMs: 800, maxMs: 30_000, jitter: 1 }
/** Before that: a server that is restarted is back in less, and a refused connection costs nobody anything. */
const quickRetriesMs = [50, 100, 200, 400]
/** How long upstream asks a watch to last: at least this, at most twice. */
const watchSeconds = 300
/** A watch that ended sooner without an event counts as a failure. */
const shortWatchMs = 1000

/** Runs until `signal` aborts, whatever happens to the server. The sink is called synchronously and must not throw. */
export async function runReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, selection, sink, clock } = options
  const log = options.log.with({ resource: client.resource.plural })
  const backoff = createBackoff(backoffOptions, () => clock.random())
  /** Of its own: a server that was away for long and has forgotten meanwhile is asked soon. */
  const expiryBackoff = createBackoff(backoffOptions, () => clock.random())
  /** Where the next watch starts. */
  let version = ''
  /** What the next list asks for: `0` is any state, a version is not older than it, '' is the newest. */
  let listVersion = '0'
  let failures = 0
  let expiries = 0

  /** A list alone proves little: a server may answer it and refuse every watch. */
  const recovered = (): void => {
    if (failures > quickRetriesMs.length) log.info('server reached again')
    failures = 0
    expiries = 0
    backoff.reset()
    expiryBackoff.reset()
  }
  const pause = async (error: unknown): Promise<void> => {
    failures += 1
    const isExpired = isStatusError(error, 'Expired', 'Gone')
    const isAnswered = isStatusError(error)
    const quickMs = isAnswered && failures > 1 ? undefined : quickRetriesMs[failures - 1]
    const askedMs = isAnswered ? (error.details?.retryAfterSeconds ?? 0) * 1000 : 0
    const waits = isExpired ? expiryBackoff : backoff
    const delayMs = Math.max(quickMs ?? waits.next(), askedMs)
    const fields = { why: messageOf(error), retryInMs: Math.round(delayMs) }
    // Said once, and then only as often as the longest waits: every informer of a process loses the server at once.
    const isNews = failures === (isAnswered ? 2 : quickRetriesMs.length + 1)
    if (isNews || delayMs >= backoffOptions.maxMs)
      log.warn('cannot list and watch; trying again', fields)
    else log.debug('watch interrupted; trying again', fields)
    await clock.sleep(delayMs, signal)
  }

  const list = async (): Promise<void> => {
    const answer = await client.list({ ...selection, resourceVersion: listVersion }, signal)
    sink.replace(answer.items)
    version = answer.metadata.resourceVersion ?? ''
    listVersion = version
  }

  const watch = async (): Promise<void> => {
    let events = 0
    const startedAt = clock.now()
    const lasted = (): boolean => clock.now() - startedAt >= shortWatchMs
    const stream: AsyncIterable<WatchEvent<T>> = client.watch(
      {
        ...selection,
        resourceVersion: version,
        allowWatchBookmarks: true,
        timeoutSeconds: Math.floor(watchSeconds * (1 + clock.random())),
      },
      signal,
    )
    try {
      for await (const { type, object } of stream) {
        if (events === 0) recovered()
        events += 1
        version = object.metadata.resourceVersion ?? version
        listVersion = version
        if (type !== 'BOOKMARK') sink.apply(type, object)
      }
    } catch (error) {
      // A watch that was open and quiet had reached the server, whatever went before it.
      if (error instanceof ConnectionError && error.code === 'lost' && lasted()) recovered()
      throw error
    }
    if (events === 0 && !lasted()) throw new ConnectionError('lost', 'the watch ended at once')
    recovered()
  }

  for (let needsList = true; !signal.aborted;) {
    try {
      if (needsList) await list()
      needsList = false
      await watch()
    } catch (error) {
      if (signal.aborted) return
      // A version the server does not know (any more, or yet: it was restored) cannot be asked for again: the newest is, at once.
      if (needsList && listVersion !== '' && isStatusError(error, 'Expired', 'Gone', 'Timeout')) {
        listVersion = ''
        continue
      }
      if (isStatusError(error, 'Expired', 'Gone')) {
        needsList = true
        expiries += 1
        if (expiries === 1) continue
      }
      // The server went back to an earlier state: a watch from there would be refused for as long as that lasts.
      if (isStatusError(error, 'Timeout')) needsList = true
      try {
        await pause(error)
      } catch {
        // Only an abort ends the sleep early.
        return
      }
    }
  }
}
