/** Credential plugins: a program of the user's choice that prints an ExecCredential (client.authentication, v1 and v1beta1). */
import { X509Certificate } from 'node:crypto'
import { spawn } from 'node:child_process'
import type { Dialect } from '../api/dialect.ts'
import { apiGroup } from '../api/dialect.ts'
import type { Clock } from '../component-base/clock.ts'
import { environment } from '../component-base/environment.ts'
import type { KubeconfigCluster, KubeconfigExec } from './kubeconfig.ts'
import type { Credentials, CredentialSource } from './rest-client.ts'

/** The plugin cannot be run, or its output is not a credential. The message never contains the output. */
export class CredentialPluginError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CredentialPluginError'
  }
}

interface Obtained {
  readonly credentials: Credentials
  /** Undefined: until the server refuses them. */
  readonly untilMs: number | undefined
}

export interface PluginOptions {
  readonly exec: KubeconfigExec
  readonly cluster: KubeconfigCluster
  readonly dialect: Dialect
  readonly clock: Clock
  /** Whether a person can answer the plugin's questions at standard input. */
  readonly hasTerminal: boolean
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/
const maxOutput = 1_000_000

/** The configured version of the exchange. Throws for one that does not exist. */
function versionOf({ exec, dialect }: PluginOptions): string {
  const group = apiGroup(dialect, 'client.authentication')
  const { apiVersion = '' } = exec
  if (apiVersion === `${group}/v1` || apiVersion === `${group}/v1beta1`) return apiVersion
  throw new CredentialPluginError(
    `the plugin's apiVersion "${apiVersion}" must be ${group}/v1 or ${group}/v1beta1`,
  )
}

/** Whether the plugin gets standard input. Throws when it must and cannot. */
function isInteractive({ exec, hasTerminal }: PluginOptions, apiVersion: string): boolean {
  const mode = exec.interactiveMode
  if (mode === undefined && apiVersion.endsWith('/v1'))
    throw new CredentialPluginError('the plugin needs an interactiveMode')
  if (mode === 'Always' && !hasTerminal)
    throw new CredentialPluginError('the plugin needs standard input, which is no terminal')
  return hasTerminal && mode !== 'Never'
}

/** The ExecCredential the plugin finds in its environment. */
export function pluginInput(options: PluginOptions): Record<string, unknown> {
  const { exec, cluster, dialect } = options
  const apiVersion = versionOf(options)
  const extensionName = apiGroup(dialect, 'client.authentication') + '/exec'
  const config = cluster.extensions?.find(({ name }) => name === extensionName)?.extension
  const described = {
    server: cluster.server,
    ...(cluster['tls-server-name'] && { 'tls-server-name': cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] && { 'insecure-skip-tls-verify': true }),
    ...(cluster['certificate-authority-data'] && {
      'certificate-authority-data': cluster['certificate-authority-data'],
    }),
    config: config ?? null,
  }
  return {
    kind: 'ExecCredential',
    apiVersion,
    spec: {
      ...(exec.provideClusterInfo === true ? { cluster: described } : {}),
      interactive: isInteractive(options, apiVersion),
    },
  }
}

function checkPair(cert: string, key: string): void {
  try {
    // Only the form is checked: whether the server likes the certificate is the server's affair.
    void new X509Certificate(cert)
    if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) throw new Error('no private key')
  } catch (error) {
    throw new CredentialPluginError(
      'the plugin’s clientCertificateData and clientKeyData must be PEM',
      error,
    )
  }
}

/** The credential in the plugin's output. Throws a CredentialPluginError for anything else. */
export function readPluginOutput(text: string, apiVersion: string): Obtained {
  let output: { kind?: unknown; apiVersion?: unknown; status?: Record<string, unknown> | null }
  try {
    output = JSON.parse(text) as typeof output
  } catch {
    // The parser's message quotes the text, which may hold the credential.
    throw new CredentialPluginError('the plugin printed something that is not JSON')
  }
  if (output?.kind !== 'ExecCredential')
    throw new CredentialPluginError('the plugin did not print an ExecCredential')
  if (output.apiVersion !== apiVersion)
    throw new CredentialPluginError(`the plugin must answer in ${apiVersion}, as it is configured`)
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = output.status ?? {}
  const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
  const [cert, key] = [textOf(clientCertificateData), textOf(clientKeyData)]
  if ((cert === '') !== (key === ''))
    throw new CredentialPluginError(
      'the plugin must give clientCertificateData and clientKeyData together',
    )
  if (cert === '' && textOf(token) === '')
    throw new CredentialPluginError('the plugin gave neither a token nor a certificate')
  if (cert !== '') checkPair(cert, key)
  let untilMs: number | undefined
  if (expirationTimestamp !== undefined && expirationTimestamp !== null) {
    if (!rfc3339.test(textOf(expirationTimestamp)))
      throw new CredentialPluginError('the plugin’s expirationTimestamp is not RFC 3339')
    untilMs = Date.parse(textOf(expirationTimestamp))
  }
  return {
    credentials: {
      ...(textOf(token) === '' ? {} : { token: textOf(token) }),
      ...(cert === '' ? {} : { cert, key }),
    },
    untilMs,
  }
}

function runPlugin(options: PluginOptions): Promise<string> {
  const { exec, dialect } = options
  const input = pluginInput(options)
  const { interactive } = input['spec'] as { interactive: boolean }
  const own = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]))
  const infoName = `${dialect.name.toUpperCase()}_EXEC_INFO`
  return new Promise((resolve, reject) => {
    const hint = exec.installHint === undefined ? '' : `\n${exec.installHint}`
    const fail = (why: string, cause?: unknown): void =>
      reject(new CredentialPluginError(`credential plugin ${exec.command}: ${why}${hint}`, cause))
    const child = spawn(exec.command, exec.args ?? [], {
      env: { ...(options.environment ?? environment), ...own, [infoName]: JSON.stringify(input) },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.length <= maxOutput) return
      child.kill('SIGKILL')
      fail('it printed too much')
    })
    child.on('error', (error) => fail(error.message, error))
    child.on('close', (code, signal) => {
      if (code === 0) resolve(text)
      else fail(code === null ? `ended by ${signal}` : `exit code ${code}`)
    })
  })
}

/**
 * Credentials from a plugin: it is run when they are first needed, again when they have expired, and again after the server
 * refused them. Requests at the same time share one run.
 */
export function createPluginCredentials(options: PluginOptions): CredentialSource {
  const { clock } = options
  let held: Obtained | undefined
  let running: Promise<Obtained> | undefined
  const obtain = async (): Promise<Obtained> => {
    const apiVersion = versionOf(options)
    return readPluginOutput(await runPlugin(options), apiVersion)
  }
  return {
    current: async () => {
      if (held !== undefined && (held.untilMs === undefined || clock.now() < held.untilMs))
        return held.credentials
      running ??= obtain().finally(() => {
        running = undefined
      })
      held = await running
      return held.credentials
    },
    refused: () => {
      held = undefined
    },
  }
}
