/**
 * Hints of `topology-mode: Auto`: which zone's traffic each endpoint should take, in proportion to the zones' CPU
 * (upstream: staging/src/k8s.io/endpointslice/topologycache; KEP-2433). Pure.
 */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Endpoint, EndpointSlice, Node } from '../../api/generated/types.ts'
import { quantityMilliValue } from '../../machinery/values/quantity.ts'
import { findCondition } from '../conditions.ts'
import type { EndpointGroup, SliceChanges } from './slice-plan.ts'

/** A zone may get this much more traffic for each endpoint than on average. */
const overloadThreshold = 0.2

/** Each zone's share of the CPU of all zones. */
export type ZoneShares = ReadonlyMap<string, number>
/** Endpoints with a hint for a zone. */
export type HintCounts = ReadonlyMap<string, number>

export type HintOutcome =
  | { readonly changes: SliceChanges; readonly counts: HintCounts }
  /** Why there are no hints; the changes take away those that there were. */
  | { readonly changes: SliceChanges; readonly why: string }

interface Allocation {
  readonly minimum: number
  readonly maximum: number
  readonly desired: number
}

const leastOf = (desired: number): number => Math.ceil(desired * (1 / (1 + overloadThreshold)))

/** Undefined when a ready node has no zone or no CPU, and when there are fewer than two zones. */
export function zoneSharesOf(nodes: readonly Node[], dialect: Dialect): ZoneShares | undefined {
  const excluded = ['control-plane', 'master'].map((role) => labelKey(dialect, 'node-role', role))
  const zoneLabel = labelKey(dialect, 'topology', 'zone')
  const cpuByZone = new Map<string, number>()
  let total = 0
  for (const { metadata, status } of nodes) {
    const { labels = {} } = metadata
    if (excluded.some((label) => labels[label] !== undefined)) continue
    if (findCondition(status?.conditions, 'Ready')?.status !== 'True') continue
    const cpu = quantityMilliValue(status?.allocatable?.['cpu'] ?? '0')
    const zone = labels[zoneLabel]
    if (!zone || cpu === 0) return undefined
    cpuByZone.set(zone, (cpuByZone.get(zone) ?? 0) + cpu)
    total += cpu
  }
  if (cpuByZone.size < 2) return undefined
  const zones = [...cpuByZone].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return new Map(zones.map(([zone, cpu]) => [zone, cpu / total]))
}

/** Whether a zone has fewer endpoints than it may have at least. */
export function isOverloaded(counts: HintCounts, shares: ZoneShares | undefined): boolean {
  if (counts.size === 0) return false
  if (shares === undefined) return true
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...shares].some(([zone, share]) => {
    const count = counts.get(zone)
    return count === undefined || count < leastOf(total * share)
  })
}

