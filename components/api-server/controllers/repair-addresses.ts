/**
 * Repairs the IPAddress objects of Services, and reports Services whose addresses no ServiceCIDR offers or that share one
 * (upstream: registry/core/service/ipallocator/controller/repairip.go; KEP-1880).
 */
import type { Dialect } from '../../api/dialect.ts'
import type { Service } from '../../api/generated/types.ts'
import {
  ipAddressFor,
  offersAddress,
  rangesOf,
  serviceRangeKeys,
  type IpAddressObject,
  type ServiceCidr,
} from '../../api/service-ranges.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Result } from '../../client/controller.ts'
import { keyOf, splitKey, type KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import {
  formatIpAddress,
  parseIpAddress,
  type IpAddress,
} from '../../machinery/validation/ip-address.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { createOwnRecorder, type OwnRecorderOptions } from './own-recorder.ts'
import { runKeeper } from './run-keeper.ts'

export interface RepairAddressesOptions extends OwnRecorderOptions {
  readonly reader: ObjectReader
  readonly dialect: Dialect
}

/** An address is recorded before its Service is written, be it new or changed: for so long a request may take. */
const graceMs = 60_000
const ofServices = 'services/'
const ofAddresses = 'ipaddresses/'

interface Repair extends RepairAddressesOptions {
  readonly recorder: EventRecorder
}

function warn({ recorder, log }: Repair, about: KubeObject, reason: string, message: string): void {
  log.warn(message, { reason })
  recorder.record(about, { type: 'Warning', reason, message })
}

async function create(
  { client, resources, dialect }: Repair,
  address: IpAddress,
  service: Service,
) {
  const { ipAddresses } = resources
  const name = formatIpAddress(address)
  const type = { apiVersion: apiVersionOf(ipAddresses), kind: ipAddresses.kind }
  const object = ipAddressFor({ name, family: address.family }, service, dialect)
  await client.create(ipAddresses, '', { ...type, ...object })
}

async function remove({ client, resources }: Repair, name: string): Promise<void> {
  try {
    await client.delete(resources.ipAddresses, '', name)
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}

function hasLabels({ metadata }: KubeObject, { family }: IpAddress, dialect: Dialect): boolean {
  const keys = serviceRangeKeys(dialect)
  const labels = metadata.labels ?? {}
  return labels[keys.family] === family && labels[keys.managedBy] === keys.allocator
}

function clusterIps(service: KubeObject | undefined): readonly string[] {
  const { clusterIP = '', clusterIPs = [] } = (service as Service | undefined)?.spec ?? {}
  return clusterIP === '' || clusterIP === 'None' ? [] : clusterIPs
}

/** Whether the record's reference has to be written anew for the Service. */
function isOfAnother(repair: Repair, service: Service, { spec }: IpAddressObject): boolean {
  const { group = '', resource, namespace = '', name = '' } = spec?.parentRef ?? {}
  if (group !== '' || resource !== 'services') return true
  if (keyOf({ metadata: { namespace, name } }) === keyOf(service)) return false
  return repair.reader.get(repair.resources.services, namespace, name) === undefined
}

/** Each address of a Service has its record. */
async function repairAddress(repair: Repair, service: Service, address: IpAddress): Promise<void> {
  const { reader, resources, dialect } = repair
  const name = formatIpAddress(address)
  const shown = `[${address.family}]: ${name}`
  const at = keyOf(service)
  const cidrs = reader.list(resources.serviceCidrs) as readonly ServiceCidr[]
  if (!cidrs.some((cidr) => rangesOf(cidr).some((range) => offersAddress(range, address)))) {
    const message = `Cluster IP ${shown} is not within any configured Service CIDR; please recreate service`
    warn(repair, service, 'ClusterIPOutOfRange', message)
    return
  }
  const record = reader.get(resources.ipAddresses, '', name) as IpAddressObject | undefined
  if (record === undefined) {
    const message = `Cluster IP ${shown} is not allocated; repairing`
    warn(repair, service, 'ClusterIPNotAllocated', message)
    await create(repair, address, service)
    return
  }
  if (isOfAnother(repair, service, record)) {
    const message = `the ClusterIP ${shown} for Service ${at} has a wrong reference; repairing`
    warn(repair, service, 'ClusterIPNotAllocated', message)
    await remove(repair, name)
    await create(repair, address, service)
    return
  }
  const parent = record.spec?.parentRef ?? {}
  const { namespace = '', name: parentName = '' } = parent
  const isOwn = keyOf({ metadata: { namespace, name: parentName } }) === at
  if (!isOwn && clusterIps(reader.get(resources.services, namespace, parentName)).includes(name)) {
    const message = `Cluster IP [${address.family}]:${name} was assigned to multiple services; please recreate service`
    warn(repair, service, 'ClusterIPAlreadyAllocated', message)
  }
  if (hasLabels(record, address, dialect)) return
  await remove(repair, name)
  await create(repair, address, service)
}

async function repairService(repair: Repair, key: string): Promise<void> {
  const { namespace, name } = splitKey(key)
  const { reader, resources } = repair
  const service = reader.get(resources.services, namespace, name) as Service | undefined
  if (service === undefined) return
  for (const text of clusterIps(service)) {
    const address = parseIpAddress(text)
    if (address !== undefined) await repairAddress(repair, service, address)
    else {
      const message = `Cluster IP ${text} is not a valid IP; please recreate Service`
      warn(repair, service, 'ClusterIPNotValid', message)
    }
  }
}

/** Each record of the allocator is of a Service that has the address. Others' IPAddresses are left alone. */
async function repairRecord(repair: Repair, name: string): Promise<Result | void> {
  const { reader, resources, dialect, clock } = repair
  const record = reader.get(resources.ipAddresses, '', name) as IpAddressObject | undefined
  const keys = serviceRangeKeys(dialect)
  if (record?.metadata.labels?.[keys.managedBy] !== keys.allocator) return
  const {
    group = '',
    resource,
    namespace = '',
    name: parentName = '',
  } = record.spec?.parentRef ?? {}
  if (group !== '' || resource !== 'services') {
    const message = `IPAddress ${name} appears to have been modified, not referencing a Service: cleaning up`
    warn(repair, record, 'IPAddressNotAllocated', message)
    await remove(repair, name)
    return
  }
  const service = reader.get(resources.services, namespace, parentName)
  if (clusterIps(service).some((text) => sameAddress(text, name))) return
  const ageMs = clock.now() - Date.parse(record.metadata.creationTimestamp ?? '')
  if (ageMs <= graceMs) return { requeueAfterMs: graceMs - ageMs + 1000 }
  const of = `IPAddress: ${name} for Service ${namespace}/${parentName}`
  if (service === undefined) {
    warn(repair, record, 'IPAddressNotAllocated', `${of} appears to have leaked: cleaning up`)
  } else warn(repair, record, 'IPAddressWrongReference', `${of} has a wrong reference; cleaning up`)
  await remove(repair, name)
}

function sameAddress(text: string, name: string): boolean {
  const address = parseIpAddress(text)
  return address !== undefined && formatIpAddress(address) === name
}

/** Runs until `signal` aborts. */
export async function repairAddresses(
  options: RepairAddressesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, resources, clock, log } = options
  const { services, ipAddresses } = resources
  const recorder = createOwnRecorder(options, 'ipallocator-repair-controller')
  const repair = { ...options, recorder }
  await Promise.all([
    recorder.run(signal),
    runKeeper(
      {
        name: 'ipallocator-repair-controller',
        reconcile: (key) =>
          key.startsWith(ofServices)
            ? repairService(repair, key.slice(ofServices.length))
            : repairRecord(repair, key.slice(ofAddresses.length)),
        watch: (add) => {
          for (const service of reader.list(services)) add(ofServices + keyOf(service))
          for (const address of reader.list(ipAddresses)) add(ofAddresses + keyOf(address))
          return [
            reader.onChange(services, ({ key }) => add(ofServices + key)),
            reader.onChange(ipAddresses, ({ key }) => add(ofAddresses + key)),
          ]
        },
        workers: 5,
        clock,
        log,
      },
      signal,
    ),
  ])
}
