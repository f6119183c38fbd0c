/** CSIDriver, CSINode and CSIStorageCapacity (upstream: pkg/apis/storage). */
import type {
  CSIDriver,
  CSIDriverSpec,
  CSINode,
  CSINodeDriver,
  CSIStorageCapacity,
  StorageTokenRequest,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { qualifiedName, subdomain } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import {
  goJson,
  mustNotBeNegative,
  semanticEqual,
  validateImmutable,
  validateNonNegative,
  validateOneOf,
  validateSubdomain,
} from '../rules/field-rules.ts'
import { isNegativeQuantity, shownQuantity } from '../rules/quantities.ts'
import { goLabelSelector } from '../rules/replica-rules.ts'

const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']
const lifecycleModes = ['Persistent', 'Ephemeral']
const shortestTokenSeconds = 600
const longestTokenSeconds = 2 ** 32
const maxDriverNameBytes = 63
const maxNodeIdBytes = 256

/** The name of a driver where other objects mention it: short, and a subdomain but for its case. */
export function validateDriverName(name: string | undefined, at: FieldPath): void {
  if (!name) at.required()
  if (Buffer.byteLength(name ?? '') > maxDriverNameBytes) at.tooLong(maxDriverNameBytes)
  at.invalidEach(name ?? '', subdomain((name ?? '').toLowerCase()))
}

function validateTokenRequests(requests: readonly StorageTokenRequest[], at: FieldPath): void {
  const seen = new Set<string>()
  for (const [i, { audience, expirationSeconds: seconds }] of requests.entries()) {
    if (seen.has(audience)) {
      at.index(i).child('audience').duplicate(audience)
      continue
    }
    seen.add(audience)
    const secondsAt = at.index(i).child('expirationSeconds')
    if (seconds === undefined) continue
    if (seconds < shortestTokenSeconds) {
      secondsAt.invalid(seconds, 'may not specify a duration less than 10 minutes')
    } else if (seconds > longestTokenSeconds) {
      secondsAt.invalid(seconds, 'may not specify a duration larger than 2^32 seconds')
    }
  }
}

/** Defaults of the flags; upstream misspells the path of the first. */
const flags = [
  { field: 'attachRequired', path: 'attachedRequired', preset: true },
  { field: 'podInfoOnMount', path: 'podInfoOnMount', preset: false },
  { field: 'storageCapacity', path: 'storageCapacity', preset: false },
  { field: 'requiresRepublish', path: undefined, preset: false },
  { field: 'seLinuxMount', path: 'seLinuxMount', preset: false },
] as const

function validateDriver(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const spec: CSIDriverSpec = (object as CSIDriver).spec ?? {}
  for (const { field, path } of flags) {
    if (path !== undefined && typeof spec[field] !== 'boolean') at.child(path).required()
  }
  validateOneOf(spec.fsGroupPolicy, groupPolicies, at.child('fsGroupPolicy'))
  validateTokenRequests(spec.tokenRequests ?? [], at.child('tokenRequests'))
  for (const mode of spec.volumeLifecycleModes ?? []) {
    validateOneOf(mode, lifecycleModes, at.child('volumeLifecycleModes'))
  }
  return at.errors
}

export const csiDriverStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const { spec } = object as CSIDriver
    if (!spec) return
    for (const { field, preset } of flags) spec[field] ??= preset
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
    if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
  },
  prepareForUpdate(object, old) {
    // There is no generation before the first change.
    if (semanticEqual(object['spec'], old['spec'])) return
    object.metadata.generation = (old.metadata.generation ?? 0) + 1
  },
  validate: validateDriver,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec')
    const [now, before] = [(object as CSIDriver).spec, (old as CSIDriver).spec]
    validateImmutable(
      { now: now.attachRequired, before: before.attachRequired },
      at.child('attachedRequired'),
    )
    validateImmutable(
      { now: now.volumeLifecycleModes, before: before.volumeLifecycleModes },
      at.child('volumeLifecycleModes'),
    )
    return [...validateDriver(object), ...at.errors]
  },
}

function validateNodeDriver(driver: CSINodeDriver, at: FieldPath): void {
  const { name, nodeID, allocatable, topologyKeys } = driver
  validateDriverName(name, at.child('name'))
  const nodeIdAt = at.child('nodeID')
  if (!nodeID) nodeIdAt.required()
  else if (Buffer.byteLength(nodeID) > maxNodeIdBytes) {
    nodeIdAt.invalid(nodeID, `must be ${maxNodeIdBytes} characters or less`)
  }
  validateNonNegative(allocatable?.count, at.child('allocatable').child('count'))
  const keys = topologyKeys ?? []
  for (const [i, key] of keys.entries()) {
    if (key === '') at.required()
    if (keys.indexOf(key) < i) at.duplicate(key)
    at.invalidEach(key, qualifiedName(key))
  }
}

function validateNode(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec').child('drivers')
  const drivers = (object as CSINode).spec?.drivers ?? []
  for (const [i, driver] of drivers.entries()) {
    validateNodeDriver(driver, at.index(i))
    const isRepeated = drivers.findIndex(({ name }) => name === driver.name) < i
    if (isRepeated) at.index(i).child('name').duplicate(driver.name)
  }
  return at.errors
}

export const csiNodeStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  validate: validateNode,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec').child('drivers')
    const drivers = (object as CSINode).spec?.drivers ?? []
    for (const before of (old as CSINode).spec?.drivers ?? []) {
      const now = drivers.find(({ name }) => name === before.name)
      if (now !== undefined) validateImmutable({ now, before, shown: goJson(now) }, at)
    }
    return [...validateNode(object), ...at.errors]
  },
}

function validateCapacity(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { nodeTopology, storageClassName, capacity } = object as CSIStorageCapacity
  validateLabelSelector(nodeTopology, root.child('nodeTopology'))
  validateSubdomain(storageClassName ?? '', root.child('storageClassName'))
  if (capacity !== undefined && isNegativeQuantity(capacity)) {
    root.child('capacity').invalid(shownQuantity(capacity), mustNotBeNegative)
  }
  return root.errors
}

export const csiStorageCapacityStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  validate: validateCapacity,
  validateUpdate(object, old) {
    const root = FieldPath.root()
    const [now, before] = [object as CSIStorageCapacity, old as CSIStorageCapacity]
    const shown = goLabelSelector(now.nodeTopology)
    validateImmutable(
      { now: now.nodeTopology, before: before.nodeTopology, shown },
      root.child('nodeTopology'),
    )
    validateImmutable(
      { now: now.storageClassName, before: before.storageClassName },
      root.child('storageClassName'),
    )
    return [...validateCapacity(object), ...root.errors]
  },
}
