/** `skiff token ...`: creates, lists and deletes bootstrap tokens (kubeadm: token). */
import { labelKey } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { formatToken, nodeTokenGroup, parseToken } from '../plan/bootstrap-token.ts'
import { defaultTokenTtlMs } from '../cluster.ts'
import { ClusterError } from '../cluster-error.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { asTyped, shortDuration, table } from './terminal.ts'

const createFlags = defineFlags({
  ...nameFlag,
  ...outputFlag,
  ttl: flag.duration('Lifetime of the token; 0 for no expiry.', defaultTokenTtlMs),
  description: flag.string('Description of the token.', ''),
  usages: flag.list('Usages: authentication, signing or both.', ['authentication', 'signing']),
  groups: flag.list('Extra groups of the token; each begins with system:bootstrappers:', [
    nodeTokenGroup,
  ]),
  'print-join-command': flag.bool('Print the join command for another machine.', false),
})
const listFlags = defineFlags({ ...nameFlag, ...outputFlag })
const deleteFlags = defineFlags({ ...nameFlag })

type Usage = 'authentication' | 'signing'

function checkUsages(usages: readonly string[]): Usage[] {
  const wrong = usages.find((usage) => usage !== 'authentication' && usage !== 'signing')
  if (wrong === undefined) return [...usages] as Usage[]
  throw new ClusterError('usage', `invalid token usage "${wrong}"`, {
    hint: 'use authentication, signing or both',
  })
}

function checkGroups(groups: readonly string[]): void {
  const wrong = groups.find(
    (group) => !/^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group),
  )
  if (wrong === undefined) return
  throw new ClusterError('usage', `invalid token group "${wrong}"`, {
    hint: 'use a group that begins with system:bootstrappers:',
  })
}

const create = defineCommand({
  name: 'token create',
  summary: 'Create a bootstrap token with which nodes can join',
  arguments: [{ name: 'TOKEN', isOptional: true }],
  flags: createFlags,
  examples: [
    ['skiff token create --ttl 1h', 'Create a token for one hour'],
    ['skiff token create --print-join-command', 'Print the command to run on another machine'],
  ],
  run: async (context, { flags: given, args }) =>
    await withCluster(context, given.name, async (cluster) => {
      checkGroups(given.groups)
      const wanted = args[0] === undefined ? undefined : parseToken(args[0])
      const token = await cluster
        .createToken({
          ...(wanted === undefined ? {} : { token: wanted }),
          ttlMs: given.ttl === 0 ? undefined : given.ttl,
          description: given.description === '' ? undefined : given.description,
          usages: checkUsages(given.usages),
          extraGroups: given.groups,
        })
        .catch((error: unknown): never => {
          if (wanted === undefined || !isStatusError(error, 'AlreadyExists')) throw error
          throw new ClusterError('already-exists', `token "${wanted.id}" already exists`, {
            hint: `delete it first: skiff token delete ${wanted.id}${nameFlagOf(given.name)}`,
            cause: error,
          })
        })
      const { config, server } = cluster
      const text = formatToken(token)
      const join = asTyped(
        `skiff join ${server} --token ${text} --discovery-token-ca-cert-hash ${config.caHash}`,
        context.program,
      )
      if (given.output === 'json') {
        const all = { token: text, server, caCertHash: config.caHash, joinCommand: join }
        context.terminal.out(`${JSON.stringify(all)}\n`)
      } else context.terminal.out(`${given['print-join-command'] ? join : text}\n`)
      return exitCodes.ok
    }),
})

interface TokenRow {
  readonly id: string
  readonly expires: string | undefined
  readonly usages: readonly string[]
  readonly groups: readonly string[]
  readonly description: string
}

/** The fields of a token's Secret, without the secret itself. */
function rowOf(secret: KubeObject): TokenRow {
  const data = (secret['data'] ?? {}) as Record<string, string>
  const field = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
  return {
    id: field('token-id'),
    expires: field('expiration') || undefined,
    usages: ['authentication', 'signing'].filter(
      (usage) => field(`usage-bootstrap-${usage}`) === 'true',
    ),
    groups: field('auth-extra-groups').split(',').filter(Boolean),
    description: field('description'),
  }
}

const list = defineCommand({
  name: 'token list',
  summary: 'List the bootstrap tokens, without their secrets',
  flags: listFlags,
  examples: [['skiff token list', 'List the tokens and their expiry']],
  run: async (context, { flags: given }) =>
    await withCluster(context, given.name, async ({ client }) => {
      const { dialect } = client
      const secrets = await client.resource(resourcesOf(dialect).secrets).list({
        namespace: dialect.systemNamespace,
        fieldSelector: `type=${labelKey(dialect, 'bootstrap', 'token')}`,
      })
      const rows = secrets.items.map(rowOf)
      const { terminal, clock } = context
      if (given.output === 'json') {
        terminal.out(`${JSON.stringify(rows)}\n`)
        return exitCodes.ok
      }
      const left = (expires: string | undefined): string => {
        if (expires === undefined) return 'never'
        const ms = Date.parse(expires) - clock.now()
        return ms <= 0 ? 'expired' : `in ${shortDuration(ms)}`
      }
      const lines = rows.map((row) => [
        row.id,
        left(row.expires),
        row.usages.join(','),
        row.groups.join(',') || '-',
        row.description,
      ])
      terminal.out(table([['ID', 'EXPIRES', 'USAGES', 'GROUPS', 'DESCRIPTION'], ...lines]))
      return exitCodes.ok
    }),
})

const remove = defineCommand({
  name: 'token delete',
  summary: 'Delete a bootstrap token',
  arguments: [{ name: 'ID' }],
  flags: deleteFlags,
  examples: [['skiff token delete abcdef', 'No node can join with it any more']],
  run: async (context, { flags: given, args: [text = ''] }) =>
    await withCluster(context, given.name, async ({ client }) => {
      const id = /^[a-z0-9]{6}$/.test(text) ? text : parseToken(text).id
      const { dialect } = client
      try {
        await client
          .resource(resourcesOf(dialect).secrets)
          .delete({ namespace: dialect.systemNamespace, name: `bootstrap-token-${id}` })
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
        throw new ClusterError('not-found', `there is no token "${id}"`, {
          hint: `see: skiff token list${nameFlagOf(given.name)}`,
        })
      }
      context.terminal.out(`token ${id} deleted\n`)
      return exitCodes.ok
    }),
})

export const tokenCommands = [create, list, remove]
