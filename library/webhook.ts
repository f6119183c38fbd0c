/**
 * serveWebhook: an admission webhook that this process serves. Its configuration names a URL of 127.0.0.1, because the API server
 * runs on this machine: a Service (of type ExternalName, as for a webhook beside a cluster) would only lead back here. The
 * certificate is signed by the cluster's own authority, which is also the `caBundle`.
 */
import { BACKDATE_MS, loadAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import { servingProfile } from '../certs/profiles.ts'
import { apiGroup } from '../components/api/dialect.ts'
import { ConnectionError } from '../components/client/connection-error.ts'
import { systemClock, type Clock } from '../components/component-base/clock.ts'
import type { Answer, HttpRequest } from '../components/component-base/http.ts'
import { createHttpsServer } from '../components/component-base/https-server.ts'
import { messageOf, silentLog } from '../components/component-base/log.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { answerReview } from './admission-review.ts'
import type { ClusterForm } from './cluster-form.ts'
import type {
  AdmissionHandler,
  KubernetesObject,
  ObjectClient,
  Registration,
  WebhookOptions,
} from './types.ts'

const host = '127.0.0.1'
/** No review is larger: the API server takes no larger objects. */
const maxBodyBytes = 16 * 1024 * 1024
/** A request in flight may end; the API server's idle connection may not hold the end up. */
const drainMs = 500
const probeTimeoutMs = 10_000
const probePauseMs = 20

/** What a webhook needs to know of its cluster. */
export interface WebhookHost extends Pick<ClusterForm, 'authority' | 'dialect'> {
  /** For the wait until the API server calls; real time unless a test replaces it. */
  readonly networkClock?: Clock
}

const json = (status: number, value: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

/** The server of one webhook: reviews at `/review`, and `/probe`, by which the API server shows that it calls. */
interface WebhookServer {
  readonly url: string
  readonly wasProbed: () => boolean
  /** What the handler threw, in order. */
  readonly errors: readonly unknown[]
  stop(): Promise<void>
}

/** Valid as long as the authority: the clock of a cluster may be advanced by years, and a restored snapshot sets it back. */
function servingCertificate(authorityPem: WebhookHost['authority']) {
  const authority = loadAuthority(authorityPem)
  const subject = { commonName: 'webhook', organizations: [] }
  const profile = servingProfile({ subject, dnsNames: ['localhost'], ipAddresses: [host] })
  const nowMs = Date.parse(authority.certificate.validFrom) + BACKDATE_MS
  return issue(authority, { profile: { ...profile, lifetimeMs: Infinity }, nowMs })
}

async function startServer(
  { authority }: WebhookHost,
  kind: WebhookOptions['kind'],
  handler: AdmissionHandler,
): Promise<WebhookServer> {
  const { certificatePem, privateKeyPem } = servingCertificate(authority)
  const errors: unknown[] = []
  let wasProbed = false
  const answer = async (request: HttpRequest): Promise<Answer> => {
    const body = await request.body(maxBodyBytes)
    if (request.url.startsWith('/probe')) {
      wasProbed = true
      return json(200, await answerReview(body, kind, () => undefined))
    }
    try {
      return json(200, await answerReview(body, kind, handler))
    } catch (error) {
      errors.push(error)
      const headers = { 'content-type': 'text/plain; charset=utf-8' }
      return { status: 500, headers, body: Buffer.from(messageOf(error)) }
    }
  }
  const server = createHttpsServer({
    host,
    port: 0,
    tls: { cert: certificatePem, key: privateKeyPem },
    handler: answer,
    limits: { drainMs },
    log: silentLog,
  })
  const stopping = new AbortController()
  const ended = server.run(stopping.signal)
  const { port } = await server.ready
  return {
    url: `https://${host}:${port}`,
    wasProbed: () => wasProbed,
    errors,
    stop: async () => {
      stopping.abort(new Error('the webhook was disposed of'))
      await ended
    },
  }
}

/** ConfigMaps with this label call the probe; no one else creates them. */
const probeLabels = { 'webhook-probe': 'true' }

const probeObject: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'webhook-probe', namespace: 'default', labels: probeLabels },
}

