/** TaintPacer: nodes waiting for their NoExecute taint, let through at each zone's own rate (upstream: RateLimitedTimedQueue). */

export interface TaintPacer {
  /** Lines the node up, unless it waits already. */
  add(zone: string, node: string): void
  remove(node: string): void
  /** Nodes a second; 0 lets none through. A zone starts with 0. */
  setRate(zone: string, perSecond: number, nowMs: number): void
  /** The nodes whose turn has come; they wait no longer. */
  take(nowMs: number): string[]
  /** Milliseconds until the next turn; undefined when no node waits, or the rate of its zone is 0. */
  nextInMs(nowMs: number): number | undefined
}

interface Zone {
  readonly waiting: Set<string>
  perSecond: number
  /** At most one: a zone that was quiet for long does not lose two nodes at once. */
  tokens: number
  atMs: number
}

export function createTaintPacer(): TaintPacer {
  const zones = new Map<string, Zone>()
  const zoneNamed = (name: string): Zone => {
    const zone = zones.get(name) ?? { waiting: new Set(), perSecond: 0, tokens: 1, atMs: 0 }
    zones.set(name, zone)
    return zone
  }
  const refill = (zone: Zone, nowMs: number): void => {
    // A clock that was set back takes no token away.
    const passedMs = Math.max(0, nowMs - zone.atMs)
    zone.tokens = Math.min(1, zone.tokens + (passedMs / 1000) * zone.perSecond)
    zone.atMs = nowMs
  }
  return {
    add: (zone, node) => void zoneNamed(zone).waiting.add(node),
    remove: (node) => {
      for (const { waiting } of zones.values()) waiting.delete(node)
    },
    setRate: (name, perSecond, nowMs) => {
      const zone = zoneNamed(name)
      refill(zone, nowMs)
      zone.perSecond = perSecond
    },
    take: (nowMs) => {
      const taken: string[] = []
      for (const zone of zones.values()) {
        refill(zone, nowMs)
        const [first] = zone.waiting
        // A token is refilled by sums of fractions, which may come out a hair short.
        if (first === undefined || zone.perSecond <= 0 || zone.tokens < 1 - 1e-9) continue
        zone.tokens -= 1
        zone.waiting.delete(first)
        taken.push(first)
      }
      return taken
    },
    nextInMs: (nowMs) => {
      const waits = [...zones.values()]
        .filter(({ waiting, perSecond }) => waiting.size > 0 && perSecond > 0)
        .map((zone) => {
          refill(zone, nowMs)
          return Math.max(0, ((1 - zone.tokens) / zone.perSecond) * 1000)
        })
      return waits.length === 0 ? undefined : Math.min(...waits)
    },
  }
}
