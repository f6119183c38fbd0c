/** follow-store: hands on a store's events, and reads its state anew when history that was not seen yet is compacted away. */
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import {
  isRefusal,
  StoreError,
  type KeyValue,
  type Store,
  type StoreEvent,
} from '../../store/store.ts'

const pageKeys = 2000

/** All that is stored below a prefix, in pages that read one revision. */
export async function* storedPages(
  store: Store,
  prefix: string,
): AsyncGenerator<{ kvs: readonly KeyValue[]; revision: number }> {
  let from: string | undefined
  let atRevision: number | undefined
  for (;;) {
    const page = await store.range({
      prefix,
      limit: pageKeys,
      ...(from === undefined ? {} : { from }),
      ...(atRevision === undefined ? {} : { atRevision }),
    })
    atRevision ??= page.revision
    yield { kvs: page.kvs, revision: atRevision }
    const last = page.kvs.at(-1)
    if (!page.more || last === undefined) return
    from = `${last.key}\0`
  }
}

export interface StoreFollower<State> {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly prefix: string
  /** The revision to go on from. */
  revision(): number
  receive(events: readonly StoreEvent[]): void
  /** Resolves when everything received is applied. */
  settled(): Promise<void>
  readState(): Promise<State>
  /** Takes a newer state in the place of the events that are lost. */
  beginAgain(state: State): void
}

/** Ends when `signal` aborts, or fails with the store. */
export async function followStore<State>(
  follower: StoreFollower<State>,
  signal: AbortSignal,
): Promise<void> {
  const { store, log, prefix } = follower
  for (;;) {
    const fromRevision = follower.revision()
    try {
      await store.watch({ prefix, fromRevision, signal }, (events) => follower.receive(events))
      return
    } catch (error) {
      if (!isCompacted(error) || signal.aborted) throw error
    }
    log.warn('history was compacted before it was seen: the state is read anew', { fromRevision })
    await follower.settled()
    const state = await readAnew(follower, signal)
    if (state === undefined) return
    follower.beginAgain(state)
  }
}

/** Tries until the store can be read; undefined when `signal` aborts. */
async function readAnew<State>(
  { clock, log, readState }: StoreFollower<State>,
  signal: AbortSignal,
): Promise<State | undefined> {
  const backoff = createBackoff({ initialMs: 100, maxMs: 5000 }, () => clock.random())
  while (!signal.aborted) {
    try {
      return await readState()
    } catch (error) {
      if (!isCompacted(error) && !isRefusal(error)) throw error
      log.warn('the state cannot be read anew, and is tried again', { error })
    }
    await clock.sleep(backoff.next(), signal).catch(() => {})
  }
  return undefined
}

/** Also of a page whose revision was compacted away since the first. */
function isCompacted(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'compacted'
}

/** Of a wait for what will not come. */
export function noLongerFollows(): StoreError {
  const reason = 'it no longer follows the store'
  return new StoreError('closed', `the server is ending: ${reason}`, { reason })
}
