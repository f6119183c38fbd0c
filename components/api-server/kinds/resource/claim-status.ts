/** The status of a ResourceClaim: allocation and users (upstream: resourceclaim/strategy.go, validateResourceClaimStatusUpdate). */
import { mostDevices, mostUsers } from '../../../api/device-claims.ts'
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimStatus,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  formatIpAddress,
  parseIpAddress,
  parseIpRange,
  validateIpRange,
} from '../../../machinery/validation/ip-address.ts'
import { validateConditions } from '../../../machinery/validation/label-validation.ts'
import { validateNodeSelector } from '../core/pod/affinity-validation.ts'
import { goJson, validateImmutable } from '../rules/field-rules.ts'
import { validateDriverName } from '../storage/csi-node.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { SubresourceStrategy } from '../strategy.ts'
import {
  mostEntries,
  validateConfiguration,
  validateEntries,
  validateLabelName,
  validatePoolName,
  validateRawObject,
  validateUnique,
} from './device-fields.ts'
import { requestNamesOf, validateRequestName, validateRequestNames } from './request-names.ts'

const sources = ['FromClaim', 'FromClass']
const mostConditions = 8
const longestInterfaceName = 256
const longestHardwareAddress = 128
const mostIps = 16

type DeviceName = Pick<DeviceRequestAllocationResult, 'driver' | 'pool' | 'device'>

const idOf = ({ driver, pool, device }: DeviceName): string => `${driver}/${pool}/${device}`

function idsIn(status: ResourceClaimStatus | undefined): Set<string> {
  return new Set((status?.allocation?.devices?.results ?? []).map(idOf))
}

export const claimStatusStrategy: SubresourceStrategy = {
  prepareForUpdate(object, old, { gates }) {
    restoreAllButStatus(object, old)
    for (const field of ['labels', 'annotations', 'finalizers'] as const) {
      const kept = old.metadata[field]
      if (kept === undefined) delete object.metadata[field]
      else Object.assign(object.metadata, { [field]: kept })
    }
    const change = { object, old } as unknown as Change<ResourceClaim>
    dropAdminAccess(change, gates)
    dropDeviceStatuses(change, gates)
  },
  validateUpdate: updateValidation(({ object, old }: Change<ResourceClaim>, root) => {
    validateStatus({ object, old }, root.child('status'))
  }),
}

/** Unless the claim asks for it, or had it already. */
function dropAdminAccess({ object, old }: Change<ResourceClaim>, gates: FeatureGates): void {
  const had = [
    ...(old.spec?.devices?.requests ?? []),
    ...(old.status?.allocation?.devices?.results ?? []),
  ]
  if (gates.DRAAdminAccess || had.some(({ adminAccess }) => typeof adminAccess === 'boolean'))
    return
  for (const result of object.status?.allocation?.devices?.results ?? []) delete result.adminAccess
}

/** Without the gate a claim gets no statuses of devices; with it, they go with their devices. */
function dropDeviceStatuses({ object, old }: Change<ResourceClaim>, gates: FeatureGates): void {
  const { status } = object
  if (status?.devices === undefined) return
  const isKnown = gates.DRAResourceClaimDeviceStatus || (old.status?.devices?.length ?? 0) > 0
  const gone = idsIn(old.status).difference(idsIn(status))
  const kept = isKnown ? status.devices.filter((one) => !gone.has(idOf(one))) : []
  if (kept.length === 0) delete status.devices
  else status.devices = kept
}

function validateStatus({ object, old }: Change<ResourceClaim>, at: FieldPath): void {
  const status = object.status ?? {}
  const usersAt = at.child('reservedFor')
  const users = status.reservedFor ?? []
  validateEntries(users, { at: usersAt, most: mostUsers }, validateUser)
  validateUnique(
    users.map(({ uid }) => uid),
    usersAt,
    'uid',
  )
  validateDeviceStatuses(status, at.child('devices'))
  if (users.length > 0 && status.allocation === undefined) {
    usersAt.forbidden('may not be specified when `allocated` is not set')
  } else if (users.length > 0 && object.metadata.deletionTimestamp !== undefined) {
    const before = new Set((old.status?.reservedFor ?? []).map((one) => JSON.stringify(one)))
    if (users.some((one) => !before.has(JSON.stringify(one)))) {
      const what = '`deallocationRequested` or `deletionTimestamp` are set'
      usersAt.forbidden(`new entries may not be added while ${what}`)
    }
  }
  const allocationAt = at.child('allocation')
  const [now, before] = [status.allocation, old.status?.allocation]
  if (now === undefined) return
  if (before !== undefined) validateImmutable({ now, before, shown: goJson(now) }, allocationAt)
  else validateAllocation(now, allocationAt, requestNamesOf(object.spec?.devices))
}

