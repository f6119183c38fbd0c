/** Expected answer: the fields of a file that describe an HTTP request and the answer to it. */
import type { RestClient } from '../../components/client/rest-client.ts'
import { brief } from '../../components/machinery/objects/differences.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { conditionShape } from './expectation.ts'
import {
  anything,
  described,
  integer,
  object,
  oneOrMore,
  optional,
  record,
  string,
} from '../../cluster/shape.ts'
import type { ObjectOf } from '../../cluster/shape.ts'
import { missingFrom } from './subset.ts'
import { parseCondition } from './where.ts'

export const expectedAnswerFields = {
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
}

export type ExpectedAnswer = ObjectOf<typeof expectedAnswerFields>

export interface Answer {
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
export function answerFaults(
  answer: Answer,
  expected: NonNullable<ExpectedAnswer['expect']>,
): string[] {
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

/** Sends the request. An answer of 400 and above is an answer too; rejects when there is none. */
export async function answerTo(
  { method = 'GET', path, body, headers, contentType }: ExpectedAnswer,
  { rest, signal }: { readonly rest: Pick<RestClient, 'bytes'>; readonly signal: AbortSignal },
): Promise<Answer> {
  const sent = {
    method,
    path,
    signal,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
    ...(contentType === undefined ? {} : { contentType }),
  }
  try {
    const { status, body: bytes } = await rest.bytes(sent)
    const text = bytes.toString()
    return { status, text, body: parsed(text) }
  } catch (error) {
    if (!isStatusError(error)) throw error
    const status = error.toStatus()
    return { status: error.code, text: JSON.stringify(status), body: status }
  }
}
