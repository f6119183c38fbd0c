/** `skiff restart`: stops a component gracefully and starts it again. */
import { defineFlags } from '../../components/component-base/flags.ts'
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
