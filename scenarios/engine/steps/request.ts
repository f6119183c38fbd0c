/** request: sends one HTTP request as a given user, and checks the response. */
import { brief } from '../../../components/machinery/objects/differences.ts'
import { pathShape } from '../expectation.ts'
import { answerFaults, answerTo, expectedAnswerFields } from '../expected-answer.ts'
import { actorShape, describeActor } from '../actors.ts'
import { boolean, described, object, optional, record } from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import { parsePath, valuesAt } from '../where.ts'

const shape = object({
  as: described('Who sends the request. Default: `admin`.', optional(actorShape)),
  ...expectedAnswerFields,
  show: described('`true`: the report shows the answer.', optional(boolean)),
  save: described('Variables to set, each with a path in the answer.', optional(record(pathShape))),
})

export const request = defineStep({
  name: 'request',
  summary: 'Send an HTTP request and check the answer.',
  shape,
  title: ({ as = 'admin', method = 'GET', path }) => `${method} ${path} as ${describeActor(as)}`,
  run: async (params, context) => {
    const { as = 'admin', method = 'GET', path } = params
    const { rest } = await context.clientAs(as)
    const answer = await answerTo(params, { rest, signal: context.signal })
    if (params.show === true) context.note(brief(answer.text, 1000))
    const expected = params.expect ?? {}
    const faults = answerFaults(answer, expected)
    if (faults.length > 0) {
      throw new AssertionFailure({
        message: `the answer to ${method} ${path} is not as expected`,
        expected: Object.entries(expected).map(
          ([field, value]) => `${field}: ${brief(value, 400)}`,
        ),
        actual: [...faults, brief(answer.text, 1000)],
      })
    }
    for (const [variable, from] of Object.entries(params.save ?? {})) {
      const [value] = valuesAt(answer.body, parsePath(from))
      if (value === undefined) throw new Error(`cannot save ${variable}: the answer has no ${from}`)
      context.variables.set(variable, value)
    }
  },
})
