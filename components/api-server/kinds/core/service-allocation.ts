/** Gives a Service its addresses, node ports and families (upstream: pkg/registry/core/service/storage/alloc.go). */
import type { Service, ServiceSpec } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { formatIpAddress, parseIpAddress } from '../../../machinery/validation/ip-address.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { internalError, invalid } from '../../../machinery/objects/status-error.ts'
import type { AllocationRequest } from './reservations.ts'
import { inUse, type ServiceAllocator } from './service-allocator.ts'
import {
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePort,
  noClusterIp,
} from './service-fields.ts'
import { validateClusterIps } from './service-validation.ts'

/** Ends what began with a write: `isWritten` says whether it took place. */
type Finish = (isWritten: boolean) => Promise<void>

/** The addresses that the Service has of this cluster. */
function addressesOf(service: Service | undefined): readonly string[] {
  const spec = service?.spec
  if (spec === undefined || !needsClusterIp(spec) || isHeadless(spec)) return []
  return (spec.clusterIPs ?? []).flatMap((text) => {
    const address = parseIpAddress(text)
    return address === undefined ? [] : [formatIpAddress(address)]
  })
}

/**
 * Records the addresses that the Service has and `old` had not. The result removes those records if the write fails, or else
 * those of addresses that the Service no longer has. Throws Invalid for an address that was recorded in the meantime.
 */
export async function recordAddresses(
  { object, old }: { readonly object: Service; readonly old: Service | undefined },
  { records }: ServiceAllocator,
): Promise<Finish | undefined> {
  if (records === undefined) return undefined
  const [now, before] = [addressesOf(object), addressesOf(old)]
  const added = now.filter((address) => !before.includes(address))
  const removed = before.filter((address) => !now.includes(address))
  const taken = await records.add(object, added)
  if (taken !== undefined) {
    const root = FieldPath.root()
    const at = root.child('spec').child('clusterIPs').index(now.indexOf(taken))
    at.invalid(goList(object.spec?.clusterIPs), `failed to allocate IP ${taken}: ${inUse}`)
    refuse(object, root)
  }
  return (isWritten) => records.remove(isWritten ? removed : added)
}

/** Removes the records of a Service that is gone. */
export async function forgetAddresses(
  service: Service,
  { records }: ServiceAllocator,
): Promise<void> {
  await records?.remove(addressesOf(service))
}

export interface Allocation {
  readonly allocator: ServiceAllocator
  readonly request: AllocationRequest
}

function refuse(object: KubeObject, root: FieldPath): void {
  if (root.errors.length === 0) return
  throw invalid({ group: '', kind: 'Service' }, object.metadata.name ?? '', root.errors)
}

/** Throws Invalid for what the cluster cannot give, InternalError when a pool is exhausted. */
export function allocateForCreate(service: Service, allocation: Allocation): void {
  const { spec } = service
  if (!spec) return
  chooseFamilies(service, spec, allocation)
  if (needsClusterIp(spec)) allocateAddresses(service, spec, allocation)
  if (needsNodePort(spec)) allocateNodePorts(service, spec, allocation)
  if (needsHealthCheckPort(spec)) allocateHealthCheckPort(spec, allocation)
}

/** Addresses and ports of the old state are kept and not allocated again. */
export function allocateForUpdate(service: Service, old: Service, allocation: Allocation): void {
  const { spec } = service
  const before = old.spec ?? {}
  if (!spec) return
  chooseFamilies(service, spec, allocation)
  if (needsClusterIp(spec) && !needsClusterIp(before)) {
    allocateAddresses(service, spec, allocation)
  }
  if (needsNodePort(spec)) updateNodePorts(service, { spec, before }, allocation)
  if (needsHealthCheckPort(spec) && !needsHealthCheckPort(before)) {
    allocateHealthCheckPort(spec, allocation)
  }
}

