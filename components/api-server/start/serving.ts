/** serving: builds the chain that answers requests, and the listener in front of it. */
import { readFlagFile } from '../../component-base/flag-file.ts'
import { defaultLimits } from '../../component-base/https-limits.ts'
import { createHttpsServer, type HttpsServer } from '../../component-base/https-server.ts'
import { createAggregator, type Aggregator } from '../aggregation/aggregator.ts'
import { openAudit } from '../audit/open-audit.ts'
import type { Audit } from '../audit/audit.ts'
import { measuredAuthentication } from '../authn/authentication-metrics.ts'
import { measuredAuthorizer } from '../authz/authorization-metrics.ts'
import { continueTokenKey, createContinueTokens } from '../codec/continue-token.ts'
import { dialBy } from '../egress/egress-selector.ts'
import type { NodeAgentCredentials } from '../egress/node-agents.ts'
import { NodeSummaryReader } from '../egress/node-summaries.ts'
import { YamlBodies } from '../encoding/yaml-bodies.ts'
import { createDeniedRequests, type DeniedRequests } from '../filters/denied-requests.ts'
import { createRequestJournal, type RequestJournal } from '../filters/request-journal.ts'
import { createRequestMetrics } from '../filters/request-metrics.ts'
import type { InFlight } from '../filters/turn-away.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import { openFlowControl } from '../flow-control/open-flow-control.ts'
import type { OpenWatches } from '../handlers/open-watches.ts'
import type { Parts } from '../handlers/parts.ts'
import { createReviews } from '../handlers/reviews.ts'
import { createWatchEventCount } from '../handlers/watch-metrics.ts'
import { createHealth, type ServerHealth } from '../health/server-health.ts'
import { localClientOf, type LocalClient } from '../registry/local-client.ts'
import type { HttpRequest, Answer } from '../request/request.ts'
import { compose, filtersOf, ownFiltersOf } from './chain.ts'
import { createDocuments } from './documents.ts'
import { entryOf } from './request-entry.ts'
import { createRouter, type Routes } from './router.ts'
import { createRoutes } from './routes.ts'
import type { Security } from './security.ts'
import { storedResources, type StoredResource } from '../controllers/storage-versions.ts'
import {
  createPendingStorageVersions,
  type PendingStorageVersions,
} from '../request/pending-storage-versions.ts'
import type { Settings } from './settings.ts'
import { storedCounts } from './stored-counts.ts'
import type { State } from './state.ts'
import { mayUpgrade, webSocketUpgrade } from './websocket-upgrade.ts'
import { defaultHistoryMs } from '../watch-cache/watch-cache.ts'
import type { Writes } from './writes.ts'

export interface ServingParts {
  readonly settings: Settings
  readonly state: State
  readonly security: Security
  readonly writes: Writes
  /** Aborts on the first TERM or INT. */
  readonly stop: AbortSignal
  /** Aborts when the server no longer serves: long connections other than watches end. */
  readonly stopping: AbortSignal
  /** What the server ends on shutdown, in steps. */
  readonly inFlight: InFlight
  readonly openWatches: OpenWatches
  readonly logFault: (() => string | undefined) | undefined
}

type Send = (http: HttpRequest) => Promise<Answer>

export interface Serving {
  readonly parts: Parts
  readonly health: ServerHealth
  readonly aggregator: Aggregator
  readonly audit: Audit | undefined
  /** The client of the server's own writes. */
  readonly ownClient: LocalClient
  /** Undefined: max-in-flight limits requests instead. */
  readonly flowControl: FlowControl | undefined
  /** Undefined: StorageVersions are not written. */
  readonly storageVersions: OwnStorageVersions | undefined
  readonly listener: HttpsServer
  /** Answers a request as the listener does. */
  readonly handler: Send
  /** Sets the port that discovery and other documents name. */
  useAddress(port: number): void
}

async function partsOf({ settings, state, security, writes, openWatches }: ServingParts) {
  const { gates, clock, metrics } = settings
  const { store, cache } = state
  return {
    ...settings,
    cbor: gates.CBORServingAndStorage ? (await import('../encoding/cbor-form.ts')).cbor : undefined,
    yaml: new YamlBodies(clock),
    cache,
    registry: writes.registry,
    authorizer: security.authorization.authorizer,
    continueTokens: createContinueTokens(await continueTokenKey(store)),
    openWatches,
    countWatchEvents: createWatchEventCount(metrics),
  } satisfies Parts
}

function nodeAgentsOf(
  { options, files, routes }: Settings,
  { egress }: Security,
): NodeAgentCredentials {
  const fileOf = (
    name: 'kubelet-client-certificate' | 'kubelet-client-key' | 'kubelet-certificate-authority',
  ) => {
    const path = options[name]
    return path === undefined ? undefined : Buffer.from(readFlagFile(name, path, files))
  }
  return {
    cert: fileOf('kubelet-client-certificate'),
    key: fileOf('kubelet-client-key'),
    ca: fileOf('kubelet-certificate-authority'),
    get dial() {
      return egress.cluster ?? dialBy(routes)
    },
  }
}

/** The resources whose StorageVersions the server writes, and those that it has not written yet. */
export interface OwnStorageVersions {
  readonly stored: readonly StoredResource[]
  readonly pending: PendingStorageVersions
}

function storageVersionsOf({ gates, resources, served }: Settings): OwnStorageVersions | undefined {
  if (!gates.StorageVersionAPI || !gates.APIServerIdentity) return undefined
  const stored = storedResources(resources, served)
  return { stored, pending: createPendingStorageVersions(stored) }
}

