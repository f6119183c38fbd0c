/**
 * AddressRecords: the IPAddress objects that record which Service uses an address (upstream: ipallocator createIPAddress,
 * Release; KEP-1880). They are made before the Service is written and removed after it is gone, so that no address is used
 * twice; the repair loop removes what an interrupted write leaves.
 */
import type { Dialect } from '../../../api/dialect.ts'
import { ipAddressFor } from '../../../api/service-ranges.ts'
import type { Log } from '../../../component-base/log.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../../machinery/objects/resource.ts'
import { isStatusError } from '../../../machinery/objects/status-error.ts'
import { parseIpAddress } from '../../../machinery/validation/ip-address.ts'
import type { ValueClaims } from './service-allocator.ts'

/** Rejects with a StatusError as any client's write does. */
export interface AddressWriter {
  create(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  delete(resource: Resource, namespace: string, name: string): Promise<unknown>
}

export interface AddressRecordsOptions {
  readonly writer: AddressWriter
  /** The resource networking/v1beta1 IPAddress. */
  readonly ipAddresses: Resource
  readonly dialect: Dialect
  readonly log: Log
}

export function createAddressRecords(options: AddressRecordsOptions): ValueClaims<string> {
  const { writer, ipAddresses, dialect, log } = options
  const type = { apiVersion: apiVersionOf(ipAddresses), kind: ipAddresses.kind }
  const addOne = async (name: string, service: KubeObject): Promise<boolean> => {
    const family = parseIpAddress(name)?.family ?? 'IPv4'
    const object = { ...type, ...ipAddressFor({ name, family }, service, dialect) }
    try {
      await writer.create(ipAddresses, '', object)
      return true
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return false
      throw error
    }
  }
  // A failure is logged: the repair loop tries again.
  const remove = async (addresses: readonly string[]): Promise<void> => {
    for (const name of addresses) {
      try {
        await writer.delete(ipAddresses, '', name)
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) log.warn('address not released', { name, error })
      }
    }
  }
  return {
    take: async (addresses, service) => {
      const added: string[] = []
      let isDone = false
      try {
        for (const name of addresses) {
          if (!(await addOne(name, service))) return [name]
          added.push(name)
        }
        isDone = true
        return []
      } finally {
        if (!isDone) await remove(added)
      }
    },
    give: remove,
  }
}