/** How many endpoints each zone is to have; a text for why not. */
function allocate(count: number, shares: ZoneShares | undefined): Map<string, Allocation> | string {
  if (shares === undefined)
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'
  const sizes = `(${count} endpoints, ${shares.size} zones)`
  if (shares.size > count) return `Insufficient number of endpoints ${sizes}`
  const least = new Map([...shares].map(([zone, share]) => [zone, leastOf(share * count)]))
  const spare = count - [...least.values()].reduce((sum, minimum) => sum + minimum, 0)
  if (spare < 0) {
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${sizes}`
  }
  return new Map(
    [...least].map(([zone, minimum]) => {
      const desired = Math.max((shares.get(zone) ?? 0) * count, minimum)
      return [zone, { minimum, maximum: minimum + spare, desired }]
    }),
  )
}

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready === true
const zonesIn = ({ hints }: Endpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name)

function withHint(endpoint: Endpoint, zone: string | undefined): Endpoint {
  const { hints: _, ...plain } = endpoint
  return zone === undefined ? plain : { ...plain, hints: { forZones: [{ name: zone }] } }
}

/** The hints of a slice that stays as it is; undefined when it has to change. */
function keptHints(
  { endpoints }: EndpointSlice,
  counts: HintCounts,
  allocations: ReadonlyMap<string, Allocation>,
): HintCounts | undefined {
  const own = new Map<string, number>()
  for (const endpoint of (endpoints ?? []).filter(isReady)) {
    const zones = zonesIn(endpoint)
    if (zones.length === 0 || !zones.every((zone) => allocations.has(zone))) return undefined
    for (const zone of zones) own.set(zone, (own.get(zone) ?? 0) + 1)
  }
  const fits = [...own].every(
    ([zone, count]) => count + (counts.get(zone) ?? 0) <= (allocations.get(zone)?.maximum ?? 0),
  )
  return fits ? own : undefined
}

function most(zones: ReadonlyMap<string, number>): { zone: string | undefined; count: number } {
  let found: { zone: string | undefined; count: number } = { zone: undefined, count: 0 }
  for (const [zone, count] of zones) if (count > found.count) found = { zone, count }
  return found
}

/** How many endpoints zones give away and get. */
function exchange(allocations: ReadonlyMap<string, Allocation>, counts: HintCounts) {
  const [surplus, lack] = [new Map<string, number>(), new Map<string, number>()]
  for (const [zone, { desired }] of allocations) {
    const count = counts.get(zone) ?? 0
    if (count > desired) surplus.set(zone, count - desired)
    else if (count < desired) lack.set(zone, desired - count)
  }
  const [giving, receiving] = [new Map<string, number>(), new Map<string, number>()]
  for (;;) {
    const [from, to] = [most(surplus), most(lack)]
    if (from.zone === undefined || to.zone === undefined) break
    if ((from.count < 1 && to.count < 1) || from.count < 0.5 || to.count < 0.5) break
    giving.set(from.zone, (giving.get(from.zone) ?? 0) + 1)
    surplus.set(from.zone, from.count - 1)
    receiving.set(to.zone, (receiving.get(to.zone) ?? 0) + 1)
    lack.set(to.zone, to.count - 1)
  }
  return { giving, receiving }
}

function withEndpoints(
  { create, update, unchanged }: SliceChanges,
  change: (endpoint: Endpoint) => Endpoint,
): SliceChanges {
  const changed = (group: EndpointGroup): EndpointGroup => ({
    ...group,
    endpoints: group.endpoints.map(change),
  })
  return {
    create: create.map(changed),
    update: update.map(({ slice, to }) => ({ slice, to: changed(to) })),
    unchanged,
  }
}

const asUpdate = (slice: EndpointSlice): SliceChanges['update'][number] => ({
  slice,
  to: { ports: slice.ports ?? [], endpoints: slice.endpoints ?? [] },
})

/** The changes without any hints. */
function withoutHints({ create, update, unchanged }: SliceChanges): SliceChanges {
  const hasHints = ({ endpoints }: EndpointSlice): boolean =>
    (endpoints ?? []).some(({ hints }) => hints !== undefined)
  const [more, left] = [unchanged.filter(hasHints), unchanged.filter((one) => !hasHints(one))]
  const all = { create, update: [...update, ...more.map(asUpdate)], unchanged: left }
  return withEndpoints(all, (endpoint) => withHint(endpoint, undefined))
}

function endpointsOf({ create, update }: SliceChanges): Endpoint[] {
  return [...create, ...update.map(({ to }) => to)].flatMap(({ endpoints }) => endpoints)
}

/** Moves slices whose hints do not fit to those that change; also the hints of the others. */
function split(changes: SliceChanges, allocations: ReadonlyMap<string, Allocation>) {
  const counts = new Map<string, number>()
  const unchanged: EndpointSlice[] = []
  const update = [...changes.update]
  for (const slice of changes.unchanged) {
    const own = keptHints(slice, counts, allocations)
    if (own === undefined) {
      update.push(asUpdate(slice))
      continue
    }
    unchanged.push(slice)
    for (const [zone, count] of own) counts.set(zone, (counts.get(zone) ?? 0) + count)
  }
  return { changes: { create: changes.create, update, unchanged }, counts }
}

/** The zone whose traffic an endpoint takes over from its own, if there is one. */
function createGiver({ giving, receiving }: ReturnType<typeof exchange>) {
  const takeOne = (from: Map<string, number>, zone: string): void => {
    const left = (from.get(zone) ?? 0) - 1
    if (left <= 0) from.delete(zone)
    else from.set(zone, left)
  }
  return (zone: string): string | undefined => {
    const [to] = receiving.keys()
    if (to === undefined || !giving.has(zone)) return undefined
    takeOne(giving, zone)
    takeOne(receiving, to)
    return to
  }
}

/** The changes with hints in every slice, or without any where hints cannot be given. */
export function hintByZones(given: SliceChanges, shares: ZoneShares | undefined): HintOutcome {
  const ready = [
    ...endpointsOf(given),
    ...given.unchanged.flatMap(({ endpoints }) => endpoints ?? []),
  ].filter(isReady)
  const allocations = allocate(ready.length, shares)
  if (typeof allocations === 'string') return { changes: withoutHints(given), why: allocations }
  const { changes, counts } = split(given, allocations)
  const changing = endpointsOf(changes).filter(isReady)
  if (changing.some(({ zone }) => !zone)) {
    const why = 'One or more endpoints do not have a zone specified'
    return { changes: withoutHints(changes), why }
  }
  const add = (zone: string, more: number): void =>
    void counts.set(zone, (counts.get(zone) ?? 0) + more)
  for (const { zone = '' } of changing) add(zone, 1)
  const give = createGiver(exchange(allocations, counts))
  const hinted = withEndpoints(changes, (endpoint) => {
    const { zone = '' } = endpoint
    if (!isReady(endpoint)) return withHint(endpoint, undefined)
    const to = give(zone)
    if (to === undefined) return withHint(endpoint, zone)
    add(to, 1)
    add(zone, -1)
    return withHint(endpoint, to)
  })
  if (counts.size === 0)
    return { changes: withoutHints(changes), why: 'No hints allocated for zones' }
  return { changes: hinted, counts }
}
