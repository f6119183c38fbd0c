/** scenario-lines: what the lines of a running scenario say so far. Pure. */
import type { ScenarioResult, StepResult } from '../../../../scenarios/engine/scenario-result.ts'
import type { ScenarioLine } from '../../../protocol/lab.ts'

/** Of a scenario with a matrix, each combination has one. */
export interface SingleRun {
  readonly name: string
  /** Those that have ended. */
  readonly steps: readonly StepResult[]
  readonly result: ScenarioResult | undefined
}

export interface ScenarioRun {
  /** Of the scenario. */
  readonly name: string
  readonly isRunning: boolean
  readonly runs: readonly SingleRun[]
  readonly error: string | undefined
}

export function begun(name: string): ScenarioRun {
  return { name, isRunning: true, runs: [], error: undefined }
}

export function withLine(run: ScenarioRun, line: ScenarioLine): ScenarioRun {
  if ('error' in line) return { ...run, error: line.error }
  if ('run' in line)
    return { ...run, runs: [...run.runs, { name: line.run, steps: [], result: undefined }] }
  const last = run.runs.at(-1)
  if (last === undefined) return run
  const next =
    'step' in line
      ? { ...last, steps: [...last.steps, line.step] }
      : { ...last, result: line.result }
  return { ...run, runs: [...run.runs.slice(0, -1), next] }
}
