/** `skiff simulate`: a simulation from a file, seed after seed, with the command that replays the one that fails. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineFlags, flag, formatDuration } from '../components/component-base/flags.ts'
import { importModule } from '../components/component-base/import-module.ts'
import { messageOf } from '../components/component-base/log.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { defineCommand, outputFlag } from '../cluster/cli/command.ts'
import type { CommandContext } from '../cluster/cli/command.ts'
import { exitCodes } from '../cluster/cli/exit-codes.ts'
import { styled } from '../cluster/cli/terminal.ts'
import { shellWord } from '../cluster/shell-word.ts'
import { loadTypescript } from '../scenarios/engine/typescript-command.ts'
import { OptionError } from './option-error.ts'
import { SimulationError } from './simulation-error.ts'
import { simulate } from './simulate.ts'
import type { SimulatedRun, SimulationOptions } from './types.ts'

const seedFlags = defineFlags({
  seeds: flag.int('Seeds 1 to this number, until one fails. 0: as the file says, or 20.', 0, {
    least: 0,
  }),
  seed: flag.string('This seed alone.', ''),
  ...outputFlag,
})

/** What tsx makes of a module in a package that is not of ECMAScript modules: its exports are those of CommonJS. */
function isWrapped(value: unknown): value is { readonly default: unknown } {
  return typeof value === 'object' && value !== null && '__esModule' in value && 'default' in value
}

/** The default export of a module: the options of `simulate`. */
async function optionsIn(file: string): Promise<SimulationOptions> {
  const path = resolve(file)
  if (!existsSync(path)) {
    throw new ClusterError('usage', `there is no file ${file}`, {
      hint: 'name a module whose default export is the options of a simulation',
    })
  }
  let module: { readonly default?: unknown }
  try {
    await loadTypescript(path)
    module = (await importModule(pathToFileURL(path).href)) as typeof module
  } catch (error) {
    throw new ClusterError('usage', `${file} cannot be loaded: ${messageOf(error)}`, {
      hint: 'of TypeScript, Node alone erases types: install tsx for what is more',
      cause: error,
    })
  }
  const options = isWrapped(module.default) ? module.default.default : module.default
  if (typeof options === 'object' && options !== null) return options as SimulationOptions
  throw new ClusterError('usage', `${file} has no default export with options of a simulation`, {
    hint: 'write: export default { story: async ({ client, sleep }) => { … } }',
  })
}

function seedsOf(
  { seed, seeds }: { readonly seed: string; readonly seeds: number },
  { environment }: CommandContext,
): Pick<SimulationOptions, 'seed' | 'seeds'> {
  const isGiven = seed !== '' || seeds > 0
  if (isGiven && (environment['SIMULATION_SEED'] ?? '') !== '') {
    throw new ClusterError('usage', '--seed and --seeds cannot be combined with SIMULATION_SEED', {
      hint: 'unset SIMULATION_SEED',
    })
  }
  if (seed !== '' && seeds > 0) {
    throw new ClusterError('usage', '--seed and --seeds cannot be combined')
  }
  if (seed !== '') {
    if (!/^\d{1,10}$/.test(seed))
      throw new ClusterError('usage', `--seed must be a whole number, not "${seed}"`)
    return { seed: Number(seed) }
  }
  // A seed of the file is not for a number of seeds.
  return seeds > 0 ? { seeds, seed: undefined } : {}
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

function printRun({ terminal }: CommandContext, run: SimulatedRun, hasPassed: boolean): void {
  const colors = terminal.errColors
  const sign = hasPassed ? styled('✓', 'green', colors) : styled('✗', 'red', colors)
  const took = styled(`(${formatDuration(run.tookMs)} of the cluster’s time)`, 'dim', colors)
  terminal.err(
    `  ${sign} seed ${run.seed}: ${counted(run.faults.length, 'fault')}, ${counted(run.commits, 'write')} ${took}\n`,
  )
  if (!hasPassed) terminal.err('running it again with fewer of its faults\n')
}

export const simulateCommand = defineCommand({
  name: 'simulate',
  summary: 'Run a simulation with one seed after another, and replay the one that fails',
  description:
    'FILE is a module, in JavaScript or TypeScript, whose default export is the options of `simulate`. ' +
    'A failure names its seed, the faults that it needs, and the command that replays it. ' +
    'Exits with 1 when a seed failed, and with 2 when the file, its options or the flags are invalid.',
  arguments: [{ name: 'FILE' }],
  flags: seedFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff simulate operator.simulation.ts', 'Run the seeds that the file asks for, or 20'],
    ['skiff simulate operator.simulation.ts --seeds 1000', 'Look further'],
    ['skiff simulate operator.simulation.ts --seed 3', 'Replay seed 3'],
  ],
  run: async (context, { flags: given, args: [file = ''] }) => {
    const { terminal, signal } = context
    const chosen = seedsOf(given, context)
    const options = await optionsIn(file)
    const onRun: SimulationOptions['onRun'] = (run, hasPassed) => printRun(context, run, hasPassed)
    const isJson = given.output === 'json'
    try {
      const runs = await simulate({ ...options, ...chosen, signal, onRun })
      const passed = `${counted(runs.length, 'seed')} passed\n`
      terminal.out(isJson ? `${JSON.stringify({ runs })}\n` : passed)
      return exitCodes.ok
    } catch (error) {
      if (error instanceof OptionError) {
        throw new ClusterError('usage', `${file}: ${error.message}`, { cause: error })
      }
      if (!(error instanceof SimulationError)) throw error
      const { run, kind, story } = error
      const again = `skiff simulate ${shellWord(file)} --seed ${run.seed}`
      const failed = { kind, run, story, again }
      terminal.out(isJson ? `${JSON.stringify({ failed })}\n` : `${story}\nAgain: ${again}\n`)
      return exitCodes.failed
    }
  },
})
