/** How endpoints are spread over EndpointSlices with as few changes as possible (upstream: endpointslice/reconciler.go). Pure. */
import type { DiscoveryEndpointPort, Endpoint, EndpointSlice } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'

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
}

/** The slice with only the necessary changes. Removes the endpoints that the slice keeps from `wanted`. */
function keepWanted(slice: EndpointSlice, wanted: Map<string, Endpoint>, isHinted: boolean): Draft {
  const endpoints: Endpoint[] = []
  let isChanged = false
  for (const old of slice.endpoints ?? []) {
    const id = identityOf(old)
    const found = wanted.get(id)
    // Hints that are given later are no change of an endpoint.
    const now = isHinted && found !== undefined ? withHintsOf(found, old) : found
    wanted.delete(id)
    if (now !== undefined) endpoints.push(now)
    if (now === undefined || !deepEqual(old, now)) isChanged = true
  }
  return { slice, endpoints, isChanged }
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
  const byPorts = Map.groupBy(existing, ({ ports }) => portsKey(ports))
  for (const { ports, endpoints } of groups) {
    if (endpoints.length === 0) continue
    const key = portsKey(ports)
    const wanted = new Map(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]))
    const isHinted = giveHints !== undefined
    const drafts = (byPorts.get(key) ?? []).map((slice) => keepWanted(slice, wanted, isHinted))
    byPorts.delete(key)
    const created = place(drafts, [...wanted.values()], max)
    create.push(...created.map((some) => ({ ports, endpoints: some })))
    for (const draft of drafts) {
      if (draft.endpoints.length === 0) remove.push(draft.slice)
      else if (draft.isChanged)
        update.push({ slice: draft.slice, to: { ports, endpoints: draft.endpoints } })
      else kept.push(draft.slice)
    }
  }
  for (const slices of byPorts.values()) remove.push(...slices)
  if (keepsOne && kept.length + update.length + create.length === 0) {
    const isPlaceholder = ({ endpoints, ports }: EndpointSlice): boolean =>
      (endpoints ?? []).length === 0 && (ports ?? []).length === 0
    const placeholder = remove.find(isPlaceholder)
    if (placeholder === undefined) create.push({ ports: [], endpoints: [] })
    else remove.splice(remove.indexOf(placeholder), 1)
  }
  // A slice that would go is worth a new one that would come.
  while (remove.length > 0 && create.length > 0) {
    const slice = remove.shift() as EndpointSlice
    update.push({ slice, to: create.shift() as EndpointGroup })
  }
  if (giveHints === undefined) return { create, update, remove }
  const hinted = giveHints({ create, update, unchanged: kept })
  return { create: hinted.create, update: hinted.update, remove }
}
