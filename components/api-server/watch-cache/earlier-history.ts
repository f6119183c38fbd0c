/** Earlier history: commits from before the cache began, which the store still has, as events of its collections. */
import { StoreError, type KeyValue, type Store, type StoreEvent } from '../../store/store.ts'
import { CacheEvent, canDecode, Entry } from './entry.ts'
import type { Unreadable } from './unreadable.ts'

/**
 * All commits after `after` and up to `upTo`, oldest first; undefined when the store has compacted some of them. Both are
 * revisions that the store has had.
 */
export async function commitsBetween(
  store: Store,
  { after, upTo }: { after: number; upTo: number },
): Promise<readonly StoreEvent[] | undefined> {
  if (after >= upTo) return []
  const commits: StoreEvent[] = []
  const { signal } = new AbortController()
  try {
    await store.watch({ prefix: '', fromRevision: after, until: upTo, signal }, (events) => {
      for (const event of events) if (revisionOf(event) <= upTo) commits.push(event)
    })
  } catch (error) {
    if (error instanceof StoreError && error.code === 'compacted') return undefined
    throw error
  }
  return commits
}

function revisionOf(event: StoreEvent): number {
  return event.type === 'put' ? event.kv.modRevision : event.revision
}

type Place = { readonly prefix: string; readonly key: string }

export interface EventReading {
  placeOf(storeKeyText: string): Place | undefined
  read(kv: KeyValue, place: Place): Entry | Unreadable
  /** The newest entry of a key, so that the same revision is not in memory twice. */
  known(place: Place): Entry | undefined
  readonly appliedAtMs: number
}

/** The events of the commits, oldest first, by collection; undefined for a collection of which something cannot be read. */
export function eventsByCollection(
  commits: readonly StoreEvent[],
  how: EventReading,
): Map<string, CacheEvent[] | undefined> {
  const { appliedAtMs } = how
  const byPrefix = new Map<string, CacheEvent[] | undefined>()
  const newest = new Map<string, Entry>()

  function entryOf(kv: KeyValue, place: Place): Entry | undefined {
    for (const there of [newest.get(kv.key), how.known(place)]) {
      if (there?.revision === kv.modRevision) return there
    }
    const read = how.read(kv, place)
    if (!(read instanceof Entry)) return undefined
    // The bytes are not decoded yet, and watchers must be able to decode them.
    read.isProven = false
    return read
  }

  for (const event of commits) {
    const place = how.placeOf(event.type === 'put' ? event.kv.key : event.key)
    if (place === undefined) continue
    const events = byPrefix.has(place.prefix) ? byPrefix.get(place.prefix) : []
    byPrefix.set(place.prefix, events)
    if (events === undefined) continue
    const entry = event.type === 'put' ? entryOf(event.kv, place) : undefined
    const previous = event.previous === undefined ? undefined : entryOf(event.previous, place)
    const isRead =
      (event.type === 'delete' || (entry !== undefined && canDecode(entry))) &&
      (event.previous === undefined || (previous !== undefined && canDecode(previous)))
    if (!isRead) {
      byPrefix.set(place.prefix, undefined)
      continue
    }
    if (event.type === 'put' && entry !== undefined) newest.set(event.kv.key, entry)
    events.push(new CacheEvent({ revision: revisionOf(event), entry, previous, appliedAtMs }))
  }
  return byPrefix
}
