/** Kubeconfig: the client configuration file all clients share: read, written, and turned into a connection. */
import { dirname, resolve, sep } from 'node:path'
import { systemClock } from '../component-base/clock.ts'
import { diskFiles } from '../component-base/files.ts'
import type { Files } from '../component-base/files.ts'
import { parseFailure } from '../component-base/parse-failure.ts'
import type { Credentials, CredentialSource, RestClientOptions } from './rest-client.ts'

export interface KubeconfigCluster {
  readonly server: string
  readonly 'certificate-authority'?: string
  readonly 'certificate-authority-data'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'tls-server-name'?: string
  readonly extensions?: readonly { readonly name: string; readonly extension: unknown }[]
}

/** How to run a credential plugin (client.authentication ExecCredential). */
export interface KubeconfigExec {
  readonly apiVersion?: string
  readonly command: string
  readonly args?: readonly string[] | null
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null
  readonly provideClusterInfo?: boolean
  /** Required by the v1 exchange. */
  readonly interactiveMode?: 'Never' | 'IfAvailable' | 'Always'
  readonly installHint?: string
}

export interface KubeconfigUser {
  readonly 'client-certificate'?: string
  readonly 'client-certificate-data'?: string
  readonly 'client-key'?: string
  readonly 'client-key-data'?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly exec?: KubeconfigExec
}

export interface KubeconfigContext {
  readonly cluster: string
  readonly user: string
  readonly namespace?: string
}

export interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: KubeconfigCluster }[]
  readonly users: readonly { readonly name: string; readonly user: KubeconfigUser }[]
  readonly contexts: readonly { readonly name: string; readonly context: KubeconfigContext }[]
  readonly 'current-context': string
}

/** A file that is not a kubeconfig, or that names an entry it does not have. */
export class KubeconfigError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'KubeconfigError'
  }
}

const yaml = () => import('../machinery/values/yaml.ts')

