/** NodeResources: capacity from the host or from flags, and what of it ordinary pods may use. Pure. */
import type { Dialect } from '../../api/dialect.ts'
import type { NodeStatus } from '../../api/generated/types.ts'
import { isExtendedResource } from '../../api/resource-names.ts'
import {
  compareQuantities,
  quantityValue,
  subtractQuantities,
} from '../../machinery/values/quantity.ts'
import type { EvictionThreshold } from './eviction-thresholds.ts'
import { keptFree } from './eviction-thresholds.ts'
import type { HostInfo } from './host-info.ts'

export type ResourceList = Readonly<Record<string, string>>

export interface NodeResourceOptions {
  readonly maxPods: number
  /** What the node claims to have, in place of or besides what the host has. */
  readonly capacity?: ResourceList
  readonly systemReserved?: ResourceList
  readonly kubeReserved?: ResourceList
  readonly evictionHard?: readonly EvictionThreshold[]
}

function nodeCapacity(host: HostInfo, options: NodeResourceOptions): Record<string, string> {
  return {
    cpu: String(host.cpuCount),
    memory: `${Math.floor(host.memoryBytes / 1024)}Ki`,
    pods: String(options.maxPods),
    ...(host.diskBytes === undefined
      ? {}
      : { 'ephemeral-storage': `${Math.floor(host.diskBytes / 1024)}Ki` }),
    ...options.capacity,
  }
}

/**
 * Adds extended resources that others put into the Node's capacity to allocatable, and lists in `dropped` those that
 * allocatable has but capacity no longer has (upstream: nodestatus/setters.go, MachineInfo). Their capacity is not reported:
 * its writer owns it.
 */
export function withAdvertised<Lists extends ReturnType<typeof nodeResources>>(
  { capacity, allocatable }: Lists,
  status: NodeStatus | undefined,
  dialect: Dialect,
): Lists & { readonly dropped: readonly string[] } {
  const lists = { capacity, allocatable: { ...allocatable } } as Lists
  const isForeign = (name: string): boolean =>
    capacity[name] === undefined && isExtendedResource(name, dialect)
  for (const [name, amount] of Object.entries(status?.capacity ?? {})) {
    if (isForeign(name)) lists.allocatable[name] = amount
  }
  const dropped = Object.keys(status?.allocatable ?? {}).filter(
    (name) => isForeign(name) && status?.capacity?.[name] === undefined,
  )
  return { ...lists, dropped }
}

/** The same with the devices that plugins listed; only healthy ones can be allocated. */
export function withDevices<Lists extends ReturnType<typeof nodeResources>>(
  { capacity, allocatable }: Lists,
  devices: ReadonlyMap<string, { readonly capacity: number; readonly healthy: number }>,
): ReturnType<typeof nodeResources> {
  const lists = { capacity: { ...capacity }, allocatable: { ...allocatable } }
  for (const [name, count] of devices) {
    lists.capacity[name] = String(count.capacity)
    lists.allocatable[name] = String(count.healthy)
  }
  return lists
}

/** Allocatable is capacity less reservations and the eviction threshold, and never below zero. */
export function nodeResources(
  host: HostInfo,
  options: NodeResourceOptions,
): { capacity: Record<string, string>; allocatable: Record<string, string> } {
  const capacity = nodeCapacity(host, options)
  const allocatable: Record<string, string> = { ...capacity }
  const takeOff = (name: string, amount: string): void => {
    const left = allocatable[name]
    if (left === undefined) return
    allocatable[name] = compareQuantities(left, amount) > 0 ? subtractQuantities(left, amount) : '0'
  }
  for (const reserved of [options.systemReserved, options.kubeReserved]) {
    for (const [name, amount] of Object.entries(reserved ?? {})) takeOff(name, amount)
  }
  const kept = (signal: 'memory.available' | 'nodefs.available', name: string): void => {
    const total = capacity[name]
    if (total === undefined) return
    const bytes = keptFree(options.evictionHard ?? [], signal, quantityValue(total))
    if (bytes > 0) takeOff(name, `${Math.ceil(bytes / 1024)}Ki`)
  }
  kept('memory.available', 'memory')
  kept('nodefs.available', 'ephemeral-storage')
  return { capacity, allocatable }
}

export type HostResources = (host: HostInfo) => ReturnType<typeof nodeResources>

/** `nodeResources` for all nodes of a process: each looks every ten seconds, and the host changes once if at all. */
export function createHostResources(options: NodeResourceOptions): HostResources {
  let last: { readonly host: HostInfo; readonly lists: ReturnType<HostResources> } | undefined
  return (host) => {
    if (last?.host !== host) last = { host, lists: nodeResources(host, options) }
    return last.lists
  }
}
