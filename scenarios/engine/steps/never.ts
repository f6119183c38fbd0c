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
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'
import { watchMeanwhile } from '../watch-meanwhile.ts'

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

export function createNever(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'never',
    summary: 'No object may meet the conditions at any moment while steps run, or for a time.',
    shape: oneOf(
      ['during', 'for'],
      object({
        ...selectionFields,
        ...conditionFields,
        count: described(
          'How many objects that meet them are too many. Default: one.',
          optional(countShape),
        ),
        ...timeFields(steps),
      }),
    ),
    title: (params) =>
      `never ${describeSelection(params)}: ${describeExpectation(expectationOf(params)).join(', ')}, ${whenText(params)}`,
    run: async (params, context) => {
      const expectation = expectationOf(params)
      const { during, for: forMs } = params
      const isRight = (verdict: Verdict): boolean => !isMet(expectation, verdict)
      const guard = { selection: params, expectation, isRight, during, forMs }
      await watchMeanwhile({ ...guard, wrong: 'it was so, and must never be' }, context)
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
      const expectation = expectationOf(params)
      const { during, for: forMs } = params
      const isRight = (verdict: Verdict): boolean => verdict.holds
      const guard = { selection: params, expectation, isRight, during, forMs }
      await watchMeanwhile({ ...guard, wrong: 'it did not hold all the time' }, context)
    },
  })
}
