/** Timeline: when the steps of scenarios began and ended, from the JSON report of `skiff scenario run`. Pure. */
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { ScenarioResult, StepResult } from '../../scenarios/engine/scenario-result.ts'

/** What a step does: it changes objects or runs something, kills, stops and starts processes (faults, and their end), or checks something. */
export type StepRole = 'action' | 'fault' | 'check'

export interface TimelineStep {
  readonly title: string
  readonly role: StepRole
  readonly outcome: StepResult['outcome']
  /** From the beginning of the first step. */
  readonly startMs: number
  readonly endMs: number
  /** The first line of its failure. */
  readonly failure?: string
}

export interface Timeline {
  readonly name: string
  readonly outcome: ScenarioResult['outcome']
  readonly steps: readonly TimelineStep[]
  readonly endMs: number
}

/** As many scenarios and steps as one diagram has. */
const mostScenarios = 100
const mostSteps = 1000

const checks = new Set(['expect', 'request'])
const faults = new Set(['component', 'node', 'process'])

function roleOf({ kind }: StepResult): StepRole {
  if (checks.has(kind)) return 'check'
  return faults.has(kind) ? 'fault' : 'action'
}

function timelineOf({ name, outcome, steps }: ScenarioResult): Timeline {
  let atMs = 0
  const placed = steps.slice(0, mostSteps).map((step): TimelineStep => {
    const startMs = atMs
    atMs += step.durationMs
    const [failure] = step.failure
    const { title, outcome: result } = step
    const shown = { title, role: roleOf(step), outcome: result, startMs, endMs: atMs }
    return failure === undefined ? shown : { ...shown, failure }
  })
  return { name, outcome, steps: placed, endMs: atMs }
}

const isText = (value: unknown): value is string => typeof value === 'string'

function isStep(value: unknown): value is StepResult {
  const { title, kind, outcome, durationMs, failure } = (value ?? {}) as Partial<StepResult>
  const isTime = typeof durationMs === 'number' && durationMs >= 0 && durationMs < 1e12
  return isText(title) && isText(kind) && isText(outcome) && isTime && Array.isArray(failure)
}

function isResult(value: unknown): value is ScenarioResult {
  const { name, outcome, steps } = (value ?? {}) as Partial<ScenarioResult>
  return isText(name) && isText(outcome) && Array.isArray(steps) && steps.every(isStep)
}

/** `source` names the report in errors. Throws a ClusterError of kind `usage` for a text that is no report. */
export function readTimelines(report: string, source: string): Timeline[] {
  let scenarios: unknown
  try {
    const value: unknown = JSON.parse(report)
    scenarios = (value as { scenarios?: unknown } | null)?.scenarios
  } catch {
    scenarios = undefined
  }
  if (!Array.isArray(scenarios) || !scenarios.every(isResult)) {
    throw new ClusterError('usage', `${source} is not a report of scenarios`, {
      hint: 'write one with: skiff scenario run SCENARIO --json FILE',
    })
  }
  return scenarios.slice(0, mostScenarios).map(timelineOf)
}
