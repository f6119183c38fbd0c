/** `skiff down`: stops a cluster and deletes its data, whatever its state. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { listClusters, stateDirExists, statePaths } from '../state/state-dir.ts'
import { leaveOthers, removeCluster, stopCluster } from '../take-down.ts'
import { defineCommand, nameFlag } from './command.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'

const flags = defineFlags({
  ...nameFlag,
  all: flag.bool('Delete every cluster.', false),
  force: flag.bool(
    'Delete it even if its etcd member cannot leave those of other machines.',
    false,
  ),
  'keep-data': flag.bool(
    'Only stop the processes; `skiff up` starts the cluster again with its data.',
    false,
  ),
})

async function takeDown(
  context: CommandContext,
  name: string,
  { keepData, force }: { readonly keepData: boolean; readonly force: boolean },
): Promise<void> {
  const { clock, stateRoot, terminal } = context
  const paths = statePaths(stateRoot, name)
  if (!stateDirExists(paths)) {
    const others = listClusters(stateRoot)
    const hint = others.length === 0 ? 'see: skiff status --all' : `there are: ${others.join(', ')}`
    throw new ClusterError('not-found', `there is no cluster "${name}"`, { hint })
  }
  if (keepData) {
    await stopCluster(paths, { clock })
    terminal.out(`Cluster "${name}" is stopped; its data is kept in ${paths.dir}\n`)
    return
  }
  if (!force) await leaveOthers(paths, clock)
  const { forgetMerged } = await import('../state/merge-kubeconfig.ts')
  await forgetMerged(paths, name)
  await removeCluster(paths, { clock })
  terminal.out(`Cluster "${name}" is gone\n`)
}

export const down = defineCommand({
  name: 'down',
  summary: 'Stop a cluster and delete all of its data',
  description:
    'Works in any state of the cluster, for example when its supervisor was killed. Ends only processes of this cluster.\n' +
    'Also removes the entries that `skiff kubeconfig --merge` added to a kubeconfig.',
  flags,
  examples: [
    ['skiff down', 'Delete the cluster "default"'],
    ['skiff down --all', 'Delete every cluster'],
    ['skiff down --keep-data', 'Stop it, and start it again later with: skiff up'],
  ],
  run: async (context, { flags: given }) => {
    const names = given.all ? listClusters(context.stateRoot) : [given.name]
    const how = { keepData: given['keep-data'], force: given.force }
    for (const name of names) await takeDown(context, name, how)
    if (names.length === 0) context.terminal.out('There are no clusters\n')
    return exitCodes.ok
  },
})
