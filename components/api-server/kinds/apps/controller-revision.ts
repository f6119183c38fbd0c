/** ControllerRevision (upstream: pkg/apis/apps/validation, pkg/registry/apps/controllerrevision). */
import type { ControllerRevision } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateNonNegative, validateImmutable } from '../rules/field-rules.ts'

function validateRevision(object: KubeObject, root: FieldPath): void {
  const { data, revision } = object as ControllerRevision & KubeObject
  if (data === undefined || data === null) root.child('data').required('data is mandatory')
  validateNonNegative(revision, root.child('revision'))
}

export const controllerRevisionStrategy: Strategy = {
  ...validation(validateRevision, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('data')
    validateImmutable({ now: object['data'], before: old['data'] }, at)
  }),
}
