/** DeviceClass, ResourceClaim, ResourceClaimTemplate and ResourceSlice: the principal rules. Off by default. */
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import {
  goJson,
  validateImmutable,
  validateLabel1123,
  validateSubdomain,
} from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const allocationModes = ['All', 'ExactCount']
const maxSelectors = 32
const maxRequests = 32

interface Selector {
  readonly cel?: { readonly expression?: string }
}

interface DeviceRequest {
  readonly name?: string
  readonly deviceClassName?: string
  readonly selectors?: readonly Selector[]
  allocationMode?: string
  count?: number
}

interface ClaimSpec {
  readonly devices?: { readonly requests?: DeviceRequest[] }
}

function requestsOf(spec: ClaimSpec | undefined): DeviceRequest[] {
  return spec?.devices?.requests ?? []
}

function defaultClaim(spec: ClaimSpec | undefined): void {
  for (const request of requestsOf(spec)) {
    request.allocationMode ||= 'ExactCount'
    if (request.allocationMode === 'ExactCount') request.count ||= 1
  }
}

function validateSelectors(selectors: readonly Selector[] | undefined, at: FieldPath): void {
  const given = selectors ?? []
  if (given.length > maxSelectors) at.tooMany(given.length, maxSelectors)
  for (const [i, { cel }] of given.entries()) {
    if (!cel) at.index(i).child('cel').required()
    else if (!cel.expression) at.index(i).child('cel').child('expression').required()
  }
}

function validateClaim(spec: ClaimSpec | undefined, at: FieldPath): void {
  const requests = requestsOf(spec)
  const requestsAt = at.child('devices').child('requests')
  if (requests.length > maxRequests) requestsAt.tooMany(requests.length, maxRequests)
  for (const [i, request] of requests.entries()) {
    const { name = '', deviceClassName = '', selectors, allocationMode = '', count = 0 } = request
    const requestAt = requestsAt.index(i)
    if (name === '') requestAt.child('name').required()
    else validateLabel1123(name, requestAt.child('name'))
    if (requests.findIndex((other) => other.name === name) < i) requestAt.duplicate(name)
    if (deviceClassName === '') requestAt.child('deviceClassName').required()
    else validateSubdomain(deviceClassName, requestAt.child('deviceClassName'))
    validateSelectors(selectors, requestAt.child('selectors'))
    const countAt = requestAt.child('count')
    if (!allocationModes.includes(allocationMode)) {
      requestAt.child('allocationMode').unsupported(allocationMode, allocationModes)
    } else if (allocationMode === 'All') {
      if (count !== 0) {
        countAt.invalid(count, "must not be specified when allocationMode is 'All'")
      }
    } else if (count <= 0) countAt.invalid(count, 'must be greater than zero')
  }
}

/** The whole spec stays. */
function specErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const [now, before] = [object, old].map((state): unknown => state['spec'])
  validateImmutable({ now, before, shown: goJson(now) }, at)
  return at.errors
}

export const resourceClaimStrategy: Strategy = {
  applyDefaults(object) {
    defaultClaim(object['spec'] as ClaimSpec | undefined)
  },
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate(object) {
    const at = FieldPath.root('spec')
    validateClaim(object['spec'] as ClaimSpec | undefined, at)
    return at.errors
  },
  validateUpdate: specErrors,
  subresources: { status: { prepareForUpdate: restoreAllButStatus } },
}

function templatedClaim(object: KubeObject): ClaimSpec | undefined {
  return (object['spec'] as { spec?: ClaimSpec } | undefined)?.spec
}

export const resourceClaimTemplateStrategy: Strategy = {
  applyDefaults(object) {
    defaultClaim(templatedClaim(object))
  },
  validate(object) {
    const at = FieldPath.root('spec').child('spec')
    validateClaim(templatedClaim(object), at)
    return at.errors
  },
  validateUpdate: specErrors,
}

function validateDeviceClass(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const { selectors } = (object['spec'] ?? {}) as { selectors?: Selector[] }
  validateSelectors(selectors, at.child('selectors'))
  return at.errors
}

export const deviceClassStrategy: Strategy = {
  hasGeneration: true,
  validate: validateDeviceClass,
  validateUpdate: validateDeviceClass,
}

interface SliceSpec {
  readonly driver?: string
  readonly pool?: { readonly name?: string; readonly resourceSliceCount?: number }
  readonly nodeName?: string
  readonly nodeSelector?: object
  readonly allNodes?: boolean
}

function validateSlice(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const spec = (object['spec'] ?? {}) as SliceSpec
  const { driver = '', pool, nodeName = '', nodeSelector, allNodes } = spec
  const homes = [nodeName !== '', Boolean(nodeSelector), allNodes === true].filter(Boolean).length
  if (nodeName !== '') validateSubdomain(nodeName, at.child('nodeName'))
  if (driver === '') at.child('driver').required()
  else validateSubdomain(driver, at.child('driver'))
  if (!pool?.name) at.child('pool').child('name').required()
  const { resourceSliceCount: count = 0 } = pool ?? {}
  if (count <= 0) {
    at.child('pool').child('resourceSliceCount').invalid(count, 'must be greater than zero')
  }
  const why = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required'
  if (homes === 0) at.required(why)
  else if (homes > 1) at.invalid(goJson(spec), why)
  return at.errors
}

export const resourceSliceStrategy: Strategy = {
  hasGeneration: true,
  validate: validateSlice,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec')
    const [now, before] = [object, old].map((state) => (state['spec'] ?? {}) as SliceSpec)
    const [pool, oldPool] = [now?.pool?.name, before?.pool?.name]
    validateImmutable({ now: now?.driver, before: before?.driver }, at.child('driver'))
    validateImmutable({ now: pool, before: oldPool }, at.child('pool').child('name'))
    validateImmutable({ now: now?.nodeName, before: before?.nodeName }, at.child('nodeName'))
    return [...validateSlice(object), ...at.errors]
  },
}
