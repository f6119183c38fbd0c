/**
 * serveApiService: a group version that a handler of this process serves behind the API server's aggregation layer. A Service of type
 * ExternalName leads to it, because endpoints may not be loopback addresses.
 */
import { createHash } from 'node:crypto'
import { apiGroup } from '../components/api/dialect.ts'
import { createDiscovery } from '../components/client/server-resources.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { messageOf } from '../components/component-base/log.ts'
import { answerApiCall, rootOf } from './api-service-answers.ts'
import type { Connection } from './connection.ts'
import { readFrontProxy } from './front-proxy.ts'
import { handlerHost, startHandlerServer } from './handler-server.ts'
import type { HandlerServer, ServedCluster } from './handler-server.ts'
import { objectClientOver } from './object-client.ts'
import { deleteOwn, registered } from './handler-registration.ts'
import type {
  ApiServiceHandler,
  ApiServiceOptions,
  KubernetesObject,
  ObjectClient,
  Registration,
} from './types.ts'

/** The API server takes no larger objects. */
const maxBodyBytes = 16 * 1024 * 1024
const availableTimeoutMs = 30_000
const lookEveryMs = 20

/** Always the same for a group version; no other Service has it by chance. */
function placeOf({ group, version }: ApiServiceOptions, { dialect }: ServedCluster) {
  const hash = createHash('sha256').update(`${version}.${group}`).digest('hex')
  return { name: `apiservice-${hash.slice(0, 12)}`, namespace: dialect.systemNamespace }
}

/** The APIService, and the Service that it names. */
function objectsOf(
  options: ApiServiceOptions,
  cluster: ServedCluster,
  { port, caBundle }: HandlerServer,
): readonly KubernetesObject[] {
  const { group, version, groupPriorityMinimum = 1000, versionPriority = 10 } = options
  const place = placeOf(options, cluster)
  return [
    {
      apiVersion: `${apiGroup(cluster.dialect, 'apiregistration')}/v1`,
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        service: { ...place, port },
        caBundle,
        groupPriorityMinimum,
        versionPriority,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: place,
      spec: { type: 'ExternalName', externalName: handlerHost, ports: [{ port }] },
    },
  ]
}

/** Why the API server does not list the group version: what it says, and what the handler threw. */
async function whyUnlisted(
  client: ObjectClient,
  apiService: KubernetesObject,
  { options, errors }: { readonly options: ApiServiceOptions; readonly errors: readonly unknown[] },
): Promise<string> {
  const { apiVersion, kind = '', metadata: { name = '' } = {} } = apiService
  const { status } = await client.get<
    KubernetesObject & { status?: { conditions?: readonly Record<string, string>[] } }
  >({ apiVersion, kind, name })
  const available = status?.conditions?.find(({ type }) => type === 'Available')
  const said =
    available?.['status'] === 'True'
      ? `${rootOf(options)} must be answered with an APIResourceList of its resources`
      : (available?.['message'] ?? 'it was not asked')
  const threw = errors.length === 0 ? '' : `; the handler threw: ${messageOf(errors[0])}`
  return `${said}${threw}`
}

/** Waits until discovery lists the group version, which it does once the APIService is Available. */
async function untilListed(
  connection: Connection,
  apiService: KubernetesObject,
  at: {
    readonly cluster: ServedCluster
    readonly options: ApiServiceOptions
    readonly errors: readonly unknown[]
  },
): Promise<void> {
  const { networkClock: clock = systemClock } = at.cluster
  const discover = createDiscovery(connection.client)
  const startMs = clock.elapsed()
  for (;;) {
    const { all } = await discover()
    const { group, version } = at.options
    if (all.some((one) => one.group === group && one.version === version)) return
    if (clock.elapsed() - startMs > availableTimeoutMs) {
      const why = await whyUnlisted(objectClientOver(connection), apiService, at)
      throw new Error(`the API server does not serve ${version}.${group}: ${why}`, {
        cause: at.errors[0],
      })
    }
    await clock.sleep(lookEveryMs)
  }
}

/** Creates the objects, and waits until the API server serves the group version. Gives what deletes them. */
async function register(
  connection: Connection,
  server: HandlerServer,
  { cluster, options }: { readonly cluster: ServedCluster; readonly options: ApiServiceOptions },
): Promise<() => Promise<void>> {
  const client = objectClientOver(connection)
  const made: KubernetesObject[] = []
  const isOwn = ({ spec }: KubernetesObject): boolean =>
    (spec.service ?? spec.ports?.[0])?.port === server.port
  const unregister = async (): Promise<void> => {
    for (const object of made) await deleteOwn(client, object, isOwn)
  }
  try {
    for (const object of objectsOf(options, cluster, server)) made.push(await client.create(object))
    const [apiService = {}] = made
    await untilListed(connection, apiService, { cluster, options, errors: server.errors })
  } catch (error) {
    await unregister()
    throw error
  }
  return unregister
}

/**
 * Resolves when the APIService is Available and discovery lists its resources. A handler that throws answers 500 with the message;
 * `dispose` rejects with what it threw. `dispose` deletes the APIService and the Service, and ends the server with its open responses.
 */
export async function serveApiService(
  connection: Connection,
  cluster: ServedCluster,
  options: ApiServiceOptions,
  handler: ApiServiceHandler,
): Promise<Registration> {
  const { networkClock: clock = systemClock, dialect } = cluster
  const frontProxy = await readFrontProxy(objectClientOver(connection), { dialect, clock })
  const { name, namespace } = placeOf(options, cluster)
  const server = await startHandlerServer(cluster, {
    what: `API service ${options.version}.${options.group}`,
    dnsNames: [`${name}.${namespace}.svc`],
    maxBodyBytes,
    answer: (call) => answerApiCall(call, { frontProxy, options, handler }),
  })
  return await registered(server, () => register(connection, server, { cluster, options }))
}
