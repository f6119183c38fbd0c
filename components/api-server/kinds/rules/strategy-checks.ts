/** Turns validators that report through a path into the hooks of a Strategy. */
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { StrategyContext } from '../strategy.ts'

type Check<T> = (object: T, root: FieldPath, context: StrategyContext) => void
type Compare<T> = (change: Change<T>, root: FieldPath, context: StrategyContext) => void

/** Two states of one object. */
export interface Change<T> {
  readonly object: T
  readonly old: T
}

/** The hooks `validate` and `validateUpdate`: on update all rules of a state come first, then those of the change. */
export function validation<T>(check: Check<T>, compare?: Compare<T>) {
  const validateUpdate = updateValidation<T>((change, root, context) => {
    check(change.object, root, context)
    compare?.(change, root, context)
  })
  return { validate: createValidation(check), validateUpdate }
}

/** The hook `validate` of a kind whose updates follow rules of their own. */
export function createValidation<T>(check: Check<T>) {
  return (object: KubeObject, context: StrategyContext): FieldError[] => {
    const root = FieldPath.root()
    check(object as unknown as T, root, context)
    return root.errors
  }
}

/** The hook `validateUpdate` of a kind or sub-resource with rules of its own for changes. */
export function updateValidation<T>(compare: Compare<T>) {
  return (object: KubeObject, old: KubeObject, context: StrategyContext): FieldError[] => {
    const root = FieldPath.root()
    compare({ object: object as unknown as T, old: old as unknown as T }, root, context)
    return root.errors
  }
}
