/** ResourceClaim and ResourceClaimTemplate: the principal rules (upstream: pkg/apis/resource/validation). Off by default. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy } from '../strategy.ts'
import {
  validateLabel1123,
  validateSubdomain,
  goJson,
  validateImmutable,
} from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { validateSelectors, type Selector } from './device-selectors.ts'

const allocationModes = ['All', 'ExactCount']

const maxRequests = 32

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
function validateSameSpec({ object, old }: Change<KubeObject>, root: FieldPath): void {
  const [now, before] = [object, old].map((state): unknown => state['spec'])
  validateImmutable({ now, before, shown: goJson(now) }, root.child('spec'))
}

export const resourceClaimStrategy: Strategy = {
  applyDefaults(object) {
    defaultClaim(object['spec'] as ClaimSpec | undefined)
  },
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: createValidation((object: KubeObject, root) => {
    validateClaim(object['spec'] as ClaimSpec | undefined, root.child('spec'))
  }),
  validateUpdate: updateValidation(validateSameSpec),
  subresources: { status: { prepareForUpdate: restoreAllButStatus } },
}

function templatedClaim(object: KubeObject): ClaimSpec | undefined {
  return (object['spec'] as { spec?: ClaimSpec } | undefined)?.spec
}

export const resourceClaimTemplateStrategy: Strategy = {
  applyDefaults(object) {
    defaultClaim(templatedClaim(object))
  },
  validate: createValidation((object: KubeObject, root) => {
    validateClaim(templatedClaim(object), root.child('spec').child('spec'))
  }),
  validateUpdate: updateValidation(validateSameSpec),
}
