/** Event correlation, pure: repeated events are counted, many alike are combined, a flood is dropped (client-go record/events_cache). */

export interface EventFacts {
  /** Component, type, reason and object: everything but the message. */
  readonly group: string
  /** Component and object: what the flood limit counts. */
  readonly origin: string
  readonly message: string
}

export interface EventIdentity {
  readonly name: string
  readonly count: number
  readonly firstTimestamp: string
  readonly message: string
}

export type Correlation =
  | { readonly kind: 'drop' }
  | { readonly kind: 'create'; readonly key: string; readonly message: string }
  /** The event exists already: its count and time change. */
  | {
      readonly kind: 'count'
      readonly key: string
      readonly earlier: EventIdentity
      readonly message: string
    }

/** Upstream's limits: different messages combined past 10 within 10 minutes; 25 at once and one per 5 minutes of an object. */
const maxSimilar = 10
const similarWindowMs = 600_000
const burst = 25
const refillMs = 300_000
const maxRemembered = 4096

/** A map that forgets what was used longest ago. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= maxRemembered) return
  const oldest = map.keys().next()
  if (oldest.done !== true) map.delete(oldest.value)
}

export interface EventCorrelator {
  correlate(facts: EventFacts, nowMs: number): Correlation
  /** Remembers the name under which an event now exists. */
  remember(key: string, identity: EventIdentity): void
}

export function createEventCorrelator(): EventCorrelator {
  const groups = new Map<string, { messages: Set<string>; lastMs: number }>()
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  const known = new Map<string, EventIdentity>()

  const isFlood = (origin: string, nowMs: number): boolean => {
    const bucket = buckets.get(origin) ?? { tokens: burst, atMs: nowMs }
    // A clock that was set back takes nothing away.
    const sinceMs = Math.max(0, nowMs - bucket.atMs)
    const tokens = Math.min(burst, bucket.tokens + sinceMs / refillMs)
    const isEmpty = tokens < 1
    remember(buckets, origin, { tokens: isEmpty ? tokens : tokens - 1, atMs: nowMs })
    return isEmpty
  }
  /** The message to file the event under; the same one for all once too many differ. */
  const combine = ({ group, message }: EventFacts, nowMs: number) => {
    const earlier = groups.get(group)
    const isRecent = earlier !== undefined && nowMs - earlier.lastMs <= similarWindowMs
    const messages = isRecent ? earlier.messages : new Set<string>()
    messages.add(message)
    remember(groups, group, { messages, lastMs: nowMs })
    if (messages.size < maxSimilar) return { key: `${group}|${message}`, message }
    // The newest message is shown; which one was the tenth does not matter.
    messages.delete(message)
    while (messages.size >= maxSimilar) messages.delete(messages.values().next().value as string)
    return { key: group, message: `(combined from similar events): ${message}` }
  }

  return {
    correlate: (facts, nowMs) => {
      const { key, message } = combine(facts, nowMs)
      if (isFlood(facts.origin, nowMs)) return { kind: 'drop' }
      const earlier = known.get(key)
      return earlier === undefined
        ? { kind: 'create', key, message }
        : { kind: 'count', key, earlier, message }
    },
    remember: (key, identity) => remember(known, key, identity),
  }
}
