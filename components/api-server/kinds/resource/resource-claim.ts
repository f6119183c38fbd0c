/** ResourceClaim and ResourceClaimTemplate (upstream: pkg/apis/resource/validation, pkg/registry/resource; KEP-4381). */
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
} from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goJson, validateImmutable, validateSubdomain } from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { validateTemplateObjectMeta } from '../rules/template-object-meta.ts'
import type { Strategy } from '../strategy.ts'
import { claimStatusStrategy } from './claim-status.ts'
import {
  mostEntries,
  validateConfiguration,
  validateEntries,
  validateLabelName,
  validateQualifiedName,
  validateSelectors,
  validateUnique,
  type CompileSelector,
} from './device-fields.ts'
import { requestNamesOf, validateRequestNames } from './request-names.ts'

const allocationModes = ['All', 'ExactCount']

function requestsOf(spec: ResourceClaimSpec | undefined): DeviceRequest[] {
  return spec?.devices?.requests ?? []
}

function defaultClaim(spec: ResourceClaimSpec | undefined): void {
  for (const request of requestsOf(spec)) {
    request.allocationMode ||= 'ExactCount'
    if (request.allocationMode === 'ExactCount') request.count ||= 1
  }
}

/** Fields of requests behind the gate DRAAdminAccess; a claim that has them keeps them. */
function dropAdminAccess(
  spec: ResourceClaimSpec | undefined,
  old: ResourceClaimSpec | undefined,
  { DRAAdminAccess: isOn }: FeatureGates,
): void {
  if (isOn || requestsOf(old).some(({ adminAccess }) => adminAccess !== undefined)) return
  for (const request of requestsOf(spec)) delete request.adminAccess
}

function validateClaim(
  spec: ResourceClaimSpec | undefined,
  at: FieldPath,
  compile: CompileSelector,
): void {
  const devices: DeviceClaim = spec?.devices ?? {}
  const devicesAt = at.child('devices')
  const requests = requestsOf(spec)
  const requestsAt = devicesAt.child('requests')
  validateEntries(requests, { at: requestsAt, most: mostEntries }, (request, requestAt) => {
    validateRequest(request, requestAt, compile)
  })
  validateUnique(
    requests.map(({ name }) => name ?? ''),
    requestsAt,
    'name',
  )
  const names = requestNamesOf(devices)
  const constraintsAt = devicesAt.child('constraints')
  const constraints = devices.constraints ?? []
  validateEntries(constraints, { at: constraintsAt, most: mostEntries }, (one, oneAt) => {
    validateConstraint(one, oneAt, names)
  })
  const configAt = devicesAt.child('config')
  validateEntries(devices.config ?? [], { at: configAt, most: mostEntries }, (one, oneAt) => {
    validateRequestNames(one.requests, oneAt.child('requests'), names)
    validateConfiguration(one, oneAt)
  })
}

function validateRequest(request: DeviceRequest, at: FieldPath, compile: CompileSelector): void {
  const { name = '', deviceClassName = '', selectors, allocationMode = '', count = 0 } = request
  validateLabelName(name, at.child('name'))
  if (deviceClassName === '') at.child('deviceClassName').required()
  else validateSubdomain(deviceClassName, at.child('deviceClassName'))
  validateSelectors(selectors, at.child('selectors'), compile)
  const countAt = at.child('count')
  if (!allocationModes.includes(allocationMode)) {
    at.child('allocationMode').unsupported(allocationMode, allocationModes)
  } else if (allocationMode === 'All') {
    if (count !== 0) countAt.invalid(count, "must not be specified when allocationMode is 'All'")
  } else if (count <= 0) countAt.invalid(count, 'must be greater than zero')
}

function validateConstraint(
  { requests, matchAttribute }: DeviceConstraint,
  at: FieldPath,
  names: ReadonlySet<string>,
): void {
  validateRequestNames(requests, at.child('requests'), names)
  const attributeAt = at.child('matchAttribute')
  if (matchAttribute === undefined) {
    attributeAt.required()
    return
  }
  validateQualifiedName(matchAttribute, attributeAt)
  if (!matchAttribute.includes('/')) attributeAt.child('domain').required('must include a prefix')
}

/** The whole spec stays. */
function validateSameSpec({ object, old }: Change<KubeObject>, root: FieldPath): void {
  const [now, before] = [object, old].map((state): unknown => state['spec'])
  validateImmutable({ now, before, shown: goJson(now) }, root.child('spec'))
}

const gateOff = 'the feature gate DynamicResourceAllocation is off: no devices are allocated'

interface ClaimPlace {
  readonly specOf: (object: KubeObject) => ResourceClaimSpec | undefined
  readonly at: (root: FieldPath) => FieldPath
  /** What surrounds the claim's spec. */
  readonly validateRest?: (object: KubeObject, root: FieldPath) => void
}

function claimRules({ specOf, at, validateRest }: ClaimPlace): Strategy {
  const rulesWith = (compile: CompileSelector): Strategy => ({
    validate: createValidation((object: KubeObject, root) => {
      validateRest?.(object, root)
      validateClaim(specOf(object), at(root), compile)
    }),
    // Expressions of a spec that cannot change were compiled when it was stored.
    validateUpdate: updateValidation((change: Change<KubeObject>, root) => {
      validateSameSpec(change, root)
      validateRest?.(change.object, root)
      validateClaim(specOf(change.object), at(root), undefined)
    }),
  })
  const strategy: Strategy = {
    applyDefaults: (object) => defaultClaim(specOf(object)),
    prepareForCreate: (object, { gates }) => dropAdminAccess(specOf(object), undefined, gates),
    prepareForUpdate: (object, old, { gates }) => {
      dropAdminAccess(specOf(object), specOf(old), gates)
    },
    warnings: (_, old, { gates }) =>
      old === undefined && !gates.DynamicResourceAllocation ? [gateOff] : [],
    ...rulesWith(undefined),
  }
  return {
    ...strategy,
    load(object) {
      if (!requestsOf(specOf(object)).some(({ selectors }) => selectors?.length)) return undefined
      return import('../../../cel/device-selector.ts').then(({ compileDeviceSelector }) => ({
        ...this,
        ...rulesWith(compileDeviceSelector),
      }))
    },
  }
}

const claim = claimRules({
  specOf: (object) => (object as unknown as ResourceClaim).spec,
  at: (root) => root.child('spec'),
})

export const resourceClaimStrategy: Strategy = {
  ...claim,
  prepareForCreate(object, context) {
    object['status'] = {}
    claim.prepareForCreate?.(object, context)
  },
  subresources: { status: claimStatusStrategy },
}

export const resourceClaimTemplateStrategy: Strategy = claimRules({
  specOf: (object) => (object as unknown as ResourceClaimTemplate).spec?.spec,
  at: (root) => root.child('spec').child('spec'),
  validateRest: (object, root) => {
    const { metadata } = (object as unknown as ResourceClaimTemplate).spec ?? {}
    validateTemplateObjectMeta(metadata, root.child('spec').child('metadata'))
  },
})
