/** DeviceClass (upstream: pkg/apis/resource/validation, pkg/registry/resource/deviceclass; KEP-4381). */
import type { DeviceClass } from '../../../api/generated/types.ts'
import { deepEqual } from '../../../machinery/objects/object.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import {
  mostEntries,
  validateConfiguration,
  validateEntries,
  validateSelectors,
  type CompileSelector,
} from './device-fields.ts'

function validateClass({ spec }: DeviceClass, root: FieldPath, compile: CompileSelector): void {
  const at = root.child('spec')
  validateSelectors(spec?.selectors, at.child('selectors'), compile)
  const configAt = at.child('config')
  validateEntries(spec?.config ?? [], { at: configAt, most: mostEntries }, validateConfiguration)
}

function rulesWith(compile: CompileSelector): Pick<Strategy, 'validate' | 'validateUpdate'> {
  return {
    validate: createValidation((object: DeviceClass, root) => {
      validateClass(object, root, compile)
    }),
    validateUpdate: updateValidation(({ object, old }: Change<DeviceClass>, root) => {
      const areStored = deepEqual(object.spec?.selectors ?? [], old.spec?.selectors ?? [])
      validateClass(object, root, areStored ? undefined : compile)
    }),
  }
}

export const deviceClassStrategy: Strategy = {
  hasGeneration: true,
  load(object) {
    if (!(object as unknown as DeviceClass).spec?.selectors?.length) return undefined
    return import('../../../cel/device-selector.ts').then(({ compileDeviceSelector }) => ({
      ...deviceClassStrategy,
      ...rulesWith(compileDeviceSelector),
    }))
  },
  ...rulesWith(undefined),
}
