/** Expected objects: the fields of a file that select objects and say what they must be like. */
import { celShape, parseCelCondition } from './cel-condition.ts'
import { conditionShape, countShape } from './expectation.ts'
import type { Expectation } from './expectation.ts'
import { anything, boolean, described, oneOrMore, optional, string } from '../../cluster/shape.ts'
import type { ObjectOf } from '../../cluster/shape.ts'

/** Which objects. */
export const selectionFields = {
  kind: described('The kind, its plural or a short name.', string),
  apiVersion: described('Only needed for a kind of several groups.', optional(string)),
  name: described('Select the object of this name.', optional(string)),
  namespace: described('Default: `default`; `*` selects all namespaces.', optional(string)),
  labelSelector: described('Select objects by label.', optional(string)),
  fieldSelector: described('Select objects by field.', optional(string)),
}

/** What an object must be like. */
export const conditionFields = {
  where: described(
    'Conditions that each object must meet: `PATH OPERATOR VALUE`.',
    optional(oneOrMore(conditionShape)),
  ),
  cel: described(
    'CEL expressions over `object` that must be true for each object.',
    optional(oneOrMore(celShape)),
  ),
  match: described(
    'Content that each object must have; lists item by item, `null` means absent.',
    optional(anything),
  ),
}

export const expectedObjectFields = {
  ...selectionFields,
  ...conditionFields,
  count: described(
    'How many objects must match. Default: every selected object, and at least one.',
    optional(countShape),
  ),
  absent: described('`true`: no object may match.', optional(boolean)),
}

export function expectationOf({
  where = [],
  cel,
  match,
  count,
  absent = false,
}: ObjectOf<typeof expectedObjectFields>): Expectation {
  const parsed = cel === undefined ? undefined : { texts: cel, parse: parseCelCondition }
  return { where, match, count, absent, cel: parsed }
}
