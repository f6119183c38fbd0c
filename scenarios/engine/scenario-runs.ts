/** Scenario runs of commands: which files, on which clusters, and what the terminal shows of them. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { dialectNamed } from '../../components/api/dialect.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { CommandContext } from '../../cluster/cli/command.ts'
import { styled } from '../../cluster/cli/terminal.ts'
import type { EmbeddedStarter, RunnerOptions } from './runner.ts'
import { readScenario, ScenarioError } from './scenario.ts'
import type { Scenario } from './scenario.ts'
import type { ScenarioResult, StepResult } from './scenario-result.ts'
import { scenarioNameOf, shippedFiles } from './shipped-scenarios.ts'

/** A path to a file, or the name of a scenario that ships with skiff. */
export function fileOf(word: string): string {
  if (/\.ya?ml$/.test(word) || word.includes('/')) return resolve(word)
  const shipped = shippedFiles()
  const found = shipped.find((file) => scenarioNameOf(file) === word)
  if (found !== undefined) return found
  if (existsSync(word)) return resolve(word)
  const nearest = nearestName(word, shipped.map(scenarioNameOf))
  throw new ClusterError('not-found', `there is no scenario "${word}"`, {
    hint: nearest === undefined ? 'see: skiff scenario list' : `did you mean ${nearest}?`,
  })
}

/** Reads all files before a cluster starts, so that an invalid file fails immediately. */
export function readAll(files: readonly string[]): Scenario[] {
  const faults: string[] = []
  const scenarios: Scenario[] = []
  for (const file of files) {
    try {
      scenarios.push(readScenario(file))
    } catch (error) {
      if (!(error instanceof ScenarioError)) throw error
      faults.push(...error.faults)
    }
  }
  if (faults.length === 0) return scenarios
  const faultCount = faults.length === 1 ? 'a fault' : `${faults.length} faults`
  throw new ClusterError('usage', `${faultCount} in the scenario files`, {
    details: faults,
    hint: 'see docs/scenarios.md for every step and its fields',
  })
}

/** The cluster's time, and the real one where that differs. */
function tookText({ durationMs, wallMs }: StepResult): string {
  const text = (ms: number): string => `${(ms / 1000).toFixed(2)} s`
  if (Math.abs(durationMs - wallMs) < 50) return text(durationMs)
  return `${text(durationMs)} in ${text(wallMs)} of real time`
}

function printStep({ terminal }: CommandContext, result: StepResult): void {
  const colors = terminal.errColors
  const sign =
    result.outcome === 'passed' ? styled('✓', 'green', colors) : styled('✗', 'red', colors)
  const took = tookText(result)
  terminal.err(`  ${sign} ${result.title} ${styled(`(${took})`, 'dim', colors)}\n`)
  for (const note of result.notes) terminal.err(`      ${note}\n`)
  for (const line of result.failure) terminal.err(`      ${line}\n`)
}

/** Embedded clusters are new, end with the run, and have no port of their own. */
export function checkForm(given: {
  readonly embedded: boolean
  readonly cluster: string
  readonly keep: boolean
  readonly dialect: string
}): void {
  if (!given.embedded) return
  const other = [
    ...(given.cluster === '' ? [] : ['--cluster']),
    ...(given.keep ? ['--keep'] : []),
    ...(given.dialect === 'svc' ? ['--dialect=svc'] : []),
  ]
  if (other.length === 0) return
  throw new ClusterError('usage', `--embedded and ${other.join(', ')} cannot be combined`, {
    hint: 'an embedded cluster is new, ends with the run, and has the dialect kubernetes',
  })
}

/** The clusters that the flags ask for, and lines on the terminal for each step. */
export function runnerOptions(
  context: CommandContext,
  given: {
    readonly cluster: string
    readonly dialect: string
    readonly keep: boolean
    readonly startEmbedded: EmbeddedStarter | undefined
  },
): RunnerOptions {
  const { terminal, clock, signal, stateRoot } = context
  return {
    clock,
    signal,
    stateRoot,
    clusterName: given.cluster === '' ? undefined : given.cluster,
    dialect: dialectNamed(given.dialect)?.name,
    keep: given.keep,
    startEmbedded: given.startEmbedded,
    onScenario: (scenario) => {
      terminal.err(`${styled(scenario.name, 'bold', terminal.errColors)}\n`)
    },
    onStep: (result) => printStep(context, result),
  }
}

/** What failed outside of the steps. */
export function printOutside(
  { terminal }: CommandContext,
  results: readonly ScenarioResult[],
): void {
  for (const result of results) {
    for (const line of result.failure) terminal.err(`${result.name}: ${line}\n`)
  }
}
