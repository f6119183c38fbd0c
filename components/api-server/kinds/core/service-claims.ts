/**
 * Claims: what a Service uses is settled with the other servers before it is written, and given back once it is not used any more
 * (upstream: registry/core/service/storage/alloc.go, transactions). A value that this server has chosen and another server was first
 * to take is replaced by another one.
 */
import type { Service } from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { internalError } from '../../../machinery/objects/status-error.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { formatIpAddress, parseIpAddress } from '../../../machinery/validation/ip-address.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import type { FinishWrite } from '../strategy.ts'
import type { Allocation } from './service-allocation.ts'
import { inUse, portInUse, type ServiceAllocator, type ValueClaims } from './service-allocator.ts'
import type { ServicePool } from './service-pool.ts'
import { refuse } from './service-families.ts'
import { isHeadless, needsClusterIp } from './service-fields.ts'

/** The addresses that the Service has of this cluster. */
function addressesOf(service: Service | undefined): readonly string[] {
  const spec = service?.spec
  if (spec === undefined || !needsClusterIp(spec) || isHeadless(spec)) return []
  return (spec.clusterIPs ?? []).flatMap((text) => {
    const address = parseIpAddress(text)
    return address === undefined ? [] : [formatIpAddress(address)]
  })
}

/** Each port once: one number serves several protocols. */
function nodePortsOf(service: Service | undefined): readonly number[] {
  const { ports = [], healthCheckNodePort } = service?.spec ?? {}
  const used = [...ports.map(({ nodePort }) => nodePort), healthCheckNodePort]
  return [...new Set(used.flatMap((port) => (port ? [port] : [])))]
}

interface Change {
  readonly object: Service
  readonly old: Service | undefined
}

interface Values<T> {
  readonly claims: ValueClaims<T>
  readonly pool: ServicePool<T>
  readonly of: (service: Service | undefined) => readonly T[]
  /** Throws for a value that the Service asks for and cannot have. */
  readonly refuse: (service: Service, value: T) => void
  readonly replace: (service: Service, value: T, other: T) => void
  /** As in errors. */
  readonly what: string
}

/** Takes what the Service has and `old` had not. Throws Invalid for what it asks for and another has. */
async function take<T>(
  { object, old }: Change,
  values: Values<T>,
  { request }: Allocation,
): Promise<FinishWrite> {
  const { claims, pool, of } = values
  const before = of(old)
  const added = (): readonly T[] => of(object).filter((value) => !before.includes(value))
  for (;;) {
    const wanted = added()
    const taken = wanted.length === 0 ? [] : await claims.take(wanted, object as KubeObject)
    if (taken.length === 0) break
    for (const value of taken) {
      if (!pool.isPicked(value, request)) values.refuse(object, value)
      const other = pool.next(request)
      if (other === undefined) {
        throw internalError(`failed to allocate a ${values.what}: range is full`)
      }
      values.replace(object, value, other)
    }
  }
  const now = of(object)
  const removed = before.filter((value) => !now.includes(value))
  const held = added()
  return async (isWritten) => {
    const unused = isWritten ? removed : held
    if (unused.length > 0) await claims.give(unused)
  }
}

function refuseAddress(service: Service, address: string): never {
  const root = FieldPath.root()
  const at = root.child('spec').child('clusterIPs')
  at.invalid(goList(service.spec?.clusterIPs), `failed to allocate IP ${address}: ${inUse}`)
  refuse(service, root)
  throw new TypeError('a finding throws')
}

function replaceAddress({ spec }: Service, address: string, other: string): void {
  if (spec === undefined) return
  spec.clusterIPs = spec.clusterIPs?.map((text) => (text === address ? other : text)) ?? []
  if (spec.clusterIP === address) spec.clusterIP = other
}

function refusePort(service: Service, port: number): void {
  const index = service.spec?.ports?.findIndex(({ nodePort }) => nodePort === port) ?? -1
  if (index < 0) {
    throw internalError(`failed to allocate requested HealthCheck NodePort ${port}: ${portInUse}`)
  }
  const root = FieldPath.root()
  root.child('spec').child('ports').index(index).child('nodePort').invalid(port, portInUse)
  refuse(service, root)
}

function replacePort({ spec }: Service, port: number, other: number): void {
  for (const entry of spec?.ports ?? []) if (entry.nodePort === port) entry.nodePort = other
  if (spec?.healthCheckNodePort === port) spec.healthCheckNodePort = other
}

function addressValues({ claims, addresses: pool }: ServiceAllocator): Values<string> | undefined {
  if (claims?.addresses === undefined) return undefined
  return {
    claims: claims.addresses,
    pool,
    of: addressesOf,
    refuse: refuseAddress,
    replace: replaceAddress,
    what: 'serviceIP',
  }
}

function portValues({ claims, nodePorts: pool }: ServiceAllocator): Values<number> | undefined {
  if (claims?.nodePorts === undefined) return undefined
  return {
    claims: claims.nodePorts,
    pool,
    of: nodePortsOf,
    refuse: refusePort,
    replace: replacePort,
    what: 'nodePort',
  }
}

/** Undefined where there is nothing to settle with others. May change the draft. */
export async function claimValues(
  change: Change,
  allocation: Allocation,
): Promise<FinishWrite | undefined> {
  const { allocator } = allocation
  const ports = portValues(allocator)
  const addresses = addressValues(allocator)
  const finishPorts = ports && (await take(change, ports, allocation))
  try {
    const finishAddresses = addresses && (await take(change, addresses, allocation))
    return async (isWritten) => {
      await finishPorts?.(isWritten)
      await finishAddresses?.(isWritten)
    }
  } catch (error) {
    await finishPorts?.(false)
    throw error
  }
}

/** Gives back what a Service had that is gone. */
export async function giveBack(service: Service, { claims }: ServiceAllocator): Promise<void> {
  const [ports, addresses] = [nodePortsOf(service), addressesOf(service)]
  if (ports.length > 0) await claims?.nodePorts?.give(ports)
  if (addresses.length > 0) await claims?.addresses?.give(addresses)
}
