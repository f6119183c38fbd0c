/** `skiff restart` and `skiff fault ...`: ending and disturbing single processes. */
import { defineFlags } from '../../components/component-base/flags.ts'
import { createFaults } from '../faults.ts'
import type { Faults } from '../faults.ts'
import { defineCommand, nameFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { showingComponent } from './progress.ts'

const flags = defineFlags({ ...nameFlag })
const component = [{ name: 'COMPONENT' }]

export const restart = defineCommand({
  name: 'restart',
  summary: 'Stop a component gracefully and start it again',
  arguments: component,
  flags,
  examples: [['skiff restart api-server', 'Clients reconnect, watches resume, no write is lost']],
  run: async (context, { flags: given, args: [name = ''] }) =>
    await withCluster(context, given.name, async ({ control }) => {
      await showingComponent(context, name, async (onComponent) => {
        await control.call('restart', { name }, onComponent)
      })
      context.terminal.out(`${name} restarted\n`)
      return exitCodes.ok
    }),
})

function faultCommand(
  verb: 'kill' | 'pause' | 'resume',
  words: { summary: string; example: string; effect: string; done: string },
) {
  const inflict = (faults: Faults, name: string): Promise<void> => faults[verb](name)
  return defineCommand({
    name: `fault ${verb}`,
    summary: words.summary,
    arguments: component,
    flags,
    examples: [[words.example, words.effect]],
    run: async (context, { flags: given, args: [name = ''] }) =>
      await withCluster(context, given.name, async ({ control }) => {
        await inflict(createFaults(control), name)
        context.terminal.out(`${name} ${words.done}\n`)
        return exitCodes.ok
      }),
  })
}

export const faultCommands = [
  faultCommand('kill', {
    summary: 'Kill a component (SIGKILL); the supervisor starts it again',
    example: 'skiff fault kill api-server',
    effect: 'See how clients and controllers take it',
    done: 'killed',
  }),
  faultCommand('pause', {
    summary: 'Pause a component (SIGSTOP): it keeps its connections and does nothing',
    example: 'skiff fault pause node-1',
    effect: 'The node goes Unknown, although its process is there',
    done: 'paused',
  }),
  faultCommand('resume', {
    summary: 'Resume a paused component (SIGCONT)',
    example: 'skiff fault resume node-1',
    effect: 'It renews its lease and the node is Ready again',
    done: 'goes on',
  }),
]