function configurationOf(
  options: WebhookOptions,
  { authority, dialect }: WebhookHost,
  webhooks: readonly object[],
): KubernetesObject {
  const caBundle = Buffer.from(authority.certificatePem).toString('base64')
  return {
    apiVersion: `${apiGroup(dialect, 'admissionregistration')}/v1`,
    kind:
      options.kind === 'mutating'
        ? 'MutatingWebhookConfiguration'
        : 'ValidatingWebhookConfiguration',
    metadata: { name: options.name },
    webhooks: webhooks.map((one) => ({
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...one,
      clientConfig: { ...(one as { clientConfig: object }).clientConfig, caBundle },
    })),
  }
}

/** Shows that the API server calls this server, before it calls the user's handler. */
function probeOf({ name }: WebhookOptions, url: string): object {
  const maps = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
  return {
    name: `probe.${name}`,
    clientConfig: { url: `${url}/probe` },
    rules: [{ ...maps, operations: ['CREATE'] }],
    objectSelector: { matchLabels: probeLabels },
  }
}

/** Dry-runs until the API server has called the server. */
async function untilCalled(
  client: ObjectClient,
  server: WebhookServer,
  clock: Clock,
): Promise<void> {
  const startMs = clock.elapsed()
  for (;;) {
    let why = 'it accepted a request without a call'
    try {
      await client.create(probeObject, { dryRun: true })
    } catch (error) {
      // Another webhook or a policy may reject the probe; what counts is that this one was called.
      why = messageOf(error)
    }
    if (server.wasProbed()) return
    if (clock.elapsed() - startMs > probeTimeoutMs)
      throw new Error(`the API server does not call the webhook at ${server.url}: ${why}`)
    await clock.sleep(probePauseMs)
  }
}

/** Registers the probe, and in its place the webhook once the probe was called. The API server uses what it has answered. */
async function register(
  client: ObjectClient,
  server: WebhookServer,
  { cluster, options }: { readonly cluster: WebhookHost; readonly options: WebhookOptions },
): Promise<void> {
  const { kind: _, ...given } = options
  const webhook = { ...given, clientConfig: { url: `${server.url}/review` } }
  const probe = probeOf(options, server.url)
  const { metadata } = await client.create(configurationOf(options, cluster, [probe]))
  try {
    await untilCalled(client, server, cluster.networkClock ?? systemClock)
    const configuration = configurationOf(options, cluster, [webhook])
    await client.replace({ ...configuration, metadata: { ...metadata } })
  } catch (error) {
    await unregister(client, cluster, options)
    throw error
  }
}

/** Deletes the configuration. It may have gone before: with a restored state, or with the cluster. */
async function unregister(
  client: ObjectClient,
  cluster: WebhookHost,
  options: WebhookOptions,
): Promise<void> {
  const { apiVersion, kind = '' } = configurationOf(options, cluster, [])
  try {
    await client.delete({ apiVersion, kind, name: options.name })
  } catch (error) {
    if (!isStatusError(error, 'NotFound') && !(error instanceof ConnectionError)) throw error
  }
}

function rejection(name: string, errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0]
  const [first] = errors
  return new AggregateError(
    errors,
    `the handler of webhook ${name} failed ${errors.length} times, first: ${messageOf(first)}`,
  )
}

/**
 * Resolves when the API server calls the webhook. A handler that throws answers 500 with the message, to which the API server
 * applies the failure policy; `dispose` rejects with what it threw, so that `await using` fails the test. `dispose` deletes the
 * configuration and ends the server in any case.
 */
export async function serveWebhook(
  client: ObjectClient,
  cluster: WebhookHost,
  options: WebhookOptions,
  handler: AdmissionHandler,
): Promise<Registration> {
  const server = await startServer(cluster, options.kind, handler)
  try {
    await register(client, server, { cluster, options })
  } catch (error) {
    await server.stop()
    throw error
  }
  const dispose = async (): Promise<void> => {
    try {
      await unregister(client, cluster, options)
    } finally {
      await server.stop()
    }
    if (server.errors.length > 0) throw rejection(options.name, server.errors)
  }
  let ended: Promise<void> | undefined
  const once = (): Promise<void> => (ended ??= dispose())
  return { dispose: once, [Symbol.asyncDispose]: once }
}
