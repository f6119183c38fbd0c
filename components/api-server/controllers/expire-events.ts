/**
 * expire-events: an Event lives for --event-ttl after its last write. The time of writes before the start is unknown, so
 * those Events live from their creation, or from when they were last seen.
 */
import type { Event } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Expiry } from '../../store/expiry.ts'
import { storeKey } from '../watch-cache/store-keys.ts'
import type { Caches } from '../watch-cache/caches.ts'

/** The storage prefix of Events in either group. */
export const eventsResource = 'core/events'

/** Tracks the Events that exist at the start. */
export function expireEvents(options: {
  expiry: Expiry
  cache: Caches
  events: Resource
  ttlMs: number
  clock: Clock
}): void {
  const { expiry, cache, events, ttlMs, clock } = options
  for (const { key } of cache.collection(events).snapshot(cache.of(events).revision).entries('')) {
    const entry = cache.find(events, key)
    if (entry === undefined) continue
    const startMs = lastSeenMs(entry.object() as Event, clock.now())
    expiry.track(storeKey(events, entry.key), entry.revision, startMs + ttlMs)
  }
}

/** Clients set these times, so they may be invalid or in the future. */
function lastSeenMs({ metadata, lastTimestamp, series }: Event, nowMs: number): number {
  const times = [metadata.creationTimestamp, lastTimestamp, series?.lastObservedTime]
    .map((text) => Date.parse(text ?? ''))
    .filter((ms) => !Number.isNaN(ms))
  return Math.min(nowMs, times.length === 0 ? nowMs : Math.max(...times))
}
