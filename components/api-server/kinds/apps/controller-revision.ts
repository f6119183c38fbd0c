/** ControllerRevision (upstream: pkg/apis/apps/validation, pkg/registry/apps/controllerrevision). */
import type { ControllerRevision } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateNonNegative, validateImmutable } from '../rules/field-rules.ts'

function validateRevision({ revision }: ControllerRevision, root: FieldPath): void {
  validateNonNegative(revision, root.child('revision'))
}

function validateData(data: unknown, at: FieldPath): void {
  if (data === undefined || data === null) at.required('data is mandatory')
  else if (typeof data !== 'object' || Array.isArray(data))
    at.required('data must be a valid JSON object')
}

export const controllerRevisionStrategy: Strategy = {
  validate: createValidation((object: ControllerRevision & KubeObject, root) => {
    validateRevision(object, root)
    validateData(object.data, root.child('data'))
  }),
  validateUpdate: updateValidation(({ object, old }: Change<ControllerRevision>, root) => {
    validateRevision(object, root)
    validateImmutable({ now: object.data, before: old.data }, root.child('data'))
  }),
}
