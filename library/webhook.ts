/**
 * serveWebhook: an admission webhook that this process serves. Its configuration names a URL of 127.0.0.1: a Service (of type
 * ExternalName, as for a webhook beside a cluster) would only lead back here.
 */
import { apiGroup } from '../components/api/dialect.ts'
import { systemClock, type Clock } from '../components/component-base/clock.ts'
import { messageOf } from '../components/component-base/log.ts'
import { answerReview } from './admission-review.ts'
import { jsonAnswer, startHandlerServer } from './handler-server.ts'
import type { HandlerServer, ServedCluster } from './handler-server.ts'
import { deleteOwn, registered } from './handler-registration.ts'
import type {
  AdmissionHandler,
  KubernetesObject,
  ObjectClient,
  Registration,
  WebhookOptions,
} from './types.ts'

/** No review is larger: the API server takes no larger objects. */
const maxBodyBytes = 16 * 1024 * 1024
const probeTimeoutMs = 10_000
const probePauseMs = 20

/** The server of one webhook: reviews at `/review`, and `/probe`, by which the API server shows that it calls. */
interface WebhookServer extends HandlerServer {
  readonly wasProbed: () => boolean
}

async function startServer(
  cluster: ServedCluster,
  { name, kind }: WebhookOptions,
  handler: AdmissionHandler,
): Promise<WebhookServer> {
  let wasProbed = false
  const server = await startHandlerServer(cluster, {
    what: `webhook ${name}`,
    maxBodyBytes,
    answer: async ({ request, body }) => {
      const isProbe = request.url.startsWith('/probe')
      wasProbed ||= isProbe
      const asked = isProbe ? () => undefined : handler
      return jsonAnswer(200, await answerReview(await body(), kind, asked))
    },
  })
  return { ...server, wasProbed: () => wasProbed }
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
  { cluster, caBundle }: { readonly cluster: ServedCluster; readonly caBundle: string },
  webhooks: readonly object[],
): KubernetesObject {
  return {
    apiVersion: `${apiGroup(cluster.dialect, 'admissionregistration')}/v1`,
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

interface Registered extends KubernetesObject {
  readonly webhooks?: readonly { readonly clientConfig: { readonly url?: string } }[]
}

/**
 * Registers the probe, and in its place the webhook once the probe was called. The API server uses what it has answered. Gives what
 * deletes the configuration.
 */
async function register(
  client: ObjectClient,
  server: WebhookServer,
  { cluster, options }: { readonly cluster: ServedCluster; readonly options: WebhookOptions },
): Promise<() => Promise<void>> {
  const { kind: _, ...given } = options
  const { url, caBundle } = server
  const webhook = { ...given, clientConfig: { url: `${url}/review` } }
  const by = { cluster, caBundle }
  const made = await client.create(configurationOf(options, by, [probeOf(options, url)]))
  const { metadata = {} } = made
  const isOwn = ({ webhooks = [] }: Registered): boolean =>
    webhooks.some(({ clientConfig }) => clientConfig.url?.startsWith(`${url}/`) === true)
  const unregister = (): Promise<void> => deleteOwn(client, made, isOwn)
  try {
    await untilCalled(client, server, cluster.networkClock ?? systemClock)
    await client.replace({ ...configurationOf(options, by, [webhook]), metadata })
  } catch (error) {
    await unregister()
    throw error
  }
  return unregister
}

/**
 * Resolves when the API server calls the webhook. A handler that throws answers 500 with the message, to which the API server
 * applies the failure policy; `dispose` rejects with what it threw. `dispose` deletes the configuration and ends the server.
 */
export async function serveWebhook(
  client: ObjectClient,
  cluster: ServedCluster,
  options: WebhookOptions,
  handler: AdmissionHandler,
): Promise<Registration> {
  const server = await startServer(cluster, options, handler)
  return await registered(server, () => register(client, server, { cluster, options }))
}
