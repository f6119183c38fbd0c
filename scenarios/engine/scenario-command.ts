/** `skiff scenario ...`: runs and lists scenarios. */
import { accessSync, constants, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { dialectNamed } from '../../components/api/dialect.ts'
import { defineFlags, flag, nearestName } from '../../components/component-base/flags.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { defineCommand, outputFlag } from '../../cluster/cli/command.ts'
import type { CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { withCluster } from '../../cluster/cli/find-cluster.ts'
import { styled, table } from '../../cluster/cli/terminal.ts'
import { packageFolder } from '../../cluster/plan/programs.ts'
import { jsonReport, junitReport, summary } from './reports.ts'
import { runScenarios } from './runner.ts'
import { readScenario, ScenarioError } from './scenario.ts'
import type { Scenario } from './scenario.ts'
import type { ScenarioResult, StepResult } from './run-scenario.ts'

const runFlags = defineFlags({
  cluster: flag.string('Running cluster to use instead of a new one for each scenario.', ''),
  dialect: flag.string('Dialect of new clusters, unless the scenario sets its own.', '', {
    choices: ['kubernetes', 'svc'],
  }),
  keep: flag.bool('Keep the clusters running, as scenario-NAME.', false),
  junit: flag.string('Write a JUnit report to this file.', ''),
  json: flag.string('Write a JSON report to this file.', ''),
  ...outputFlag,
})

/** The scenario files that ship with skiff. */
function shippedFiles(): string[] {
  const folder = packageFolder('scenarios')
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => join(folder, file))
}

const nameOf = (file: string): string => file.replace(/^.*\//, '').replace(/\.ya?ml$/, '')

/** A path to a file, or the name of a scenario that ships with skiff. */
function fileOf(word: string): string {
  if (/\.ya?ml$/.test(word) || word.includes('/')) return resolve(word)
  const shipped = shippedFiles()
  const found = shipped.find((file) => nameOf(file) === word)
  if (found !== undefined) return found
  if (existsSync(word)) return resolve(word)
  const nearest = nearestName(word, shipped.map(nameOf))
  throw new ClusterError('not-found', `there is no scenario "${word}"`, {
    hint: nearest === undefined ? 'see: skiff scenario list' : `did you mean ${nearest}?`,
  })
}

/** Reads all files before a cluster starts, so that an invalid file fails immediately. */
function readAll(files: readonly string[]): Scenario[] {
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

function printStep({ terminal }: CommandContext, result: StepResult): void {
  const colors = terminal.errColors
  const sign =
    result.outcome === 'passed' ? styled('✓', 'green', colors) : styled('✗', 'red', colors)
  const took = `${(result.durationMs / 1000).toFixed(2)} s`
  terminal.err(`  ${sign} ${result.title} ${styled(`(${took})`, 'dim', colors)}\n`)
  for (const note of result.notes) terminal.err(`      ${note}\n`)
  for (const line of result.failure) terminal.err(`      ${line}\n`)
}

/** Fails before a scenario runs if a report cannot be written. */
function checkReportFile(flagName: string, path: string): void {
  if (path === '') return
  const folder = dirname(resolve(path))
  const hint = `pass --${flagName} a file in an existing directory that you can write to`
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw isMissing
      ? new ClusterError('usage', `--${flagName}: no such directory ${folder}`, { hint })
      : new ClusterError('permission', `--${flagName}: permission denied to write to ${folder}`, {
          hint,
        })
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new ClusterError('usage', `--${flagName}: ${path} is a directory`, { hint })
  }
}

function writeReports(
  results: readonly ScenarioResult[],
  { junit, json }: { junit: string; json: string },
): void {
  if (junit !== '') writeFileSync(junit, junitReport(results))
  if (json !== '') writeFileSync(json, jsonReport(results))
}

const run = defineCommand({
  name: 'scenario run',
  summary: 'Run scenarios: files, or scenarios that ship with skiff (all by default)',
  description:
    'Each scenario runs on a new cluster, which is deleted afterwards. Exits with 1 when a scenario fails.',
  arguments: [{ name: 'SCENARIO', isOptional: true, isRepeated: true }],
  flags: runFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff scenario run node-loss', 'Run a scenario that ships with skiff'],
    ['skiff scenario run my.yaml --cluster default', 'Run your own on a running cluster'],
    ['skiff scenario run --junit report.xml', 'Run all that ship with skiff, and write a report'],
  ],
  run: async (context, { flags: given, args }) => {
    const scenarios = readAll(args.length === 0 ? shippedFiles() : args.map(fileOf))
    const { terminal, clock, signal, stateRoot } = context
    checkReportFile('junit', given.junit)
    checkReportFile('json', given.json)
    // A missing cluster is an error of the command, not a failure of the scenarios.
    if (given.cluster !== '') await withCluster(context, given.cluster, async () => {})
    const results = await runScenarios(scenarios, {
      clock,
      signal,
      stateRoot,
      clusterName: given.cluster === '' ? undefined : given.cluster,
      dialect: dialectNamed(given.dialect)?.name,
      keep: given.keep,
      onScenario: (scenario) => {
        terminal.err(`${styled(scenario.name, 'bold', terminal.errColors)}\n`)
      },
      onStep: (result) => printStep(context, result),
    })
    for (const result of results) {
      for (const line of result.failure) terminal.err(`${result.name}: ${line}\n`)
    }
    writeReports(results, given)
    terminal.out(given.output === 'json' ? jsonReport(results) : summary(results))
    return results.every((one) => one.outcome === 'passed') ? exitCodes.ok : exitCodes.failed
  },
})

const list = defineCommand({
  name: 'scenario list',
  summary: 'List the scenarios that ship with skiff',
  flags: outputFlag,
  examples: [['skiff scenario list', 'List names and descriptions']],
  run: async ({ terminal }, { flags: given }) => {
    const scenarios = readAll(shippedFiles())
    const rows = scenarios.map(({ name, description, steps, file }) => ({
      name,
      description: description.replaceAll(/\s+/g, ' '),
      steps: steps.length,
      file,
    }))
    if (given.output === 'json') terminal.out(`${JSON.stringify(rows)}\n`)
    else {
      const lines = rows.map((row) => [row.name, String(row.steps), row.description])
      terminal.out(table([['NAME', 'STEPS', 'DESCRIPTION'], ...lines]))
    }
    return exitCodes.ok
  },
})

export const scenarioCommands = [run, list]
