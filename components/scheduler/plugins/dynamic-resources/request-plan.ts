/** RequestPlan: what one request of a claim asks of a device; checked once, then asked for every device of every node. */
import type {
  Device,
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  ResourceClaim,
} from '../../../api/generated/types.ts'
import type { SelectableDevice } from '../../../cel/device-selector.ts'
import { messageOf } from '../../../component-base/log.ts'
import { keyOf } from '../../../machinery/objects/object.ts'
import type { PooledDevice } from './device-pools.ts'

/** Compiles an expression, or gives the one that is compiled already. Throws when it does not compile. */
export type CompileSelector = (expression: string) => {
  matches(device: SelectableDevice): boolean
}

export interface RequestPlan {
  readonly claim: ResourceClaim
  readonly request: DeviceRequest
  readonly deviceClass: DeviceClass
  /** Undefined: all that match. */
  readonly count: number | undefined
  /** The devices are not kept for this claim alone. */
  readonly isAdmin: boolean
  /** Whether class and request select the device. Throws when a selector fails. */
  selects(device: PooledDevice): boolean
}

export interface PlanningOptions {
  readonly classOf: (name: string) => DeviceClass | undefined
  readonly compile: CompileSelector
  readonly allowsAdminAccess: boolean
}

/** Throws an Error when nothing can satisfy the request, whatever devices there are. */
export function planRequest(
  claim: ResourceClaim,
  request: DeviceRequest,
  { classOf, compile, allowsAdminAccess }: PlanningOptions,
): RequestPlan {
  const where = `claim ${keyOf(claim)}, request ${request.name}`
  const { deviceClassName, allocationMode = 'ExactCount', adminAccess, count = 1 } = request
  if (!allowsAdminAccess && adminAccess !== undefined) {
    throw new Error(`${where}: admin access is requested, but the feature is disabled`)
  }
  const deviceClass = classOf(deviceClassName)
  if (deviceClass === undefined) {
    throw new Error(`${where}: could not retrieve device class ${deviceClassName}`)
  }
  if (allocationMode !== 'ExactCount' && allocationMode !== 'All') {
    throw new Error(`${where}: unsupported count mode ${allocationMode}`)
  }
  const ofClass = selectorOf(deviceClass.spec.selectors, `class ${deviceClassName}`, compile)
  const ofRequest = selectorOf(request.selectors, `claim ${keyOf(claim)}`, compile)
  // By device, not by id: drivers may list one name on several nodes.
  const known = new Map<Device, boolean>()
  return {
    claim,
    request,
    deviceClass,
    count: allocationMode === 'All' ? undefined : count,
    isAdmin: adminAccess === true,
    selects: (device) => {
      const before = known.get(device.device)
      if (before !== undefined) return before
      const selectable = selectableOf(device)
      const isSelected = selectable !== undefined && ofClass(selectable) && ofRequest(selectable)
      known.set(device.device, isSelected)
      return isSelected
    },
  }
}

/** Undefined for a sort of device that this release does not know. */
function selectableOf({ device, slice }: PooledDevice): SelectableDevice | undefined {
  if (device.basic === undefined) return undefined
  const { attributes = {}, capacity = {} } = device.basic
  const amounts = Object.entries(capacity).map(([name, { value }]) => [name, value] as const)
  return { driver: slice.spec.driver, attributes, capacity: Object.fromEntries(amounts) }
}

/** Compiles at the first device: a claim that no device is compared with needs no expression. */
function selectorOf(
  selectors: readonly DeviceSelector[] | undefined,
  where: string,
  compile: CompileSelector,
): (device: SelectableDevice) => boolean {
  const matches = (selectors ?? []).map(({ cel }, i) => {
    const at = `${where}: selector #${i}`
    if (cel === undefined) {
      throw new Error(`${at}: CEL expression empty (unsupported selector type?)`)
    }
    return (device: SelectableDevice): boolean => {
      const selector = attempt(() => compile(cel.expression), `${at}: CEL compile error`)
      return attempt(() => selector.matches(device), `${at}: CEL runtime error`)
    }
  })
  return (device) => matches.every((match) => match(device))
}

function attempt<T>(run: () => T, what: string): T {
  try {
    return run()
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}
