/** DeviceClass: the principal rules (upstream: pkg/apis/resource/validation). Off by default. */
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { validateSelectors, type Selector } from './device-selectors.ts'

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