/** Settles `ipFamilies` and `ipFamilyPolicy` of a cluster with one family. */
function chooseFamilies(service: Service, spec: ServiceSpec, { allocator }: Allocation): void {
  if (spec.type === 'ExternalName') return
  const root = FieldPath.root()
  const at = root.child('spec')
  validateClusterIps(spec, at)
  refuse(service, root)
  const { clusterIPs = [] } = spec
  if (spec.ipFamilyPolicy === 'SingleStack') {
    const needed = (what: string) =>
      `must be RequireDualStack or PreferDualStack when multiple ${what} are specified`
    const policyAt = at.child('ipFamilyPolicy')
    if (spec.ipFamilies?.length === 2) policyAt.invalid('SingleStack', needed('IP families'))
    if (clusterIPs.length === 2) policyAt.invalid('SingleStack', needed('cluster IPs'))
  }
  for (const [i, ip] of clusterIPs.entries()) {
    if (ip === noClusterIp) break
    const family = parseIpAddress(ip)?.family ?? allocator.family
    if (i < (spec.ipFamilies ?? []).length) continue
    if (family === allocator.family) (spec.ipFamilies ??= []).push(family)
    else {
      const shown = goList(clusterIPs)
      at.child('clusterIPs').index(i).invalid(shown, `${family} is not configured on this cluster`)
    }
  }
  refuse(service, root)
  if (isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0) {
    spec.ipFamilyPolicy ??= 'RequireDualStack'
    if (spec.ipFamilies?.length) return
    spec.ipFamilies = [allocator.family]
    if (spec.ipFamilyPolicy === 'SingleStack') return
    spec.ipFamilies.push(allocator.family === 'IPv4' ? 'IPv6' : 'IPv4')
    return
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    at.child('ipFamilyPolicy').invalid(
      spec.ipFamilyPolicy,
      'this cluster is not configured for dual-stack services',
    )
  }
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    if (family === allocator.family) continue
    at.child('ipFamilies').index(i).invalid(family, 'not configured on this cluster')
  }
  refuse(service, root)
  spec.ipFamilyPolicy ??= 'SingleStack'
  if (!spec.ipFamilies?.length) spec.ipFamilies = [allocator.family]
}

function allocateAddresses(
  service: Service,
  spec: ServiceSpec,
  { allocator, request }: Allocation,
): void {
  if (isHeadless(spec)) return
  if (!spec.clusterIPs?.length) {
    const ip = allocator.addresses.next(request)
    if (ip === undefined) throw internalError('failed to allocate a serviceIP: range is full')
    spec.clusterIPs = [ip]
    spec.clusterIP = ip
    return
  }
  const root = FieldPath.root()
  const at = root.child('spec').child('clusterIPs')
  for (const [i, ip] of spec.clusterIPs.entries()) {
    const why = allocator.addresses.take(ip, request)
    if (why === undefined) continue
    at.index(i).invalid(goList(spec.clusterIPs), `failed to allocate IP ${ip}: ${why}`)
  }
  refuse(service, root)
}

function nextPort({ allocator, request }: Allocation): number {
  const port = allocator.nodePorts.next(request)
  if (port === undefined) throw internalError('failed to allocate a nodePort: range is full')
  return port
}

/** A named port; `index` says which of the Service's ports the error is about. */
function takePort(
  service: Service,
  { port, index }: { port: number; index: number },
  { allocator, request }: Allocation,
): void {
  const why = allocator.nodePorts.take(port, request)
  if (why === undefined) return
  const root = FieldPath.root()
  root.child('spec').child('ports').index(index).child('nodePort').invalid(port, why)
  refuse(service, root)
}

/** One port number offered over two protocols gets one node port. */
function allocateNodePorts(service: Service, spec: ServiceSpec, allocation: Allocation): void {
  const ports = spec.ports ?? []
  const given = new Map<number, number>()
  for (const [index, entry] of ports.entries()) {
    const known = given.get(entry.port)
    if (known === undefined) {
      const asked = ports.find((other) => other.port === entry.port && other.nodePort)?.nodePort
      if (asked !== undefined) takePort(service, { port: asked, index }, allocation)
      const port = asked ?? nextPort(allocation)
      entry.nodePort = port
      given.set(entry.port, port)
    } else if (!entry.nodePort) entry.nodePort = known
    else if (entry.nodePort !== known) {
      takePort(service, { port: entry.nodePort, index }, allocation)
    }
  }
}

function updateNodePorts(
  service: Service,
  { spec, before }: { spec: ServiceSpec; before: ServiceSpec },
  allocation: Allocation,
): void {
  const held = new Set((before.ports ?? []).map(({ nodePort = 0 }) => nodePort))
  for (const [index, entry] of (spec.ports ?? []).entries()) {
    if (!entry.nodePort) entry.nodePort = nextPort(allocation)
    else if (!held.has(entry.nodePort)) {
      takePort(service, { port: entry.nodePort, index }, allocation)
    }
    held.add(entry.nodePort)
  }
}

function allocateHealthCheckPort(spec: ServiceSpec, allocation: Allocation): void {
  if (!spec.healthCheckNodePort) {
    spec.healthCheckNodePort = nextPort(allocation)
    return
  }
  const why = allocation.allocator.nodePorts.take(spec.healthCheckNodePort, allocation.request)
  if (why === undefined) return
  throw internalError(
    `failed to allocate requested HealthCheck NodePort ${spec.healthCheckNodePort}: ${why}`,
  )
}
