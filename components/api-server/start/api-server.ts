/** api-server: builds the server from its flags in named steps, and runs it until its signal aborts. */
import { aborted } from '../../component-base/aborted.ts'
import type { ApiServerAddress } from '../../api/bootstrap-policy/system-objects.ts'
import { StartError, type ComponentContext } from '../../component-base/component.ts'
import type { apiServerFlags } from '../configuration/options.ts'
import { ensureBootstrapObjects } from '../controllers/bootstrap-objects.ts'
import { EndpointReconciler } from '../controllers/endpoint-reconciler.ts'
import { identityLease, serverIdentity } from '../controllers/identity-lease.ts'
import { writeStorageVersions } from '../controllers/storage-versions.ts'
import { takeFaultCommands } from '../faults/fault-commands.ts'
import { InFlight } from '../filters/turn-away.ts'
import { OpenWatches } from '../handlers/open-watches.ts'
import { firstAddress } from '../kinds/core/service-allocator.ts'
import { ownEndpointsOf, type OwnEndpoints } from './own-endpoints.ts'
import { endGracefully, watchGraceOf } from './graceful-end.ts'
import { startBackground, startControllers } from './background.ts'
import { printState } from './print-state.ts'
import { openSecurity } from './security.ts'
import { createServing, type Serving, type ServingParts } from './serving.ts'
import { settingsOf } from './settings.ts'
import { closeStores, openState, storeInitialState, type GivenStore, type State } from './state.ts'
import { createWrites } from './writes.ts'

/** Writes what every cluster has: namespaces, roles, priorities, the server's own Service. */
function ensureOwnObjects(
  { settings, security }: ServingParts,
  { ownClient: client, health }: Serving,
  by: {
    readonly apiServer: ApiServerAddress
    readonly endpoints: OwnEndpoints
    readonly identity: string
  },
): Promise<void> {
  const { options, dialect, served, gates } = settings
  return ensureBootstrapObjects({
    client,
    dialect,
    withPolicy: security.authorization.usesRbac,
    gates,
    ...(gates.APIServerIdentity
      ? { identityLease: identityLease({ ...settings, identity: by.identity }) }
      : {}),
    ...(gates.MultiCIDRServiceAllocator
      ? { serviceRanges: [options['service-cluster-ip-range']] }
      : {}),
    apiServer: by.apiServer,
    endpoints: by.endpoints,
    served,
    authentication: security.certificates.info,
    hooks: health.hooks,
  })
}

function addressOf({ options }: ServingParts['settings'], port: number): ApiServerAddress {
  const serviceIp = firstAddress(options['service-cluster-ip-range'])
  return { serviceIp, servicePort: 443, address: options['advertise-address'], port }
}

/** Rejects with a StartError that names the KMS provider, if one is the reason why the server cannot write. */
async function explained(error: unknown, { encrypted }: State): Promise<never> {
  const fault = await encrypted?.encryption.kmsFault()
  if (fault === undefined) throw error
  throw new StartError(`--encryption-provider-config: objects cannot be encrypted: ${fault}`, error)
}

/** Clients of a ready server need not wait for its storage versions. What fails now is tried again in the background. */
async function writeOwnStorageVersions(
  { settings }: ServingParts,
  { ownClient: client, storageVersions }: Serving,
  identity: string,
): Promise<void> {
  if (storageVersions === undefined) return
  await writeStorageVersions({ ...settings, ...storageVersions, client, identity })
}

interface OwnWork {
  readonly endpoints: OwnEndpoints
  /** They end with the signal. */
  readonly controllers: readonly Promise<void>[]
}

/** Writes the server's own objects, and keeps them from then on. */
async function startOwnWork(
  from: ServingParts,
  serving: Serving,
  { port, signal }: { readonly port: number; readonly signal: AbortSignal },
): Promise<OwnWork> {
  const { settings, state } = from
  const apiServer = addressOf(settings, port)
  const endpoints = ownEndpointsOf(settings, state, { client: serving.ownClient, own: apiServer })
  const identity = serverIdentity(settings.hostname, state.store.isShared ? apiServer : undefined)
  const own = { apiServer, endpoints, identity }
  await ensureOwnObjects(from, serving, own).catch((error: unknown) => explained(error, state))
  await writeOwnStorageVersions(from, serving, identity)
  const controllers = startControllers(from, serving, { identity, signal })
  if (endpoints instanceof EndpointReconciler) controllers.push(endpoints.run(signal))
  return { endpoints, controllers }
}

/** The origin as this server's clients name it. */
function originOf({ options }: ServingParts['settings'], port: number): string {
  const host = options['advertise-address']
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Runs the server until `signal` aborts; rejects when it cannot start or its store fails. A store that is given takes the place
 * of --store; it is closed at the end as any other.
 */
export async function runApiServer(
  context: ComponentContext<typeof apiServerFlags>,
  given?: GivenStore,
): Promise<void> {
  const { clock, log, logFault, options, signal } = context
  const settings = settingsOf(context)
  if (options['print-state'] !== undefined) return await printState(settings, process.stdout)
  if (options['initial-state-only']) return await storeInitialState(settings)
  if (context.commands !== undefined) takeFaultCommands(context.commands, settings.faults)
  // Background work ends after the listener, so that requests in flight finish first.
  const inner = new AbortController()
  const stopping = new AbortController()
  const state = await openState(settings, inner.signal, given)
  const security = await openSecurity(settings, state)
  const writes = await createWrites(settings, state, security)
  const from: ServingParts = {
    settings,
    state,
    security,
    writes,
    logFault,
    stop: signal,
    stopping: stopping.signal,
    inFlight: new InFlight(),
    openWatches: new OpenWatches(),
  }
  settings.faults.onChange = () => from.openWatches.wake()
  const serving = await createServing(from)
  const { listener, handler, health, audit, parts } = serving
  const listenerStop = new AbortController()
  const listening = listener.run(listenerStop.signal)
  health.hooks.done('start-apiserver-admission-initializer', 'max-in-flight-filter')
  const background = startBackground(from, serving, inner.signal)
  let controllers: readonly Promise<void>[] = []
  let unserve: (() => void) | undefined
  try {
    const { port } = await Promise.race([listener.ready, listening.then(() => listener.ready)])
    serving.useAddress(port)
    unserve = context.network?.serve(originOf(settings, port), handler)
    const own = await startOwnWork(from, serving, { port, signal: stopping.signal })
    controllers = own.controllers
    context.ready({ port })
    await Promise.race([aborted(signal), listening, ...background, ...controllers])
    await endGracefully(from, own.endpoints)
  } finally {
    unserve?.()
    stopping.abort()
    const ended = from.openWatches.endAll(watchGraceOf(settings), clock)
    listenerStop.abort()
    await ended
    await listening.catch((error: unknown) => log.error('listener failed', { error }))
    // The server's own writes finish only while the cache follows the store.
    await Promise.allSettled(controllers)
    inner.abort()
    await Promise.allSettled(background)
    await Promise.all([audit?.sink.close(), parts.yaml.close()])
    state.encrypted?.encryption.close()
    await closeStores(state)
  }
}
