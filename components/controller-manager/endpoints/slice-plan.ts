/** How endpoints are spread over EndpointSlices with as few changes as possible (upstream: endpointslice/reconciler.go). Pure. */
import type { DiscoveryEndpointPort, Endpoint, EndpointSlice } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { PortCount } from './slice-metrics.ts'

/** Endpoints that serve the same ports. */
export interface EndpointGroup {
  readonly ports: readonly DiscoveryEndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

/** The slices that there will be. */
export interface SliceChanges {
  readonly create: readonly EndpointGroup[]
  readonly update: readonly { readonly slice: EndpointSlice; readonly to: EndpointGroup }[]
  readonly unchanged: readonly EndpointSlice[]
}

export interface SlicePlan extends Omit<SliceChanges, 'unchanged'> {
  readonly remove: readonly EndpointSlice[]
  readonly totals: SlicePlanTotals
}

export interface SlicePlanTotals {
  /** Endpoints that come, change and go, without those of ports that go altogether. */
  readonly added: number
  readonly updated: number
  readonly removed: number
  /** For each set of ports, how many endpoints and slices it has then. */
  readonly ports: readonly PortCount[]
}

/** Gives endpoints their hints. It may move slices from those that stay as they are to those that are updated. */
export type GiveHints = (changes: SliceChanges) => SliceChanges

export function portsKey(ports: readonly DiscoveryEndpointPort[] | undefined): string {
  return (ports ?? [])
    .map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol].join('/'))
    .sort()
    .join()
}

/** The identity of an endpoint, which its conditions do not change. */
function identityOf({ addresses, hostname, targetRef }: Endpoint): string {
  const { namespace, name, uid } = targetRef ?? {}
  return [addresses.toSorted().join('+'), hostname, namespace, name, uid].join('|')
}

function withHintsOf(endpoint: Endpoint, { hints }: Endpoint): Endpoint {
  const { hints: _, ...plain } = endpoint
  return hints === undefined ? plain : { ...plain, hints }
}

interface Draft {
  readonly slice: EndpointSlice
  endpoints: Endpoint[]
  isChanged: boolean
  readonly updated: number
  readonly removed: number
}

/** The slice with only the necessary changes. Removes the endpoints that the slice keeps from `wanted`. */
function keepWanted(slice: EndpointSlice, wanted: Map<string, Endpoint>, isHinted: boolean): Draft {
  const endpoints: Endpoint[] = []
  let [updated, removed] = [0, 0]
  for (const old of slice.endpoints ?? []) {
    const id = identityOf(old)
    const found = wanted.get(id)
    // Hints that are given later are no change of an endpoint.
    const now = isHinted && found !== undefined ? withHintsOf(found, old) : found
    wanted.delete(id)
    if (now === undefined) removed += 1
    else {
      endpoints.push(now)
      if (!deepEqual(old, now)) updated += 1
    }
  }
  return { slice, endpoints, isChanged: updated + removed > 0, updated, removed }
}

/** Adds what no slice has yet: to slices that change anyway, then to the fullest one with room, then to new ones. */
function place(drafts: readonly Draft[], left: Endpoint[], max: number): Endpoint[][] {
  for (const draft of drafts) {
    if (!draft.isChanged || draft.endpoints.length === 0) continue
    draft.endpoints.push(...left.splice(0, Math.max(0, max - draft.endpoints.length)))
  }
  const created: Endpoint[][] = []
  while (left.length >= max) created.push(left.splice(0, max))
  if (left.length === 0) return created
  const [fullest] = drafts
    .filter(({ endpoints }) => endpoints.length > 0 && endpoints.length + left.length <= max)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)
  if (fullest === undefined) return [...created, left.splice(0)]
  fullest.endpoints.push(...left.splice(0))
  fullest.isChanged = true
  return created
}

export interface SlicePlanOptions {
  /** Most endpoints in one slice. */
  readonly max: number
  /** Keeps one empty slice, which shows that a Service without endpoints was processed. */
  readonly keepsOne: boolean
  /** Absent: endpoints come with their hints. */
  readonly giveHints?: GiveHints | undefined
}

/** The changes that bring the slices of one address type to the wanted endpoints. */
export function planSlices(
  existing: readonly EndpointSlice[],
  groups: readonly EndpointGroup[],
  { max, keepsOne, giveHints }: SlicePlanOptions,
): SlicePlan {
  const create: EndpointGroup[] = []
  const update: { slice: EndpointSlice; to: EndpointGroup }[] = []
  const remove: EndpointSlice[] = []
  const kept: EndpointSlice[] = []
  const totals = { added: 0, updated: 0, removed: 0, ports: [] as PortCount[] }
  const byPorts = Map.groupBy(existing, ({ ports }) => portsKey(ports))
  for (const { ports, endpoints } of groups) {
    if (endpoints.length === 0) continue
    const key = portsKey(ports)
    const wanted = new Map(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]))
    const isHinted = giveHints !== undefined
    const drafts = (byPorts.get(key) ?? []).map((slice) => keepWanted(slice, wanted, isHinted))
    byPorts.delete(key)
    totals.added += wanted.size
    for (const { updated, removed } of drafts) {
      totals.updated += updated
      totals.removed += removed
    }
    const created = place(drafts, [...wanted.values()], max)
    create.push(...created.map((some) => ({ ports, endpoints: some })))
    for (const draft of drafts) {
      if (draft.endpoints.length === 0) remove.push(draft.slice)
      else if (draft.isChanged)
        update.push({ slice: draft.slice, to: { ports, endpoints: draft.endpoints } })
      else kept.push(draft.slice)
    }
    const filled = drafts.filter((draft) => draft.endpoints.length > 0).length
    totals.ports.push({ endpoints: endpoints.length, slices: created.length + filled })
  }
  for (const slices of byPorts.values()) remove.push(...slices)
  if (keepsOne && kept.length + update.length + create.length === 0) {
    const isPlaceholder = ({ endpoints, ports }: EndpointSlice): boolean =>
      (endpoints ?? []).length === 0 && (ports ?? []).length === 0
    const placeholder = remove.find(isPlaceholder)
    if (placeholder === undefined) create.push({ ports: [], endpoints: [] })
    else remove.splice(remove.indexOf(placeholder), 1)
    totals.ports.push({ endpoints: 0, slices: 1 })
  }
  // A slice that would go is worth a new one that would come.
  while (remove.length > 0 && create.length > 0) {
    const slice = remove.shift() as EndpointSlice
    update.push({ slice, to: create.shift() as EndpointGroup })
  }
  if (giveHints === undefined) return { create, update, remove, totals }
  const hinted = giveHints({ create, update, unchanged: kept })
  return { create: hinted.create, update: hinted.update, remove, totals }
}
