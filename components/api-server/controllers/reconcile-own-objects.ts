/** reconcile-own-objects: how the server updates the objects that it made at an earlier start. */
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import { isLoopback } from '../../machinery/validation/ip-address.ts'

/** Gives the state to write, or undefined when the existing one is right. */
export type Reconcile = (existing: KubeObject, wanted: KubeObject) => KubeObject | undefined

export const keepExisting: Reconcile = () => undefined

const addressesOf = (endpoints: KubeObject): { ip: string }[] =>
  (endpoints['subsets']?.[0]?.addresses ?? []) as { ip: string }[]

/** Keeps the addresses of other servers. A loopback address is this machine's, so an earlier start of this server wrote it. */
function withOwn<T>(held: readonly T[], own: readonly T[], addressOf: (one: T) => string): T[] {
  const owned = new Set(own.map(addressOf))
  const others = held.filter((one) => {
    const address = addressOf(one)
    return !owned.has(address) && !isLoopback(address)
  })
  return [...others, ...own].toSorted((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1))
}

const ifChanged = (existing: KubeObject, updated: KubeObject): KubeObject | undefined =>
  deepEqual(existing, updated) ? undefined : updated

/** Adds this server's address to Endpoints and sets the ports. */
export const addAddress: Reconcile = (existing, wanted) => {
  const [subset] = wanted['subsets'] as { addresses: unknown[] }[]
  const addresses = withOwn(addressesOf(existing), addressesOf(wanted), ({ ip }) => ip)
  return ifChanged(existing, { ...existing, subsets: [{ ...subset, addresses }] })
}

/** Adds this server's address to an EndpointSlice and sets the ports. */
export const addEndpoint: Reconcile = (existing, wanted) => {
  const endpointsOf = (slice: KubeObject) => (slice['endpoints'] ?? []) as { addresses: string[] }[]
  const endpoints = withOwn(
    endpointsOf(existing),
    endpointsOf(wanted),
    ({ addresses }) => addresses[0] ?? '',
  )
  return ifChanged(existing, { ...existing, endpoints, ports: wanted['ports'] as unknown })
}

/** Sets the ports of a Service to those the server listens on. The user owns the other fields. */
export const followPorts: Reconcile = (existing, wanted) => {
  const ports = wanted['spec'].ports as unknown
  return ifChanged(existing, { ...existing, spec: { ...existing['spec'], ports } })
}

/** The server owns the data of a ConfigMap. */
export const replaceData: Reconcile = (existing, wanted) =>
  deepEqual(existing['data'], wanted['data']) ? undefined : { ...existing, data: wanted['data'] }

/** Updates the spec of an object with this label. A user who removes the label keeps the object as it is. */
export const followManagedSpec =
  (label: string): Reconcile =>
  (existing, wanted) => {
    if (existing.metadata.labels?.[label] === undefined) return undefined
    return ifChanged(existing, { ...existing, spec: wanted['spec'] as unknown })
  }

/** The same by an annotation. Without it, only an object of generation 1 is updated (upstream: flowcontrol/ensurer/strategy.go). */
export const followAnnotatedSpec =
  (annotation: string): Reconcile =>
  (existing, wanted) => {
    const { annotations, generation } = existing.metadata
    const follows = annotations?.[annotation] ?? String(generation === 1)
    if (follows !== 'true') return undefined
    const metadata = {
      ...existing.metadata,
      annotations: { ...annotations, [annotation]: follows },
    }
    return ifChanged(existing, { ...existing, metadata, spec: wanted['spec'] as unknown })
  }
