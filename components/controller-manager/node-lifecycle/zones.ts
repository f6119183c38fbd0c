/** Zones: how many of whose nodes are down decides how fast pods are taken off them (upstream: handleDisruption). Pure. */
import type { Node } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'

export type ZoneState = 'normal' | 'partial-disruption' | 'full-disruption'

/** The zone's name; '' for a node that says nothing of where it is. */
export function zoneOf(node: Node, dialect: Dialect): string {
  const { labels = {} } = node.metadata
  const place = (name: string): string =>
    labels[labelKey(dialect, 'topology', name)] ??
    labels[labelKey(dialect, 'failure-domain.beta', name)] ??
    ''
  const region = place('region')
  const zone = place('zone')
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`
}

/** `unhealthyShare` of the nodes down, and more than two of them, is a partial disruption. */
export function zoneState(
  nodes: { readonly ready: number; readonly notReady: number },
  unhealthyShare: number,
): ZoneState {
  const { ready, notReady } = nodes
  if (ready === 0 && notReady > 0) return 'full-disruption'
  const isPartial = notReady > 2 && notReady / (ready + notReady) >= unhealthyShare
  return isPartial ? 'partial-disruption' : 'normal'
}

/**
 * What to make of a change of the zones' states. `halt`: no node of any zone answers, so the fault is rather here than there
 * and no pod is to go. `resume`: the first node answers after that, so all start afresh. `adjust`: the zones' rates follow
 * their states.
 */
export type Disruption = 'none' | 'halt' | 'resume' | 'adjust'

export function disruptionOf(
  before: ReadonlyMap<string, ZoneState>,
  after: ReadonlyMap<string, ZoneState>,
): Disruption {
  const isFull = (states: ReadonlyMap<string, ZoneState>): boolean =>
    [...states.values()].every((state) => state === 'full-disruption')
  // A zone that is new here counts as well until now.
  const known = new Map([...after.keys()].map((zone) => [zone, before.get(zone) ?? 'normal']))
  const was = before.size > 0 && isFull(known as ReadonlyMap<string, ZoneState>)
  const is = after.size > 0 && isFull(after)
  if (is && was) return 'none'
  if (is) return 'halt'
  return was ? 'resume' : 'adjust'
}

export interface EvictionRates {
  /** Nodes a second. */
  readonly normal: number
  readonly secondary: number
  /** Zones with at most so many nodes evict nothing while partly down. */
  readonly largeClusterSize: number
}

/** Nodes a second whose pods may be taken off. */
export function evictionRate(state: ZoneState, nodes: number, rates: EvictionRates): number {
  if (state !== 'partial-disruption') return rates.normal
  return nodes > rates.largeClusterSize ? rates.secondary : 0
}
