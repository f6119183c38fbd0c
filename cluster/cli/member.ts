/** `skiff member`: the members of an etcd that the machines of a control plane run. */
import { defineFlags } from '../../components/component-base/flags.ts'
import { removeMember } from '../etcd/leave-etcd.ts'
import { defineCommand, nameFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'

const remove = defineCommand({
  name: 'member remove',
  summary: 'Remove the etcd member of a machine that is gone',
  description:
    'A machine that is lost keeps its place among the members, and counts when etcd looks for a majority. `skiff status` shows\n' +
    'the members. One that leaves with `skiff down`, or joins again at the same address, needs no command.',
  arguments: [{ name: 'MEMBER' }],
  flags: defineFlags({ ...nameFlag }),
  examples: [['skiff member remove etcd-192.0.2.3', 'The machine 192.0.2.3 is gone for good']],
  run: async (context, { flags: given, args: [member = ''] }) =>
    await withCluster(context, given.name, async ({ config, paths }) => {
      await removeMember({ config, paths, clock: context.clock }, member)
      context.terminal.out(`member ${member} removed\n`)
      return exitCodes.ok
    }),
})

export const memberCommands = [remove]