/** The text as a kubeconfig; YAML or JSON. Lists that are absent are empty. */
export async function parseKubeconfig(text: string): Promise<Kubeconfig> {
  let value: unknown
  try {
    // JSON needs no YAML package, and is what the programs of a cluster write for each other.
    value = text.trimStart().startsWith('{') ? JSON.parse(text) : (await yaml()).load(text)
  } catch (error) {
    throw new KubeconfigError(`not a kubeconfig: ${parseFailure(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new KubeconfigError('not a kubeconfig: no mapping at the top')
  const { clusters, users, contexts } = value as Partial<Kubeconfig>
  return {
    clusters: clusters ?? [],
    users: users ?? [],
    contexts: contexts ?? [],
    'current-context': (value as Partial<Kubeconfig>)['current-context'] ?? '',
  }
}

/** A plugin that is named by a path lies beside the file; a name alone is looked for in PATH. */
function locatedPlugin(exec: KubeconfigExec, folder: string): KubeconfigExec {
  const { command } = exec
  return command.includes(sep) ? { ...exec, command: resolve(folder, command) } : exec
}

/** Reads a file; paths in it are made absolute, relative to the file's folder. */
export async function readKubeconfig(path: string, files: Files = diskFiles): Promise<Kubeconfig> {
  let text: string
  try {
    text = await files.read(path)
  } catch (error) {
    throw new KubeconfigError(`cannot read kubeconfig ${path}: ${(error as Error).message}`, error)
  }
  const config = await parseKubeconfig(text)
  const absolute = <T extends object>(value: T, fields: readonly (keyof T)[]): T => {
    const result = { ...value }
    for (const field of fields) {
      const file = value[field]
      if (typeof file === 'string' && file !== '')
        result[field] = resolve(dirname(path), file) as T[keyof T]
    }
    return result
  }
  return {
    ...config,
    clusters: config.clusters.map(({ name, cluster }) => ({
      name,
      cluster: absolute(cluster, ['certificate-authority']),
    })),
    users: config.users.map(({ name, user }) => {
      const found = absolute(user ?? {}, ['client-certificate', 'client-key', 'tokenFile'])
      const exec = found.exec && locatedPlugin(found.exec, dirname(path))
      return { name, user: { ...found, ...(exec === undefined ? {} : { exec }) } }
    }),
  }
}

/** The file's text: YAML as kubectl writes it, or JSON (which is YAML too) where no package should be loaded. */
export async function formatKubeconfig(
  config: Kubeconfig,
  style: 'yaml' | 'json' = 'yaml',
): Promise<string> {
  const whole = kubeconfigDocument(config)
  if (style === 'json') return `${JSON.stringify(whole, null, 2)}\n`
  return (await yaml()).yamlOf(JSON.stringify(whole))
}

/** The value of the file. */
export function kubeconfigDocument(config: Kubeconfig): object {
  return { apiVersion: 'v1', kind: 'Config', preferences: {}, ...config }
}

/** Writes the file with mode 0600, whole or not at all. */
export async function writeKubeconfig(
  path: string,
  config: Kubeconfig,
  { style = 'yaml', files = diskFiles }: { style?: 'yaml' | 'json'; files?: Files } = {},
): Promise<void> {
  await files.makeFolder(dirname(path))
  await files.write(path, await formatKubeconfig(config, style))
}

export interface NewKubeconfig {
  readonly cluster: string
  readonly server: string
  /** The name that the server's certificate must hold. Default: the host of its URL. */
  readonly serverName?: string | undefined
  /** PEM text, embedded so that the file can be copied elsewhere, or a path, so that a renewal needs no rewrite. */
  readonly ca: string | { readonly file: string }
  readonly user: string
  /** None: the anonymous user. */
  readonly credentials:
    | { readonly cert: string; readonly key: string }
    | { readonly token: string }
    | { readonly certFile: string; readonly keyFile: string }
    | undefined
  /** Default `<user>@<cluster>`. */
  readonly context?: string
  readonly namespace?: string
}

/** The configuration of one user of one cluster. */
export function createKubeconfig(options: NewKubeconfig): Kubeconfig {
  const { cluster, server, serverName, ca, user, credentials, namespace } = options
  const { context = `${user}@${cluster}` } = options
  const authority =
    typeof ca === 'string'
      ? { 'certificate-authority-data': base64(ca) }
      : { 'certificate-authority': ca.file }
  return {
    clusters: [
      {
        name: cluster,
        cluster: {
          server,
          ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
          ...authority,
        },
      },
    ],
    users: [{ name: user, user: userWith(credentials) }],
    contexts: [
      {
        name: context,
        context: { cluster, user, ...(namespace === undefined ? {} : { namespace }) },
      },
    ],
    'current-context': context,
  }
}

function userWith(credentials: NewKubeconfig['credentials']): KubeconfigUser {
  if (credentials === undefined) return {}
  if ('token' in credentials) return { token: credentials.token }
  if ('cert' in credentials)
    return {
      'client-certificate-data': base64(credentials.cert),
      'client-key-data': base64(credentials.key),
    }
  return { 'client-certificate': credentials.certFile, 'client-key': credentials.keyFile }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Makes credentials that come from a plugin; see exec-credential.ts. The cluster's authorities are embedded, as plugins get them. */
export type PluginStarter = (exec: KubeconfigExec, cluster: KubeconfigCluster) => CredentialSource

export type KubeconfigConnection = Pick<
  RestClientOptions,
  'server' | 'ca' | 'serverName' | 'insecureSkipVerify' | 'credentials' | 'credentialSource'
> & {
  /** Of the context; `default` when it names none. */
  readonly namespace: string
}

/** PEM from embedded data or else from the file; data wins, as upstream. */
async function pem(
  files: Files,
  data: string | undefined,
  file: string | undefined,
): Promise<Buffer | undefined> {
  if (data !== undefined && data !== '') return Buffer.from(data, 'base64')
  return file === undefined || file === '' ? undefined : Buffer.from(await files.read(file))
}

/** How long the token of a file is used before the file is read again. */
const tokenFileAgeMs = 60_000

/** A token that is read again from its file each minute, since such tokens are renewed in place; while it cannot be, the last one is used. */
function tokenFrom(files: Files, file: string): () => Promise<string> {
  let token: string | undefined
  let readAtMs = 0
  return async () => {
    const ageMs = systemClock.now() - readAtMs
    // A clock that was set back says nothing of the token's age.
    if (token !== undefined && ageMs >= 0 && ageMs <= tokenFileAgeMs) return token
    try {
      token = (await files.read(file)).trim()
      readAtMs = systemClock.now()
    } catch (error) {
      if (token === undefined) throw error
    }
    return token
  }
}

async function credentialsOf(user: KubeconfigUser, files: Files): Promise<Credentials> {
  const cert = await pem(files, user['client-certificate-data'], user['client-certificate'])
  const key = await pem(files, user['client-key-data'], user['client-key'])
  const token = user.token || (user.tokenFile ? tokenFrom(files, user.tokenFile) : undefined)
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(token === undefined ? {} : { token }),
  }
}

/** The options of createClient for a context (default: the current one). Reads the files it names. */
export async function connectionFrom(
  config: Kubeconfig,
  options: {
    readonly context?: string
    readonly plugin?: PluginStarter
    readonly files?: Files | undefined
  } = {},
): Promise<KubeconfigConnection> {
  const name = options.context ?? config['current-context']
  const find = <T extends { readonly name: string }>(
    entries: readonly T[],
    what: string,
    wanted: string,
  ): T => {
    const found = entries.find((entry) => entry.name === wanted)
    if (found === undefined) throw new KubeconfigError(`kubeconfig has no ${what} "${wanted}"`)
    return found
  }
  const { context } = find(config.contexts, 'context', name)
  const { cluster } = find(config.clusters, 'cluster', context.cluster)
  const user = context.user === '' ? {} : find(config.users, 'user', context.user).user
  const { files = diskFiles } = options
  const ca = await pem(
    files,
    cluster['certificate-authority-data'],
    cluster['certificate-authority'],
  )
  const serverName = cluster['tls-server-name']
  const credentials = await credentialsOf(user, files)
  const isStatic = credentials.cert !== undefined || credentials.token !== undefined
  if (user.exec !== undefined && !isStatic && options.plugin === undefined)
    throw new KubeconfigError('the user needs a credential plugin, which is not run here')
  return {
    server: cluster.server,
    ...(ca === undefined ? {} : { ca }),
    ...(serverName === undefined ? {} : { serverName }),
    insecureSkipVerify: cluster['insecure-skip-tls-verify'] ?? false,
    credentials,
    ...(user.exec === undefined || isStatic || options.plugin === undefined
      ? {}
      : {
          credentialSource: options.plugin(user.exec, {
            ...cluster,
            ...(ca === undefined ? {} : { 'certificate-authority-data': ca.toString('base64') }),
          }),
        }),
    namespace: context.namespace || 'default',
  }
}