function flowControlOf({ settings, state, writes }: ServingParts): FlowControl | undefined {
  const { options, gates, served } = settings
  const { cache } = state
  return openFlowControl(options, {
    ...settings,
    reader: cache,
    countOf: storedCounts({ cache, served, custom: writes.custom }),
    withWatchList: gates.WatchList,
  })
}

interface ChainParts {
  readonly parts: Parts
  readonly audit: Audit | undefined
  readonly denied: DeniedRequests
  readonly journal: RequestJournal
  readonly flowControl: FlowControl | undefined
  readonly routes: Routes
  readonly storageVersions: OwnStorageVersions | undefined
}

/** The chain for clients, and a client for the server's own requests. */
function chainsOf(
  { settings, security, inFlight }: ServingParts,
  { parts, audit, denied, journal, flowControl, routes, storageVersions }: ChainParts,
): { readonly handler: Send; readonly ownClient: LocalClient } {
  const { options, clock, metrics, served, version, underWay } = settings
  const { authentication, authorization } = security
  const authorizer = measuredAuthorizer(authorization.authorizer, metrics, clock)
  const measure = createRequestMetrics(metrics, clock)
  const common = { parts, audit, authorizer, denied, journal, measure, underWay }
  const { authenticateRequest } = authentication
  const filters = filtersOf({
    ...common,
    flowControl,
    server: options,
    authenticateRequest: measuredAuthentication(authenticateRequest, metrics, clock),
    uncounted: { authenticateRequest, authorizer: authorization.authorizer },
    pendingVersions: storageVersions?.pending,
    inFlight,
  })
  const ownFilters = ownFiltersOf(common)
  return {
    handler: entryOf(compose(filters, createRouter(served, routes, parts)), parts),
    ownClient: localClientOf({
      registry: parts.registry,
      send: (http, last) => entryOf(compose(ownFilters, last), parts)(http),
      userAgent: `kube-apiserver/${version.gitVersion} (${version.platform})`,
    }),
  }
}

function routesOf(
  { settings, state, security, writes, stopping }: ServingParts,
  more: Pick<Serving, 'aggregator' | 'health'> & Pick<Routes, 'nonResource'>,
): Routes {
  const { resources, clock, log } = settings
  const credentials = nodeAgentsOf(settings, security)
  const { authentication, authorization } = security
  return createRoutes({
    reviews: createReviews({
      authorizer: authorization.authorizer,
      authenticateToken: authentication.authenticateToken,
      apiAudiences: authentication.apiAudiences,
      dialect: settings.dialect,
    }),
    authentication,
    nodeAgents: credentials,
    summaries: new NodeSummaryReader({
      nodes: resources.nodes,
      reader: state.cache,
      credentials,
      clock,
      log,
    }),
    stopping,
    checks: more.health.checks,
    nonResource: more.nonResource,
    custom: (path) => writes.custom.find(path),
    aggregated: more.aggregator,
  })
}

function listenerOf(
  { settings, security }: ServingParts,
  { handler, isElsewhere }: { handler: Send; isElsewhere: Aggregator['isElsewhere'] },
): HttpsServer {
  const { options, dialect, drainMs = defaultLimits.drainMs, suspension, log } = settings
  return createHttpsServer({
    host: options['bind-address'],
    port: options['secure-port'],
    tls: security.certificates.tls,
    handler,
    upgrade: webSocketUpgrade({ handle: handler, dialect, log, isElsewhere }),
    mayUpgrade: mayUpgrade(isElsewhere),
    limits: { drainMs: drainMs + options['shutdown-watch-termination-grace-period'] },
    suspension,
    log,
  })
}

/** Builds everything between a connection and the registry; nothing listens yet. */
export async function createServing(from: ServingParts): Promise<Serving> {
  const { settings, state, security, writes, stop, stopping, logFault } = from
  const { options, clock, log, dialect, gates } = settings
  const parts = await partsOf(from)
  const encryption = state.encrypted?.encryption
  const checked = { ...state, ...security, encryption }
  const health = createHealth(options, { ...checked, gates, clock, log, logFault, stop })
  const aggregator = createAggregator(options, {
    ...settings,
    reader: state.cache,
    withUid: gates.RemoteRequestHeaderUID,
    proxyClient: security.certificates.proxyClient,
    dial: security.egress.cluster,
    stopping,
  })
  let address = `${options['advertise-address']}:${options['secure-port']}`
  const denied = createDeniedRequests({ log, dialect })
  const journal = createRequestJournal({ clock, dialect, keepMs: defaultHistoryMs })
  const flowControl = flowControlOf(from)
  const nonResource = createDocuments({
    settings,
    state,
    security,
    custom: writes.custom,
    parts,
    aggregator,
    checks: health.checks,
    denied,
    journal,
    flowControl,
    address: () => address,
  })
  const routes = routesOf(from, { aggregator, health, nonResource })
  // The last step that can reject. The caller closes the audit log.
  const audit = await openAudit(options, { clock, log })
  const storageVersions = storageVersionsOf(settings)
  const { handler, ownClient } = chainsOf(from, {
    parts,
    audit,
    denied,
    journal,
    flowControl,
    routes,
    storageVersions,
  })
  writes.pluginClient.use(ownClient)
  const listener = listenerOf(from, { handler, isElsewhere: aggregator.isElsewhere })
  const useAddress = (port: number): void => {
    address = `${options['advertise-address']}:${port}`
  }
  const serving = { parts, health, aggregator, audit, ownClient, flowControl, storageVersions }
  return { ...serving, listener, handler, useAddress }
}
