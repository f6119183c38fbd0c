/** AssertionFailure: a check that failed, with a report for people. */

/** A failed check: the expected state, the actual state, and its changes over time. */
export class AssertionFailure extends Error {
  readonly expected: readonly string[]
  readonly actual: readonly string[]
  readonly history: readonly string[]
  constructor(report: {
    message: string
    expected: readonly string[]
    actual: readonly string[]
    history?: readonly string[]
    cause?: unknown
  }) {
    super(report.message, report.cause === undefined ? undefined : { cause: report.cause })
    this.name = 'AssertionFailure'
    this.expected = report.expected
    this.actual = report.actual
    this.history = report.history ?? []
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
