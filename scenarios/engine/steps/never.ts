/** never, holds: what must not, or must, be so at any moment while steps run, or for a time. */
import { countShape, describeExpectation } from '../expectation.ts'
import type { Expectation, Verdict } from '../expectation.ts'
import {
  conditionFields,
  expectationOf,
  expectedObjectFields,
  selectionFields,
} from '../expected-objects.ts'
import { describeSelection } from '../selection.ts'
import {
  described,
  duration,
  object,
  oneOf,
  optional,
  secondsText,
} from '../../../cluster/shape.ts'
import type { Shape, ShapeType } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'
import { stepsOrTime, watchMeanwhile } from '../watch-meanwhile.ts'
import type { Guard } from '../watch-meanwhile.ts'

function timeFields(steps: Shape<ScenarioStep[]>) {
  return {
    during: described('Steps that run meanwhile.', optional(steps)),
    for: described('How long, in place of steps.', optional(duration)),
  }
}

const whenText = (params: { during?: readonly ScenarioStep[]; for?: number }): string =>
  params.during === undefined
    ? `for ${secondsText(params.for ?? 0)}`
    : `while: ${params.during.map((one) => one.title).join('; ')}`

/** Without a count one object is one too many. */
const isMet = ({ count }: Expectation, { holds, matching }: Verdict): boolean =>
  count === undefined ? matching.length > 0 : holds

const neverFields = {
  ...selectionFields,
  ...conditionFields,
  count: described(
    'How many objects that meet them are too many. Default: one.',
    optional(countShape),
  ),
}

/** What must never be so, for a step that says itself how long. */
export const neverShape = object(neverFields)
/** What must be so all the time. */
export const holdsShape = object(expectedObjectFields)

type Rule = Omit<Guard, 'meanwhile'>

export function neverRule(params: ShapeType<typeof neverShape>): Rule {
  const expectation = expectationOf(params)
  return {
    selection: params,
    expectation,
    isRight: (verdict) => !isMet(expectation, verdict),
    wrong: 'it was so, and must never be',
  }
}

export function holdsRule(params: ShapeType<typeof holdsShape>): Rule {
  return {
    selection: params,
    expectation: expectationOf(params),
    isRight: ({ holds }) => holds,
    wrong: 'it did not hold all the time',
  }
}

export function createNever(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'never',
    summary: 'No object may meet the conditions at any moment while steps run, or for a time.',
    shape: oneOf(['during', 'for'], object({ ...neverFields, ...timeFields(steps) })),
    title: (params) =>
      `never ${describeSelection(params)}: ${describeExpectation(expectationOf(params)).join(', ')}, ${whenText(params)}`,
    run: async (params, context) => {
      const { during, for: forMs } = params
      const meanwhile = stepsOrTime({ during, forMs }, context)
      await watchMeanwhile({ ...neverRule(params), meanwhile }, context)
    },
  })
}

export function createHolds(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'holds',
    summary: 'Objects are as described at every moment while steps run, or for a time.',
    shape: oneOf(['during', 'for'], object({ ...expectedObjectFields, ...timeFields(steps) })),
    title: (params) =>
      `${describeSelection(params)} holds: ${describeExpectation(expectationOf(params)).join(', ')}, ${whenText(params)}`,
    run: async (params, context) => {
      const { during, for: forMs } = params
      const meanwhile = stepsOrTime({ during, forMs }, context)
      await watchMeanwhile({ ...holdsRule(params), meanwhile }, context)
    },
  })
}
