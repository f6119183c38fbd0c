/** `skiff scenario ...`: runs, watches, records and lists scenarios. */
import { accessSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { defineCommand, outputFlag } from '../../cluster/cli/command.ts'
import type { Command } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { withCluster } from '../../cluster/cli/find-cluster.ts'
import { table } from '../../cluster/cli/terminal.ts'
import { jsonReport, junitReport, summary } from './reports.ts'
import { recordCommand } from './record-command.ts'
import { runScenarios } from './runner.ts'
import { checkForm, fileOf, printOutside, readAll, runnerOptions } from './scenario-runs.ts'
import { watchCommand } from './watch-command.ts'
import type { EmbeddedStarter } from './runner.ts'
import type { ScenarioResult } from './scenario-result.ts'
import { shippedFiles } from './shipped-scenarios.ts'

const runFlags = defineFlags({
  cluster: flag.string('Running cluster to use instead of a new one for each scenario.', ''),
  dialect: flag.string('Dialect of new clusters, unless the scenario sets its own.', '', {
    choices: ['kubernetes', 'svc'],
  }),
  embedded: flag.bool(
    'Run on embedded clusters, in one thread and in virtual time: nobody waits.',
    false,
  ),
  keep: flag.bool('Keep the clusters running, as scenario-NAME.', false),
  junit: flag.string('Write a JUnit report to this file.', ''),
  json: flag.string('Write a JSON report to this file.', ''),
  ...outputFlag,
})

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

const runOf = (embedded: (() => Promise<EmbeddedStarter>) | undefined): Command =>
  defineCommand({
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
      ['skiff scenario run rolling-update --embedded', 'Run it in one thread and in virtual time'],
      ['skiff scenario run --junit report.xml', 'Run all that ship with skiff, and write a report'],
    ],
    run: async (context, { flags: given, args }) => {
      const scenarios = readAll(args.length === 0 ? shippedFiles() : args.map(fileOf))
      const { terminal } = context
      checkReportFile('junit', given.junit)
      checkReportFile('json', given.json)
      checkForm(given)
      // A missing cluster is an error of the command, not a failure of the scenarios.
      if (given.cluster !== '') await withCluster(context, given.cluster, async () => {})
      const startEmbedded = given.embedded ? await embedded?.() : undefined
      const results = await runScenarios(
        scenarios,
        runnerOptions(context, { ...given, startEmbedded }),
      )
      printOutside(context, results)
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

/** `embedded`: how to start embedded clusters, where that can be done. */
export function scenarioCommands(embedded?: () => Promise<EmbeddedStarter>): readonly Command[] {
  return [runOf(embedded), watchCommand(embedded), list, recordCommand]
}
