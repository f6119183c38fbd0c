/** ExpectationError: an expectation that does not hold in time. */
import type { AssertionFailure } from '../scenarios/engine/assertion-failure.ts'

/** The message shows what was wanted, what is there, and the changes that were seen; the fields hold the same line by line. */
export class ExpectationError extends Error {
  readonly wanted: readonly string[]
  readonly there: readonly string[]
  readonly history: readonly string[]
  constructor(of: string, failure: AssertionFailure) {
    const [first = '', ...rest] = failure.lines()
    super([`${of}: ${first}`, ...rest].join('\n'))
    this.name = 'ExpectationError'
    this.wanted = failure.expected
    this.there = failure.actual
    this.history = failure.history
  }
}
