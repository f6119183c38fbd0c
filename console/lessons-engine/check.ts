/** Check: how a lesson sees that a step is done. All of its conditions have to hold at the same time. */
import { pathShape, conditionShape } from '../../scenarios/engine/expectation.ts'
import { expectedAnswerFields } from '../../scenarios/engine/expected-answer.ts'
import { expectedObjectFields } from '../../scenarios/engine/expected-objects.ts'
import {
  described,
  notEmpty,
  object,
  oneOrMore,
  optional,
  record,
  regularExpression,
  string,
} from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'
import { impersonatedShape } from './impersonation.ts'

const save = described(
  'Variables to set, each with a path in what was found.',
  optional(record(pathShape)),
)

const objectsShape = object({ ...expectedObjectFields, save })

const answerShape = object({
  as: described(
    'Who sends the request, by impersonation. Default: the viewer.',
    optional(impersonatedShape),
  ),
  ...expectedAnswerFields,
  again: described(
    'Kinds: the request is sent again when one of their objects changes.',
    oneOrMore(string),
  ),
  save,
})

const componentShape = object({
  name: described('Name of the component, as `skiff status` shows it.', string),
  where: described(
    'Conditions on its status: `state == ready`, `restarts > 0`.',
    oneOrMore(conditionShape),
  ),
  save,
})

const questionShape = object({
  question: described('What the learner answers.', string),
  matches: described(
    'A regular expression, without regard to case, that a right answer and the output of the command match.',
    regularExpression,
  ),
})

/** The fields of each condition, for the reference. */
export const conditionShapes = {
  expect: objectsShape,
  request: answerShape,
  component: componentShape,
  answer: questionShape,
}

export const checkShape = notEmpty(
  object({
    expect: described('Objects are as described.', optional(oneOrMore(objectsShape))),
    request: described('A request gets the expected answer.', optional(oneOrMore(answerShape))),
    component: described(
      "A component's status is as described. Needs a cluster of this machine.",
      optional(oneOrMore(componentShape)),
    ),
    answer: described('The learner answers a question.', optional(questionShape)),
  }),
)

export type Check = ShapeType<typeof checkShape>
export type ObjectsCondition = ShapeType<typeof objectsShape>
export type AnswerCondition = ShapeType<typeof answerShape>
export type ComponentCondition = ShapeType<typeof componentShape>
export type Question = ShapeType<typeof questionShape>
