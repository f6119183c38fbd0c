/** SharedRanges: the addresses and node ports that Services use, as keys which the servers on a store share. */
import type { Log } from '../../../component-base/log.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { Store } from '../../../store/store.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import { RangeAllocation } from './range-allocation.ts'
import {
  mostSharedAddresses,
  offsetsOf,
  portsOf,
  valuesOf,
  type ValueClaims,
} from './service-allocator.ts'

/** A range whose values are bits of a key. */
export interface SharedRange {
  readonly allocation: RangeAllocation
  readonly bitsOf: (service: KubeObject) => readonly number[]
  /** The value of a bit, as users see it. */
  readonly textOf: (bit: number) => string
  /** Upstream's names in the reasons of events. */
  readonly name: 'ClusterIP' | 'Port'
}

export interface SharedRangesOptions {
  readonly store: Store
  readonly reader: ObjectReader
  /** The resource core/v1 Service. */
  readonly services: Resource
  readonly clusterIpRange: string
  readonly nodePortRange: string
}

function allocationOf(
  { store, reader, services }: SharedRangesOptions,
  of: { name: string; range: string; size: number; bitsOf: SharedRange['bitsOf'] },
): RangeAllocation {
  const { bitsOf, ...range } = of
  const initial = async (): Promise<number[]> => {
    await reader.refresh?.()
    return reader.list(services).flatMap(bitsOf)
  }
  return new RangeAllocation({ ...range, store, initial })
}

/** Throws TypeError for an invalid range. */
export function sharedAddresses(options: SharedRangesOptions): SharedRange {
  const { clusterIpRange: range } = options
  const { offsetOf, textOf, end } = offsetsOf(range, mostSharedAddresses)
  const bitsOf = (service: KubeObject): number[] =>
    valuesOf(service, offsetOf).addresses.map((offset) => offset - 1)
  const allocation = allocationOf(options, { name: 'serviceips', range, size: end - 1, bitsOf })
  return { allocation, bitsOf, textOf: (bit) => textOf(bit + 1), name: 'ClusterIP' }
}

/** Throws TypeError for an invalid range. */
export function sharedNodePorts(options: SharedRangesOptions): SharedRange {
  const { nodePortRange: range } = options
  const { first, last } = portsOf(range)
  const bitsOf = (service: KubeObject): number[] =>
    valuesOf(service, () => undefined)
      .ports.filter((port) => port >= first && port <= last)
      .map((port) => port - first)
  const size = last - first + 1
  const allocation = allocationOf(options, { name: 'servicenodeports', range, size, bitsOf })
  return { allocation, bitsOf, textOf: (bit) => String(bit + first), name: 'Port' }
}

function claimsOn<T>(
  { allocation, name }: SharedRange,
  log: Log,
  bitOf: (value: T) => number | undefined,
): ValueClaims<T> {
  const bitsOf = (values: readonly T[]): number[] => values.flatMap((value) => bitOf(value) ?? [])
  return {
    take: async (values) => {
      const taken = new Set(await allocation.take(bitsOf(values)))
      return values.filter((value) => taken.has(bitOf(value) ?? -1))
    },
    give: async (values) => {
      try {
        await allocation.give(bitsOf(values))
      } catch (error) {
        // The repair loop clears it.
        log.warn('a value of a Service was not released', { range: name, error })
      }
    },
  }
}

/** Values outside of the range are left alone: the pools refuse them. */
export function addressClaims(range: SharedRange, clusterIpRange: string, log: Log) {
  const { offsetOf } = offsetsOf(clusterIpRange, mostSharedAddresses)
  return claimsOn<string>(range, log, (text) => {
    const offset = offsetOf(text)
    return offset === undefined ? undefined : offset - 1
  })
}

export function nodePortClaims(range: SharedRange, nodePortRange: string, log: Log) {
  const { first, last } = portsOf(nodePortRange)
  return claimsOn<number>(range, log, (port) =>
    port < first || port > last ? undefined : port - first,
  )
}
