/** ControllerRevision (upstream: pkg/apis/apps/validation, pkg/registry/apps/controllerrevision). */
import type { ControllerRevision } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { validateNonNegative, validateImmutable } from '../rules/field-rules.ts'

function validateRevision(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { data, revision } = object as ControllerRevision & KubeObject
  if (data === undefined || data === null) root.child('data').required('data is mandatory')
  validateNonNegative(revision, root.child('revision'))
  return root.errors
}

export const controllerRevisionStrategy: Strategy = {
  validate: validateRevision,
  validateUpdate(object, old) {
    const at = FieldPath.root().child('data')
    validateImmutable({ now: object['data'], before: old['data'] }, at)
    return [...validateRevision(object), ...at.errors]
  },
}
