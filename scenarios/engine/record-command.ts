/** `skiff scenario record`: what somebody does with kubectl, as a scenario. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { RequestRecord, RequestRecords } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { defineCommand } from '../../cluster/cli/command.ts'
import type { CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { targetFlags, withTarget } from '../../cluster/cli/target.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { followRequests } from '../../components/client/follow-requests.ts'
import { createFindResource } from './find-resource.ts'
import { createRecording } from './record-scenario.ts'

const flags = defineFlags({
  user: flag.string(
    'Record the writes of this user, by any client. Default: those of kubectl.',
    '',
  ),
  ...targetFlags,
})

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

function isOf(user: string): (record: RequestRecord) => boolean {
  return (record) =>
    writes.has(record.verb) &&
    (user === '' ? record.userAgent.startsWith('kubectl') : record.user === user)
}

/** Follows the journal from now on until the command is interrupted; prints the scenario then. */
async function record(client: Client, context: CommandContext, user: string): Promise<number> {
  const { terminal, clock, signal } = context
  const resources = resourcesOf(client.dialect)
  const findResource = createFindResource(resources, client)
  const { items } = await client.resource(resources.nodes).list({})
  const recording = createRecording({ client, findResource, nodes: items.length })
  const isWanted = isOf(user)
  const path = '/explain/requests?limit=1&all=true'
  const newest = (await client.rest.json({ method: 'GET', path })) as RequestRecords
  terminal.err(
    `recording the writes of ${user === '' ? 'kubectl' : `user ${user}`}; end it with Ctrl-C\n`,
  )
  const following = followRequests(
    {
      rest: client.rest,
      clock,
      since: newest.items.at(-1)?.seq,
      onRequest: (one) => {
        if (!isWanted(one)) return
        terminal.err(`  ${one.verb} ${one.resource} ${one.name}\n`)
        recording.add(one)
      },
      onAbsent: (why) => {
        throw new ClusterError('failed', why)
      },
    },
    signal,
  )
  await following.catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  terminal.out(await recording.finish())
  return exitCodes.ok
}

export const recordCommand = defineCommand({
  name: 'scenario record',
  summary: 'Turn what somebody does with kubectl into a scenario',
  description:
    'Follows the request journal of the API server. Each write becomes a step; what others made of the objects meanwhile becomes\n' +
    'an expect before the next step. Prints the scenario at Ctrl-C; what cannot become a step becomes a comment. Values of Secrets\n' +
    'are in it as they were written.',
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff scenario record > mine.yaml', 'Record kubectl on the cluster default, until Ctrl-C'],
    ['skiff scenario record --user jane', 'Record all writes of jane'],
  ],
  run: async (context, { flags: given }) =>
    await withTarget(context, given, ({ client }) => record(client, context, given.user)),
})
