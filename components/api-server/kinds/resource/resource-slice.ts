/** ResourceSlice (upstream: pkg/apis/resource/validation, pkg/registry/resource/resourceslice; KEP-4381). */
import type {
  BasicDevice,
  Device,
  DeviceAttribute,
  ResourcePool,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../../api/generated/types.ts'
import { isSemver } from '../../../machinery/validation/semver.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateNodeSelector } from '../core/pod/affinity-validation.ts'
import { goJson, validateImmutable, validateSubdomain } from '../rules/field-rules.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import { validateDriverName } from '../storage/csi-node.ts'
import type { Strategy } from '../strategy.ts'
import {
  validateEntries,
  validateLabelName,
  validatePoolName,
  validateQualifiedName,
  validateUnique,
} from './device-fields.ts'

const mostDevices = 128
const mostAttributesAndCapacities = 32
const longestValue = 64

function validateSlice(object: ResourceSlice, root: FieldPath): void {
  const at = root.child('spec')
  const spec = object.spec ?? {}
  validateDriverName(spec.driver, at.child('driver'))
  validatePool(spec.pool ?? {}, at.child('pool'))
  validateNodes(spec, at)
  const devicesAt = at.child('devices')
  const devices = spec.devices ?? []
  validateEntries(devices, { at: devicesAt, most: mostDevices }, validateDevice)
  validateUnique(
    devices.map(({ name }) => name ?? ''),
    devicesAt,
    'name',
  )
}

function validatePool(pool: Partial<ResourcePool>, at: FieldPath): void {
  const { name = '', resourceSliceCount: count = 0, generation = 0 } = pool
  validatePoolName(name, at.child('name'))
  if (count <= 0) at.child('resourceSliceCount').invalid(count, 'must be greater than zero')
  if (generation < 0) {
    at.child('generation').invalid(generation, 'must be greater than or equal to zero')
  }
}

function validateNodes(spec: ResourceSliceSpec, at: FieldPath): void {
  const { nodeName = '', nodeSelector, allNodes } = spec
  if (nodeName !== '') validateSubdomain(nodeName, at.child('nodeName'))
  if (nodeSelector !== undefined) {
    const selectorAt = at.child('nodeSelector')
    validateNodeSelector(nodeSelector, selectorAt)
    const terms = nodeSelector.nodeSelectorTerms ?? []
    if (terms.length !== 1) {
      const termsAt = selectorAt.child('nodeSelectorTerms')
      termsAt.invalid(goJson(terms), 'must have exactly one selector term')
    }
  }
  const homes = [nodeName !== '', nodeSelector !== undefined, allNodes === true].filter(Boolean)
  const why = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required'
  if (homes.length === 0) at.required(why)
  else if (homes.length > 1) at.invalid(goJson(spec), why)
}

function validateDevice({ name = '', basic }: Partial<Device>, at: FieldPath): void {
  validateLabelName(name, at.child('name'))
  if (basic === undefined) at.child('basic').required()
  else validateBasic(basic, at.child('basic'))
}

function validateBasic({ attributes = {}, capacity = {} }: BasicDevice, at: FieldPath): void {
  const attributesAt = at.child('attributes')
  for (const [name, attribute] of Object.entries(attributes)) {
    validateQualifiedName(name, attributesAt)
    validateAttribute(attribute, attributesAt.key(name))
  }
  for (const name of Object.keys(capacity)) validateQualifiedName(name, at.child('capacity'))
  const count = Object.keys(attributes).length + Object.keys(capacity).length
  if (count > mostAttributesAndCapacities) {
    const most = `must not exceed ${mostAttributesAndCapacities}`
    at.invalid(count, `the total number of attributes and capacities ${most}`)
  }
}

function validateAttribute(attribute: DeviceAttribute, at: FieldPath): void {
  const { string, version } = attribute
  if (string !== undefined && string.length > longestValue) at.child('string').tooLong(longestValue)
  if (version !== undefined) {
    const versionAt = at.child('version')
    if (!isSemver(version)) {
      versionAt.invalid(version, 'must be a string compatible with semver.org spec 2.0.0')
    }
    if (version.length > longestValue) versionAt.tooLong(longestValue)
  }
  const values = Object.values(attribute).filter((value) => value !== undefined).length
  if (values === 0) at.required('exactly one value must be specified')
  else if (values > 1) at.invalid(goJson(attribute), 'exactly one value must be specified')
}

export const resourceSliceStrategy: Strategy = {
  hasGeneration: true,
  ...validation(validateSlice, ({ object, old }: Change<ResourceSlice>, root) => {
    const at = root.child('spec')
    const [now, before] = [object.spec, old.spec]
    validateImmutable(
      { now: now?.pool?.name, before: before?.pool?.name },
      at.child('pool').child('name'),
    )
    validateImmutable({ now: now?.driver, before: before?.driver }, at.child('driver'))
    validateImmutable({ now: now?.nodeName, before: before?.nodeName }, at.child('nodeName'))
  }),
}
