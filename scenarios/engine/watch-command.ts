/** `skiff scenario watch`: runs a scenario, and again at each save. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { defineCommand } from '../../cluster/cli/command.ts'
import type { Command, CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { summary } from './reports.ts'
import { runScenarios } from './runner.ts'
import type { EmbeddedStarter, RunnerOptions } from './runner.ts'
import { checkForm, fileOf, printOutside, readAll, runnerOptions } from './scenario-runs.ts'
import type { Scenario } from './scenario.ts'
import { watchFiles } from './watched-files.ts'

const flags = defineFlags({
  cluster: flag.string('Running cluster to use instead of a new one for each run.', ''),
  dialect: flag.string('Dialect of new clusters, unless the scenario sets its own.', '', {
    choices: ['kubernetes', 'svc'],
  }),
  embedded: flag.bool('Run on embedded clusters, in one thread.', false),
})

/** The scenario; undefined for an invalid file, whose faults are printed. */
function readOrPrint(file: string, { terminal }: CommandContext): Scenario | undefined {
  try {
    return readAll([file])[0]
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    terminal.err([error.message, ...error.details].map((line) => `${line}\n`).join(''))
    return undefined
  }
}

/** Runs it until it ends or `options.signal` aborts. */
async function runOnce(
  scenario: Scenario,
  { context, options }: { readonly context: CommandContext; readonly options: RunnerOptions },
): Promise<void> {
  try {
    const results = await runScenarios([scenario], options)
    printOutside(context, results)
    context.terminal.out(summary(results))
  } catch (error) {
    if (!options.signal.aborted) throw error
  }
}

/** `embedded`: how to start embedded clusters, where that can be done. */
export const watchCommand = (embedded?: () => Promise<EmbeddedStarter>): Command =>
  defineCommand({
    name: 'scenario watch',
    summary: 'Run a scenario, and again whenever its file or one that it includes is saved',
    description:
      'A save during a run ends that run. With --embedded a run takes little more than its steps. Ends at Ctrl-C.',
    arguments: [{ name: 'SCENARIO' }],
    flags,
    handlesInterrupt: true,
    examples: [
      ['skiff scenario watch my.yaml --embedded', 'Run it at each save, in one thread'],
      ['skiff scenario watch my.yaml --cluster default', 'Run it on a running cluster'],
    ],
    run: async (context, { flags: given, args: [word = ''] }) => {
      const { clock, signal, terminal } = context
      const file = fileOf(word)
      checkForm({ ...given, keep: false })
      const startEmbedded = given.embedded ? await embedded?.() : undefined
      let files: readonly string[] = [file]
      while (!signal.aborted) {
        const scenario = readOrPrint(file, context)
        if (scenario !== undefined) files = [file, ...(scenario.includes ?? [])]
        const saved = new AbortController()
        const changed = watchFiles(files, clock)
          .changed(signal)
          .then(
            () => saved.abort(new Error('the file was saved')),
            () => {}, // interrupted
          )
        const over = AbortSignal.any([signal, saved.signal])
        const asked = { ...given, keep: false, startEmbedded }
        const options = { ...runnerOptions(context, asked), signal: over }
        if (scenario !== undefined) await runOnce(scenario, { context, options })
        if (!over.aborted) terminal.err('waiting for a change; end it with Ctrl-C\n')
        await changed
      }
      return exitCodes.ok
    },
  })
