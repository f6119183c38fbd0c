/** AssertionFailure: a check that failed, with a report for people. */

import type { Resource } from '../../components/machinery/objects/resource.ts'

/** An object that a check was about. */
export interface CheckedObject {
  readonly resource: Resource
  /** Empty for kinds without. */
  readonly namespace: string
  readonly name: string
}

/** A failed check: the expected state, the actual state, and its changes over time. */
export class AssertionFailure extends Error {
  readonly expected: readonly string[]
  readonly actual: readonly string[]
  readonly history: readonly string[]
  /** For the report: who wrote them. */
  readonly about: readonly CheckedObject[]
  constructor(report: {
    message: string
    expected: readonly string[]
    actual: readonly string[]
    history?: readonly string[]
    about?: readonly CheckedObject[]
    cause?: unknown
  }) {
    super(report.message, report.cause === undefined ? undefined : { cause: report.cause })
    this.name = 'AssertionFailure'
    this.expected = report.expected
    this.actual = report.actual
    this.history = report.history ?? []
    this.about = report.about ?? []
  }

  /** The report, line by line. */
  lines(): string[] {
    const part = (title: string, lines: readonly string[]): string[] =>
      lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
    return [
      this.message,
      ...part('expected', this.expected),
      ...part('there was', this.actual),
      ...part('meanwhile', this.history),
    ]
  }
}
