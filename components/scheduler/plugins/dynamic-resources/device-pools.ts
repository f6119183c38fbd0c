/** DevicePools: the devices that a node can use, pool by pool (upstream: dynamic-resource-allocation/structured/pools.go). Pure. */
import type { Device, ResourceSlice } from '../../../api/generated/types.ts'
import { matchesNodeTerm } from '../../../api/node-selection.ts'
import type { SelectableNode } from '../../../api/node-selection.ts'

/** One device, and the slice that lists it. */
export interface PooledDevice {
  /** `driver/pool/device`: unique in the cluster. */
  readonly id: string
  readonly device: Device
  readonly slice: ResourceSlice
}

export interface DevicePool {
  /** `driver/pool`. */
  readonly id: string
  readonly devices: readonly PooledDevice[]
  /** The driver has not published all slices of the newest generation yet. */
  readonly isIncomplete: boolean
  /** Why nothing may be allocated from it. */
  readonly invalidReason: string | undefined
}

/** The pools that a node sees, in the order of their ids. */
export type PoolsOf = (node: SelectableNode) => readonly DevicePool[]

export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`
}

/** Sorts the slices once, for many nodes. */
export function devicePools(slices: readonly ResourceSlice[]): PoolsOf {
  const local = new Map<string, ResourceSlice[]>()
  const shared: ResourceSlice[] = []
  for (const slice of slices) {
    const { nodeName } = slice.spec
    if (!nodeName) shared.push(slice)
    else if (local.get(nodeName)?.push(slice) === undefined) local.set(nodeName, [slice])
  }
  return (node) => {
    const seen = [...(local.get(node.name) ?? []), ...shared.filter((one) => isFor(one, node))]
    return [...byPool(seen)].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(poolOf)
  }
}

/** A slice that says nothing of its nodes is of a later release, and left out. */
function isFor({ spec }: ResourceSlice, node: SelectableNode): boolean {
  if (spec.allNodes === true) return true
  return (spec.nodeSelector?.nodeSelectorTerms ?? []).some((term) => matchesNodeTerm(term, node))
}

/** The slices of each pool's newest generation. */
function byPool(slices: readonly ResourceSlice[]): Map<string, ResourceSlice[]> {
  const pools = new Map<string, ResourceSlice[]>()
  for (const slice of slices) {
    const { driver, pool } = slice.spec
    const id = `${driver}/${pool.name}`
    const known = pools.get(id)
    const newest = known?.[0]?.spec.pool.generation ?? -Infinity
    if (pool.generation > newest) pools.set(id, [slice])
    else if (pool.generation === newest) known?.push(slice)
  }
  return pools
}

function poolOf([id, slices]: readonly [string, readonly ResourceSlice[]]): DevicePool {
  const ordered = slices.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const devices = ordered.flatMap((slice) =>
    (slice.spec.devices ?? []).map((device) => ({ id: `${id}/${device.name}`, device, slice })),
  )
  const names = new Set<string>()
  const twice = devices.find(({ device: { name } }) => names.size === names.add(name).size)
  return {
    id,
    devices,
    isIncomplete: slices.length !== slices[0]?.spec.pool.resourceSliceCount,
    invalidReason: twice && `duplicate device name ${twice.device.name}`,
  }
}

function nameOf({ metadata }: ResourceSlice): string {
  return metadata.name ?? ''
}
