/**
 * webhook-client: posts reviews to a remote service that a client configuration file names (spec: "Token webhook contract",
 * "Webhook authorization contract"). It retries temporary failures and validates answers.
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Dialect } from '../../api/dialect.ts'
import { serviceAccountFolder } from '../../api/dialect.ts'
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import { parseKubeconfig, type Kubeconfig, type KubeconfigUser } from '../../client/kubeconfig.ts'
import type { Dial } from './egress-selector.ts'
import { createHttpsCaller, type HttpsAnswer } from './https-call.ts'

/** Upstream's waits between attempts (webhook.DefaultRetryBackoff): half a second, then half as long again each time. */
const retry = { initialMs: 500, maxMs: 60_000, factor: 1.5, jitter: 0.2 }
const mostAttempts = 5
const maxAnswerBytes = 1024 * 1024

/** The address of a remote service, and the credentials of this server. */
export interface WebhookConnection {
  readonly url: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
  readonly serverName?: string
  readonly insecure?: boolean
}

/** A call without a usable answer. The message names the remote and the cause and never contains the request. */
export class WebhookError extends Error {}

export interface WebhookClient {
  /** Posts a review and returns the `status` of the answer. Rejects with WebhookError. */
  review(review: {
    readonly apiVersion: string
    readonly kind: string
    readonly spec: unknown
  }): Promise<Readonly<Record<string, unknown>>>
  /** No review follows: closes connections as soon as the calls under way have ended. */
  close(): void
}

function named<T extends { readonly name: string }>(
  list: readonly T[],
  name: string,
  what: string,
): T {
  const found = list.find((one) => one.name === name)
  if (found === undefined) throw new Error(`${what} ${JSON.stringify(name)} does not exist`)
  return found
}

function material(
  data: string | undefined,
  file: string | undefined,
  folder: string,
): string | undefined {
  if (data !== undefined) return Buffer.from(data, 'base64').toString()
  return file === undefined || file === '' ? undefined : readFileSync(resolve(folder, file), 'utf8')
}

function connectionOf(config: Kubeconfig, folder: string): WebhookConnection {
  const contextName = config['current-context']
  if (contextName === '') throw new Error('invalid configuration: no current-context')
  const { context } = named(config.contexts, contextName, 'context')
  const { cluster } = named(config.clusters, context.cluster, 'cluster')
  const user: KubeconfigUser = context.user ? named(config.users, context.user, 'user').user : {}
  const ca = material(
    cluster['certificate-authority-data'],
    cluster['certificate-authority'],
    folder,
  )
  const serverName = cluster['tls-server-name']
  return {
    url: checkedUrl(cluster.server),
    ...(ca === undefined ? {} : { ca }),
    ...userCredentials(user, folder),
    ...(serverName === undefined ? {} : { serverName }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecure: true } : {}),
  }
}

/** The certificate, key and token of a kubeconfig's user. Throws when a file cannot be read. */
export function userCredentials(
  user: KubeconfigUser,
  folder: string,
): Pick<WebhookConnection, 'cert' | 'key' | 'token'> {
  const cert = material(user['client-certificate-data'], user['client-certificate'], folder)
  const key = material(user['client-key-data'], user['client-key'], folder)
  const token = user.token ?? material(undefined, user.tokenFile, folder)?.trim()
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(token === undefined ? {} : { token }),
  }
}

function checkedUrl(server: unknown): string {
  if (typeof server !== 'string' || !URL.canParse(server))
    throw new Error('cluster.server is no URL')
  const url = new URL(server)
  if (url.protocol !== 'https:') throw new Error('cluster.server must be a https URL')
  if (server.includes('?') || server.includes('#')) {
    throw new Error('cluster.server must carry no parameters')
  }
  return server
}

/** Reads a client configuration file. Rejects with an Error that names the file and its error. */
export async function webhookConnectionOf(path: string): Promise<WebhookConnection> {
  try {
    return connectionOf(await parseKubeconfig(readFileSync(path, 'utf8')), dirname(path))
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error })
  }
}

/** The connection that a pod of the dialect has to its cluster's API server. */
export function inClusterConnection(pod: {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly dialect: Dialect
  /** Reads a file of the pod; default: of this process. */
  readonly read?: (path: string) => string
}): WebhookConnection {
  const { environment, dialect, read = (path) => readFileSync(path, 'utf8') } = pod
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port) {
    throw new Error(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    )
  }
  const folder = serviceAccountFolder(dialect)
  return {
    url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: read(`${folder}/ca.crt`),
    token: read(`${folder}/token`).trim(),
  }
}

/** Statuses after which a retry may succeed (upstream: DefaultShouldRetry). */
function isPassing(status: number): boolean {
  return status === 429 || status === 500 || status >= 502
}

export function createWebhookClient(
  connection: WebhookConnection,
  options: {
    readonly clock: Clock
    readonly timeoutMs: number
    readonly dial?: Dial | undefined
    /** Before the second attempt; default 500. */
    readonly retryMs?: number
  },
): WebhookClient {
  const { clock, timeoutMs, dial, retryMs = retry.initialMs } = options
  const { url, token, ...tls } = connection
  const caller = createHttpsCaller({ clock, timeoutMs, maxBytes: maxAnswerBytes, dial, ...tls })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }

  async function attempt(body: string): Promise<HttpsAnswer> {
    const waits = createBackoff({ ...retry, initialMs: retryMs }, () => clock.random())
    for (let at = 1; ; at += 1) {
      let failure: unknown
      try {
        const answer = await caller.call({ url, method: 'POST', headers, body })
        if (!isPassing(answer.status)) return answer
        failure = new Error(`POST ${new URL(url).origin}: answered ${answer.status}`)
      } catch (error) {
        failure = error
        // A retry after a timeout would time out again while the client waits.
        if (/no answer within/.test((error as Error).message)) throw error
      }
      if (at >= mostAttempts) throw failure
      await clock.sleep(waits.next())
    }
  }

  return {
    async review(review) {
      try {
        const { status, body } = await attempt(JSON.stringify(review))
        if (status !== 200 && status !== 201) {
          throw new Error(`POST ${new URL(url).origin}: answered ${status}`)
        }
        return statusOf(body, review)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        throw new WebhookError(`failed to make webhook call: ${message}`, { cause: error })
      }
    },
    close: () => caller.close(),
  }
}

/** The answer must have the kind and version of the review (WEBHOOK-007, WEBHOOK-048). */
function statusOf(
  body: Buffer,
  asked: { readonly apiVersion: string; readonly kind: string },
): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch (error) {
    throw new Error('the answer is no JSON', { cause: error })
  }
  const { apiVersion, kind, status } = (value ?? {}) as Record<string, unknown>
  if (apiVersion !== asked.apiVersion || kind !== asked.kind) {
    throw new Error(
      `expected webhook response of ${asked.apiVersion}, Kind=${asked.kind}, got ${String(apiVersion)}, Kind=${String(kind)}`,
    )
  }
  if (typeof status !== 'object' || status === null || Array.isArray(status)) {
    throw new Error('the answer has no status')
  }
  return status as Record<string, unknown>
}
