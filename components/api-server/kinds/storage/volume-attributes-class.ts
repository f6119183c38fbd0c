/** VolumeAttributesClass (upstream: pkg/apis/storage/validation, pkg/registry/storage/volumeattributesclass). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateProvisioner, validateParameters, validateFixed } from './class-rules.ts'

interface AttributesClass {
  readonly driverName?: string
  readonly parameters?: Record<string, string>
}

function validateAttributes(object: KubeObject, root: FieldPath): void {
  const { driverName, parameters } = object as AttributesClass
  validateProvisioner(driverName, root.child('driverName'))
  validateParameters(parameters ?? {}, root.child('parameters'), true)
}

export const volumeAttributesClassStrategy: Strategy = {
  ...validation(validateAttributes),
  // As upstream, what the update changes comes first.
  validateUpdate: updateValidation((change: Change<KubeObject>, root) => {
    validateFixed(change, ['driverName', 'parameters'], root)
    validateAttributes(change.object, root)
  }),
}
