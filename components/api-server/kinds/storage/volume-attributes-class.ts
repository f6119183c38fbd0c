/** VolumeAttributesClass (upstream: pkg/apis/storage/validation, pkg/registry/storage/volumeattributesclass). */
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { validateProvisioner, validateParameters, validateFixed } from './class-rules.ts'

interface AttributesClass {
  readonly driverName?: string
  readonly parameters?: Record<string, string>
}

function validateAttributes(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { driverName, parameters } = object as AttributesClass
  validateProvisioner(driverName, root.child('driverName'))
  validateParameters(parameters ?? {}, root.child('parameters'), true)
  return root.errors
}

export const volumeAttributesClassStrategy: Strategy = {
  validate: validateAttributes,
  validateUpdate: (object, old) => [
    ...validateFixed(object, old, ['driverName', 'parameters']),
    ...validateAttributes(object),
  ],
}
