/** `skiff top`: a live view of nodes, pods, requests and events. */
import { defineCommand, outputFlag, type CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { runTop } from '../top/run-top.ts'
import { readSnapshot, snapshotJson, snapshotText } from '../top/snapshot.ts'
import { targetFlags, withTarget } from '../../cluster/cli/target.ts'

const flags = defineFlags({
  once: flag.bool(
    'Print what there is now, and exit; the default where there is no terminal.',
    false,
  ),
  'lost-after': flag.duration('Exit when the cluster has not answered for so long.', 60_000, {
    least: 0,
  }),
  ...targetFlags,
  ...outputFlag,
})

/** Whether keys come from a terminal and the screen is one that can be redrawn. */
function hasScreen({ environment }: CommandContext): boolean {
  const { stdin, stdout } = process
  return stdin.isTTY === true && stdout.isTTY === true && environment['TERM'] !== 'dumb'
}

export const top = defineCommand({
  name: 'top',
  summary: 'Watch nodes, pods, requests and events live',
  description:
    'A full screen with four panes: nodes with the age of their heartbeat and what their pods request of them, pods, requests to the\n' +
    'API server, and events. Tab and the arrows choose a pane and a row, Enter shows a row whole, / filters, s sorts, ? lists all\n' +
    'keys, q quits. Requests need an API server with a journal and the right to read it; other clusters show the rest.\n' +
    'Without a terminal it prints the panes once, at most 50 rows of each; -o json prints all rows.',
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff top', 'Watch the cluster'],
    ['skiff top --context staging', 'Watch any other cluster of your kubeconfig'],
    ['skiff top --once', 'Print what there is now'],
    ['skiff top --once -o json', 'Print it for a script'],
  ],
  run: async (context, { flags: given }) => {
    const { terminal, clock } = context
    return await withTarget(context, given, async (target) => {
      if (!given.once && given.output === 'text' && hasScreen(context)) {
        return await runTop({ target, context, lostAfterMs: given['lost-after'] })
      }
      const tables = await readSnapshot(target.client)
      terminal.out(
        given.output === 'json'
          ? `${JSON.stringify(snapshotJson(tables), null, 2)}\n`
          : snapshotText(tables, { clock, colors: terminal.outColors }),
      )
      return exitCodes.ok
    })
  },
})
