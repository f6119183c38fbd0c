/** `skiff history`: who changed an object, when, what, and why, as far back as its cluster remembers. */
import { createDiscovery } from '../../components/client/server-resources.ts'
import type { Client } from '../../components/client/client.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { historyText } from '../history/history-text.ts'
import type { ObjectRevision } from '../history/object-history.ts'
import { readHistory } from '../history/read-history.ts'
import { neededResource } from '../why/named-resource.ts'
import { askedObject, type AskedObject } from './asked-object.ts'
import { defineCommand, outputFlag, type CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { targetFlags, withTarget } from './target.ts'

const flags = defineFlags({
  namespace: flag.string('Namespace of the object (-n).', 'default'),
  diff: flag.bool('Show the fields that each revision changed.', true),
  ...targetFlags,
  ...outputFlag,
})

interface Given {
  readonly namespace: string
  readonly diff: boolean
  readonly kubeconfig: string
  readonly context: string | undefined
  readonly name: string
  readonly output: string
}

function withoutFields({
  fields: _fields,
  ...rest
}: ObjectRevision): Omit<ObjectRevision, 'fields'> {
  return rest
}

async function show(
  client: Client,
  { terminal }: CommandContext,
  { given, asked }: { readonly given: Given; readonly asked: AskedObject },
): Promise<number> {
  const { namespace, output, diff } = given
  const { name } = asked
  const resource = neededResource(await createDiscovery(client)(), asked.kind)
  const history = await readHistory(client, resource, { namespace, name })
  if (history === undefined) {
    const { singular, plural, namespaced } = resource
    const where = namespaced ? ` in namespace ${namespace}` : ''
    throw new ClusterError('not-found', `there is and was no ${singular} "${name}"${where}`, {
      hint: `see: kubectl get ${plural}${namespaced ? ' -A' : ''}`,
    })
  }
  const isJson = output === 'json'
  const revisions = history.revisions.map((one) => (diff ? one : withoutFields(one)))
  const shown = { ...history, revisions }
  terminal.out(isJson ? `${JSON.stringify(shown, null, 2)}\n` : historyText(history, diff))
  return exitCodes.ok
}

export const history = defineCommand({
  name: 'history',
  summary: 'Show who changed an object, when, what and why',
  description:
    'Shows every revision of the object that the API server still remembers: the last five minutes by default. An object that\n' +
    'was deleted has a history too. Users, verbs and causes come from the request journals of all API servers; on clusters\n' +
    'without them, or without the right to get /explain/requests, field managers stand in. Values of Secrets are hidden.\n' +
    'Exits with 2 for an unknown kind and with 3 when no such object exists or is remembered.',
  arguments: [{ name: 'KIND' }, { name: 'NAME', isOptional: true }],
  flags,
  examples: [
    ['skiff history deploy web', 'Who scaled the deployment, and what did its controller do?'],
    ['skiff history pod/web-0 -n shop', 'How did the pod come to its state?'],
    ['skiff history node node-1 --diff=false', 'Only who, when and why'],
    ['skiff history cm settings -o json', 'For scripts'],
    ['skiff history deploy web --context staging', 'In another cluster of your kubeconfig'],
  ],
  run: async (context, { flags: given, args }) => {
    const asked = askedObject('history', args)
    return await withTarget(context, given, ({ client }) => show(client, context, { given, asked }))
  },
})
