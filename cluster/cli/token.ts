/** `skiff token ...`: creates, lists and deletes bootstrap tokens (kubeadm: token). */
import { labelKey } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { formatToken, nodeTokenGroup, parseToken } from '../plan/bootstrap-token.ts'
import { defaultTokenTtlMs } from '../token-lifetime.ts'
import type { Cluster } from '../cluster.ts'
import { ClusterError } from '../cluster-error.ts'
import { createCertificateKey, parseCertificateKey } from '../control-plane/certificate-key.ts'
import { readSharedFiles } from '../control-plane/shared-files.ts'
import type { SharedFiles } from '../control-plane/shared-files.ts'
import { controlPlaneTokenGroup, uploadCertificates } from '../control-plane/upload-certificates.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { asTyped, shortDuration, table } from './terminal.ts'

const createFlags = defineFlags({
  ...nameFlag,
  ...outputFlag,
  ttl: flag.duration('Lifetime of the token; 0 for no expiry; 24h by default.'),
  description: flag.string('Description of the token.', ''),
  usages: flag.list('Usages: authentication, signing or both.', ['authentication', 'signing']),
  groups: flag.list('Extra groups of the token; each begins with system:bootstrappers:', [
    nodeTokenGroup,
  ]),
  'control-plane': flag.bool(
    'Upload the keys of the control plane, encrypted, and print the command with which another machine joins it. ' +
      'The token lives for 2 hours unless --ttl says otherwise.',
    false,
  ),
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

/** As kubeadm: uploaded keys stay for two hours. */
const controlPlaneTtlMs = 2 * 60 * 60 * 1000

/** Uploads them beside the token's Secret, and returns the key that opens them. */
async function upload({ client }: Cluster, tokenId: string, files: SharedFiles): Promise<string> {
  const certificateKey = createCertificateKey(client.clock)
  const { dialect } = client
  const owner = await client
    .resource(resourcesOf(dialect).secrets)
    .get({ namespace: dialect.systemNamespace, name: `bootstrap-token-${tokenId}` })
  await uploadCertificates(client, files, { key: parseCertificateKey(certificateKey), owner })
  return certificateKey
}

const create = defineCommand({
  name: 'token create',
  summary: 'Create a bootstrap token with which nodes can join',
  arguments: [{ name: 'TOKEN', isOptional: true }],
  flags: createFlags,
  examples: [
    ['skiff token create --ttl 1h', 'Create a token for one hour'],
    [
      'skiff token create --control-plane',
      'Print the command with which another machine joins the control plane',
    ],
    ['skiff token create --print-join-command', 'Print the command to run on another machine'],
  ],
  run: async (context, { flags: given, args }) =>
    await withCluster(context, given.name, async (cluster) => {
      checkGroups(given.groups)
      const wanted = args[0] === undefined ? undefined : parseToken(args[0])
      const isControlPlane = given['control-plane']
      const shared = isControlPlane ? readSharedFiles(cluster.config, cluster.paths) : undefined
      const ttlMs = given.ttl ?? (isControlPlane ? controlPlaneTtlMs : defaultTokenTtlMs)
      const token = await cluster
        .createToken({
          ...(wanted === undefined ? {} : { token: wanted }),
          ttlMs: ttlMs === 0 ? undefined : ttlMs,
          description: given.description === '' ? undefined : given.description,
          usages: checkUsages(given.usages),
          extraGroups: isControlPlane ? [...given.groups, controlPlaneTokenGroup] : given.groups,
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
      const place = `${server} --token ${text} --discovery-token-ca-cert-hash ${config.caHash}`
      if (shared !== undefined) {
        const certificateKey = await upload(cluster, token.id, shared)
        const command = `skiff up --control-plane ${place} --certificate-key ${certificateKey} --address ADDRESS`
        const joinCommand = asTyped(command, context.program)
        const all = { token: text, server, caCertHash: config.caHash, certificateKey, joinCommand }
        const isJson = given.output === 'json'
        context.terminal.out(`${isJson ? JSON.stringify(all) : joinCommand}\n`)
        return exitCodes.ok
      }
      const join = asTyped(`skiff join ${place}`, context.program)
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
