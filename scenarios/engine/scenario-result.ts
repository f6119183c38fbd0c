/** What a scenario's run has shown. */

export interface StepResult {
  readonly title: string
  readonly kind: string
  readonly outcome: 'passed' | 'failed' | 'not run'
  /** Of the cluster's time. */
  readonly durationMs: number
  /** Of real time. */
  readonly wallMs: number
  readonly notes: readonly string[]
  /** The report of a failed step, line by line; empty otherwise. */
  readonly failure: readonly string[]
}

export interface ScenarioResult {
  readonly name: string
  readonly file: string
  readonly description: string
  readonly outcome: 'passed' | 'failed'
  /** Of the cluster's time. */
  readonly durationMs: number
  /** Of real time. */
  readonly wallMs: number
  readonly steps: readonly StepResult[]
  /** The report of a failure outside of the steps, line by line: the cluster did not start, or a cleanup failed. */
  readonly failure: readonly string[]
}
