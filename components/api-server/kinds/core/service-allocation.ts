/** Gives a Service its addresses, node ports and families (upstream: pkg/registry/core/service/storage/alloc.go). */
import type { Service, ServiceSpec } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { internalError } from '../../../machinery/objects/status-error.ts'
import type { AllocationRequest } from './reservations.ts'
import type { ServiceAllocator } from './service-allocator.ts'
import { refuse, settleFamilies } from './service-families.ts'
import {
  isHeadless,
  mayHaveNodePort,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePort,
} from './service-fields.ts'

export interface Allocation {
  readonly allocator: ServiceAllocator
  readonly request: AllocationRequest
}

/** Throws Invalid for what the cluster cannot give, InternalError when a pool is exhausted. */
export function allocateForCreate(service: Service, allocation: Allocation): void {
  const { spec } = service
  if (!spec) return
  settleFamilies(service, undefined, allocation.allocator.family)
  if (needsClusterIp(spec)) allocateAddresses(service, spec, allocation)
  if (mayHaveNodePort(spec)) allocateNodePorts(service, spec, allocation)
  if (needsHealthCheckPort(spec)) allocateHealthCheckPort(spec, allocation)
}

/** Addresses and ports of the old state are kept and not allocated again. */
export function allocateForUpdate(service: Service, old: Service, allocation: Allocation): void {
  const { spec } = service
  const before = old.spec ?? {}
  if (!spec) return
  settleFamilies(service, old, allocation.allocator.family)
  if (needsClusterIp(spec) && !needsClusterIp(before)) {
    allocateAddresses(service, spec, allocation)
  }
  if (mayHaveNodePort(spec)) updateNodePorts(service, { spec, before }, allocation)
  if (needsHealthCheckPort(spec) && !needsHealthCheckPort(before)) {
    allocateHealthCheckPort(spec, allocation)
  }
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
  for (const ip of spec.clusterIPs) {
    const why = allocator.addresses.take(ip, request)
    if (why === undefined) continue
    at.invalid(goList(spec.clusterIPs), `failed to allocate IP ${ip}: ${why}`)
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

/** One port number offered over two protocols gets one node port. Without allocation, only ports that are asked for are taken. */
function allocateNodePorts(service: Service, spec: ServiceSpec, allocation: Allocation): void {
  const ports = spec.ports ?? []
  const given = new Map<number, number>()
  for (const [index, entry] of ports.entries()) {
    if (!entry.nodePort && !needsNodePort(spec)) continue
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
    if (!entry.nodePort && !needsNodePort(spec)) continue
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
