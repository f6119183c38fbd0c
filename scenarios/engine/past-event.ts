/** Past event: the fields of a file that describe something that happened to an object, and how it is found in a record. PURE. */
import { createJudge, describeExpectation, pathShape } from './expectation.ts'
import { conditionFields, expectationOf, selectionFields } from './expected-objects.ts'
import { describeSelection } from './selection.ts'
import type { Moment } from './selection-record.ts'
import { choice, described, optional } from '../../cluster/shape.ts'
import type { ObjectOf } from '../../cluster/shape.ts'
import { parsePath, valuesAt } from './where.ts'

export const pastEventFields = {
  ...selectionFields,
  ...conditionFields,
  event: described(
    'What happened: the object was created, changed or deleted. Default: it came to meet the conditions.',
    optional(choice('created', 'changed', 'deleted')),
  ),
  changes: described(
    'A path: the value there changed, and the object meets the conditions then.',
    optional(pathShape),
  ),
}

export type PastEvent = ObjectOf<typeof pastEventFields>

export function describePastEvent(event: PastEvent): string {
  const { event: type, changes } = event
  const conditions = describeExpectation(expectationOf(event))
  const what = [
    ...(type === undefined ? [] : [type]),
    ...(changes === undefined ? [] : [`${changes} changed`]),
  ]
  const came = what.length === 0 && conditions.length > 0 ? ['came to'] : what
  return [describeSelection(event), [...came, conditions.join(', ')].filter(Boolean).join(': ')]
    .filter(Boolean)
    .join(' ')
}

/** Compiles the description: whether a moment is such an event. */
export function createPastEventTest(event: PastEvent): (moment: Moment) => boolean {
  const judge = createJudge(expectationOf(event))
  const meets = (object: Moment['before']): boolean =>
    object !== undefined && judge([object]).matching.length > 0
  const path = event.changes === undefined ? undefined : parsePath(event.changes)
  return ({ type, object, before }) => {
    if (event.event !== undefined && type !== event.event) return false
    if (path !== undefined) {
      if (before === undefined || type === 'deleted') return false
      const [is, was] = [object, before].map((one) => JSON.stringify(valuesAt(one, path)))
      return is !== was && meets(object)
    }
    if (event.event !== undefined) return meets(object)
    return type !== 'deleted' && meets(object) && !meets(before)
  }
}