function validateUser(user: ResourceClaimConsumerReference, at: FieldPath): void {
  for (const field of ['resource', 'name', 'uid'] as const) {
    if (!user[field]) at.child(field).required()
  }
}

function validateAllocation(
  { devices, nodeSelector }: AllocationResult,
  at: FieldPath,
  names: ReadonlySet<string>,
): void {
  const resultsAt = at.child('devices').child('results')
  validateEntries(devices?.results ?? [], { at: resultsAt, most: mostDevices }, (one, oneAt) => {
    validateRequestName(one.request ?? '', oneAt.child('request'), names)
    validateDeviceName(one, oneAt)
  })
  const configAt = at.child('devices').child('config')
  // Those of the class and of the claim.
  const most = 2 * mostEntries
  validateEntries(devices?.config ?? [], { at: configAt, most }, (one, oneAt) => {
    validateSource(one, oneAt.child('source'))
    validateRequestNames(one.requests, oneAt.child('requests'), names)
    validateConfiguration(one, oneAt)
  })
  if (nodeSelector !== undefined) validateNodeSelector(nodeSelector, at.child('nodeSelector'))
}

function validateSource({ source = '' }: DeviceAllocationConfiguration, at: FieldPath): void {
  if (source === '') at.required()
  else if (!sources.includes(source)) at.unsupported(source, sources)
}

function validateDeviceName({ driver, pool, device }: DeviceName, at: FieldPath): void {
  validateDriverName(driver, at.child('driver'))
  validatePoolName(pool ?? '', at.child('pool'))
  validateLabelName(device ?? '', at.child('device'))
}

function validateDeviceStatuses(status: ResourceClaimStatus, at: FieldPath): void {
  const allocated = idsIn(status)
  const devices = status.devices ?? []
  validateEntries(devices, { at, most: Infinity }, (one, oneAt) => {
    validateDeviceStatus(one, oneAt, allocated)
  })
  validateUnique(devices.map(idOf), at, 'deviceID')
}

function validateDeviceStatus(
  one: AllocatedDeviceStatus,
  at: FieldPath,
  allocated: ReadonlySet<string>,
): void {
  validateDeviceName(one, at)
  if (!allocated.has(idOf(one))) {
    at.invalid(idOf(one), 'must be an allocated device in the claim')
  }
  // Clients get null for a list without entries, and send it back.
  const conditions = one.conditions ?? []
  const conditionsAt = at.child('conditions')
  if (conditions.length > mostConditions) conditionsAt.tooMany(conditions.length, mostConditions)
  validateConditions(conditions, conditionsAt)
  if (one.data !== undefined && one.data !== null) validateRawObject(one.data, at.child('data'))
  if (one.networkData) validateNetworkData(one.networkData, at.child('networkData'))
}

function validateNetworkData(
  { interfaceName = '', hardwareAddress = '', ips }: NetworkDeviceData,
  at: FieldPath,
): void {
  if (Buffer.byteLength(interfaceName) > longestInterfaceName) {
    at.child('interfaceName').tooLong(longestInterfaceName)
  }
  if (Buffer.byteLength(hardwareAddress) > longestHardwareAddress) {
    at.child('hardwareAddress').tooLong(longestHardwareAddress)
  }
  const ipsAt = at.child('ips')
  validateEntries(ips ?? [], { at: ipsAt, most: mostIps }, validateInterfaceAddress)
  validateUnique(ips ?? [], ipsAt)
}

/** An address with the length of its network's prefix. */
function validateInterfaceAddress(text: string, at: FieldPath): void {
  validateIpRange(text, at)
  const [address = '', length = ''] = text.split('/')
  const parsed = parseIpAddress(address)
  if (parsed === undefined || parseIpRange(text) === undefined) return
  const canonical = `${formatIpAddress(parsed)}/${Number(length)}`
  if (text !== canonical) at.invalid(text, `must be in canonical form (${canonical})`)
}
