/** What a failure says in a report, line by line, and where in nested steps it happened. */
import { messageOf } from '../../components/component-base/log.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { AssertionFailure } from './step.ts'

/** A step inside another one failed. */
export class NestedFailure extends Error {
  readonly where: string
  constructor(where: string, cause: unknown) {
    super(`${where}: ${messageOf(cause)}`, { cause })
    this.where = where
  }
}

/** At least one failure, of steps that ran at the same time. */
export class SeveralFailures extends Error {
  readonly failures: readonly unknown[]
  constructor(failures: readonly unknown[]) {
    super(failures.map(messageOf).join('; '))
    this.failures = failures
  }
}

/** The first line says what failed; further lines what was expected, what was there, and how it changed meanwhile. */
export function failureLines(error: unknown): string[] {
  if (error instanceof AssertionFailure) return error.lines()
  if (error instanceof SeveralFailures) return error.failures.flatMap(failureLines)
  if (error instanceof NestedFailure) {
    const [first = '', ...more] = failureLines(error.cause)
    return [`${error.where}: ${first}`, ...more]
  }
  if (error instanceof StatusError)
    return [messageOf(error), `status ${error.code}, reason ${error.reason || 'none'}`]
  return [messageOf(error)]
}
