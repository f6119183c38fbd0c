/** ScenarioFailure: a scenario whose step failed. */
import type { ScenarioReport } from './types.ts'

/** The message is the report of the failed step. */
export class ScenarioFailure extends Error {
  readonly report: ScenarioReport
  constructor(report: ScenarioReport) {
    const failed = report.steps.find(({ outcome }) => outcome === 'failed')
    const lines = [...(failed?.failure ?? []), ...report.failure]
    super([`${report.name}: ${failed?.title ?? 'it failed'}`, ...lines].join('\n  '))
    this.name = 'ScenarioFailure'
    this.report = report
  }
}
