/** Failures of nested steps, and the lines of any failure in a report. */
import { messageOf } from '../../components/component-base/log.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { AssertionFailure } from './assertion-failure.ts'

/** A nested step failed. */
export class NestedFailure extends Error {
  readonly where: string
  constructor(where: string, cause: unknown) {
    super(`${where}: ${messageOf(cause)}`, { cause })
    this.where = where
  }
}

/** The failures of steps that ran concurrently, at least one. */
export class SeveralFailures extends Error {
  readonly failures: readonly unknown[]
  constructor(failures: readonly unknown[]) {
    super(failures.map(messageOf).join('; '))
    this.failures = failures
  }
}

/** The first line names the failure; further lines show the expected and the actual state, and its changes over time. */
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
