/** `skiff restart` and `skiff fault ...`: restart components, and inject faults into them. */
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
  examples: [
    ['skiff restart api-server', 'Clients reconnect and watches resume; no write is lost'],
  ],
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
    summary: 'Kill a component with SIGKILL; the supervisor restarts it',
    example: 'skiff fault kill api-server',
    effect: 'Test how clients and controllers recover',
    done: 'killed',
  }),
  faultCommand('pause', {
    summary: 'Pause a component with SIGSTOP: it keeps its connections but does not respond',
    example: 'skiff fault pause node-1',
    effect: 'The node becomes Unknown, although its process exists',
    done: 'paused',
  }),
  faultCommand('resume', {
    summary: 'Resume a paused component with SIGCONT',
    example: 'skiff fault resume node-1',
    effect: 'The agent renews its lease, and the node becomes Ready again',
    done: 'resumed',
  }),
]
