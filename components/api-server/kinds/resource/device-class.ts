/** DeviceClass: the principal rules (upstream: pkg/apis/resource/validation). Off by default. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateSelectors, type Selector } from './device-selectors.ts'

function validateDeviceClass(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const { selectors } = (object['spec'] ?? {}) as { selectors?: Selector[] }
  validateSelectors(selectors, at.child('selectors'))
}

export const deviceClassStrategy: Strategy = {
  hasGeneration: true,
  ...validation(validateDeviceClass),
}
