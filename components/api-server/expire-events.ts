/** expire-events: Events live for a time (--event-ttl), counted from their creation, over restarts too. */
import type { Clock } from '../component-base/clock.ts'
import type { Resource } from '../machinery/resource.ts'
import type { Expiry } from '../store/expiry.ts'
import { storeKey, type WatchCache } from './watch-cache/watch-cache.ts'

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
    const { creationTimestamp } = entry.object().metadata
    const bornAtMs = Date.parse(creationTimestamp ?? '')
    const startMs = Number.isNaN(bornAtMs) ? clock.now() : bornAtMs
    expiry.track(storeKey(events, entry.key), entry.revision, startMs + ttlMs)
  }
}
