/** request: sends one HTTP request as a given user, and checks the response. */
import { brief } from '../../../components/machinery/objects/differences.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { conditionShape, pathShape } from '../expectation.ts'
import { actorShape, describeActor } from '../actors.ts'
import {
  anything,
  described,
  integer,
  object,
  oneOrMore,
  optional,
  record,
  string,
} from '../shape.ts'
import type { ShapeType } from '../shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import { missingFrom } from '../subset.ts'
import { parseCondition, parsePath, valuesAt } from '../where.ts'

const shape = object({
  as: described('Who sends the request. Default: `admin`.', optional(actorShape)),
  method: described('Default: `GET`.', optional(string)),
  path: described('Path and query of the URL.', string),
  headers: described('Further headers.', optional(record(string))),
  contentType: described('Media type of the body.', optional(string)),
  body: described('The body, sent as JSON.', optional(anything)),
  expect: described(
    'What the answer must be.',
    optional(
      object({
        status: described(
          'Expected status. Default: 200, which stands for any success.',
          optional(integer),
        ),
        reason: described(
          'Expected reason of the Status in the answer, such as `NotFound`.',
          optional(string),
        ),
        contains: described('Text that the answer must contain.', optional(string)),
        where: described(
          'Conditions that the answer must meet.',
          optional(oneOrMore(conditionShape)),
        ),
        match: described('Content that the answer must have.', optional(anything)),
      }),
    ),
  ),
  save: described('Variables to set, each with a path in the answer.', optional(record(pathShape))),
})
type Params = ShapeType<typeof shape>

interface Answer {
  readonly status: number
  readonly text: string
  readonly body: unknown
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // not every response is JSON
  }
}

/** The faults of a response, line by line. */
function faultsOf(answer: Answer, expected: NonNullable<Params['expect']>): string[] {
  const faults: string[] = []
  const { status = 200, reason, contains, where = [], match } = expected
  const isExpected = status === 200 ? answer.status < 300 : answer.status === status
  if (!isExpected) faults.push(`status ${answer.status}`)
  const got = (answer.body as { reason?: string } | undefined)?.reason
  if (reason !== undefined && got !== reason) faults.push(`reason ${got ?? 'none'}`)
  if (contains !== undefined && !answer.text.includes(contains)) faults.push('other text')
  for (const condition of where.map(parseCondition)) {
    const { holds, values } = condition.test(answer.body)
    if (!holds) faults.push(`${condition.text}: it is ${brief(values)}`)
  }
  for (const { path, wanted, got: is } of match === undefined
    ? []
    : missingFrom(answer.body, match)) {
    faults.push(`${path}: wanted ${brief(wanted)}, got ${brief(is)}`)
  }
  return faults
}

export const request = defineStep({
  name: 'request',
  summary: 'Send an HTTP request and check the answer.',
  shape,
  title: ({ as = 'admin', method = 'GET', path }) => `${method} ${path} as ${describeActor(as)}`,
  run: async (params, context) => {
    const { as = 'admin', method = 'GET', path, body, headers, contentType } = params
    const { rest } = await context.clientAs(as)
    const sent = {
      method,
      path,
      signal: context.signal,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
      ...(contentType === undefined ? {} : { contentType }),
    }
    const answer = await rest.bytes(sent).then(
      ({ status, body: bytes }): Answer => {
        const text = bytes.toString()
        return { status, text, body: parsed(text) }
      },
      (error: unknown): Answer => {
        if (!isStatusError(error)) throw error
        const status = error.toStatus()
        return { status: error.code, text: JSON.stringify(status), body: status }
      },
    )
    const expected = params.expect ?? {}
    const faults = faultsOf(answer, expected)
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
