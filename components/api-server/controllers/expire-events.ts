/**
 * expire-events: Events live for a time (--event-ttl) from their last write on. Of one from before the start that is not known;
 * it lives from when it was made, or was last seen if that was later.
 */
import type { Event } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Expiry } from '../../store/expiry.ts'
import { storeKey, type WatchCache } from '../watch-cache/watch-cache.ts'

/** Where they are stored, whichever group they are asked for in. */
export const eventsResource = 'core/events'

/** Tracks Events, and tells expiry of those that were there before. */
export function expireEvents(options: {
  expiry: Expiry
  cache: WatchCache
  events: Resource
  ttlMs: number
  clock: Clock
}): void {
  const { expiry, cache, events, ttlMs, clock } = options
  for (const { key } of cache.collection(events).snapshot(cache.revision).entries('')) {
    const entry = cache.find(events, key)
    if (entry === undefined) continue
    const startMs = lastSeenMs(entry.object() as Event, clock.now())
    expiry.track(storeKey(events, entry.key), entry.revision, startMs + ttlMs)
  }
}

/** Clients say when they saw it, so it may be no time at all, or one that is yet to come. */
function lastSeenMs({ metadata, lastTimestamp, series }: Event, nowMs: number): number {
  const times = [metadata.creationTimestamp, lastTimestamp, series?.lastObservedTime]
    .map((text) => Date.parse(text ?? ''))
    .filter((ms) => !Number.isNaN(ms))
  return Math.min(nowMs, times.length === 0 ? nowMs : Math.max(...times))
}
