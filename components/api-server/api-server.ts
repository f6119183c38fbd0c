/** api-server: builds store, watch cache, registry, chain and listener from options, and runs them until told to stop. */
import { createWriteStream } from 'node:fs'
import { dialectNamed, dialects } from '../api/dialect.ts'
import { parseFeatureGates } from '../api/feature-gates.ts'
import { resourcesOf } from '../api/resources.ts'
import { servedResources } from '../api/runtime-config.ts'
import type { Clock } from '../component-base/clock.ts'
import { StartError, type ComponentContext } from '../component-base/component.ts'
import { createHttpsServer } from '../component-base/https-server.ts'
import type { HttpRequest } from '../component-base/http.ts'
import type { Resource } from '../machinery/resource.ts'
import { openStore } from '../store/open-store.ts'
import { Compactor } from '../store/compactor.ts'
import { Expiry } from '../store/expiry.ts'
import { StoreError, type Store } from '../store/store.ts'
import { createAdmission } from './admission/chain.ts'
import { createAuthentication } from './authentication.ts'
import { issuerDocuments } from './authn/issuer-documents.ts'
import { authenticationInfo, readFlagFile, servingCertificate } from './flag-files.ts'
import { healthChecks } from './health-checks.ts'
import { createAuthorization, parseAuthorizationModes } from './authz/authorization-modes.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { createEscalationCheck } from './authz/escalation.ts'
import { ensureBootstrapObjects } from './bootstrap-objects.ts'
import { compose } from './chain.ts'
import { createDiscovery, type Discovery } from './discovery.ts'
import { audit, type AuditSink } from './filters/audit.ts'
import { authenticate } from './filters/authenticate.ts'
import { authorize } from './filters/authorize.ts'
import { decorate } from './filters/decorate.ts'
import { impersonate } from './filters/impersonate.ts'
import { maxInFlight } from './filters/max-in-flight.ts'
import { recover } from './filters/recover.ts'
import { timeout } from './filters/timeout.ts'
import { answerNonResource, type NonResourceParts } from './handlers/non-resource.ts'
import type { Parts } from './handlers/parts.ts'
import { createReviews } from './handlers/reviews.ts'
import { createRoutes } from './routes.ts'
import type { apiServerFlags, ApiServerOptions } from './options.ts'
import { Registry } from './registry/registry.ts'
import { createServiceAllocator } from './registry/service-allocator.ts'
import type { Answer, Filter, Next, RequestContext } from './request.ts'
import { localClientOf } from './local-client.ts'
import { parseRequestInfo } from './request-info.ts'
import { answerError, asStatusError } from './respond.ts'
import { createRouter } from './router.ts'
import { createServerMetrics } from './server-metrics.ts'
import { versionInfo } from './version.ts'
import { storeKey, WatchCache } from './watch-cache/watch-cache.ts'
import { createOpenApi } from './openapi/openapi.ts'

/** How often the cache forgets history past its time, in collections where nothing happens. */
const forgetEveryMs = 30_000

/** The chain in visit order. */
function filtersOf(options: {
  server: ApiServerOptions
  parts: Parts
  auditSink: AuditSink | undefined
  authentication: ReturnType<typeof createAuthentication>
  authorizer: Authorizer
  measure: Filter
}): Filter[] {
  const { server, parts, auditSink, authentication, authorizer, measure } = options
  const { dialect, clock, log } = parts
  return [
    ...(auditSink === undefined ? [] : [audit(auditSink, { dialect, clock })]),
    measure,
    decorate,
    recover(log),
    timeout(clock, server['request-timeout']),
    maxInFlight({
      reading: server['max-requests-inflight'],
      mutating: server['max-mutating-requests-inflight'],
    }),
    authenticate(authentication.authenticateRequest, log),
    impersonate(authorizer, dialect),
    authorize(authorizer),
  ]
}

function openAudit(path: string | undefined): AuditSink | undefined {
  if (path === undefined || path === '') return undefined
  if (path === '-') return { write: (line) => void process.stdout.write(line) }
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 })
  return { write: (line) => void file.write(line) }
}

/** What is handed to the listener: a request in, an answer out. Never rejects for what a client can do. */
function entryOf(next: Next, parts: Parts): (http: HttpRequest) => Promise<Answer> {
  return async (http) => {
    const context: RequestContext = {
      http,
      dialect: parts.dialect,
      id: parts.clock.uuid(),
      receivedAtMs: parts.clock.now(),
      info: noInfo,
      user: { name: '', groups: [] },
      resource: undefined,
      warnings: [],
      annotations: {},
    }
    try {
      context.info = parseRequestInfo(http.method, http.url)
    } catch (error) {
      return answerError(asStatusError(error))
    }
    return await next(context)
  }
}

const noInfo = parseRequestInfo('GET', '/')

const eventsResource = 'core/events'

/** Tracks Events, and tells expiry of those that were there before. */
function expireEvents(options: {
  expiry: Expiry
  cache: WatchCache
  events: Resource
  ttlMs: number
  clock: Clock
}): void {
  const { expiry, cache, events, ttlMs, clock } = options
  for (const entry of cache.collection(events).snapshot(cache.revision).entries('')) {
    const { creationTimestamp } = entry.object().metadata
    const bornAtMs = Date.parse(creationTimestamp ?? '')
    const startMs = Number.isNaN(bornAtMs) ? clock.now() : bornAtMs
    expiry.track(storeKey(events, entry.key), entry.revision, startMs + ttlMs)
  }
}

/** The first address a Service can have: the API server's own. */
function firstAddress(range: string): string {
  const [network = ''] = range.split('/')
  return network.replace(/\d+$/, (last) => String(Number(last) + 1))
}

/** A start-up value whose fault is the operator's: the message alone is shown. */
function startValue<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new StartError((error as Error).message, error)
  }
}

async function openStoreOrSay(spec: string): Promise<Store> {
  try {
    return await openStore(spec)
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, error)
    throw error
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Lets idle collections forget what is past its time. */
async function forgetting(cache: WatchCache, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(forgetEveryMs, signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    cache.forget()
  }
}

/** Runs the server until `signal` aborts; rejects when it cannot start or its store fails. */
export async function runApiServer(
  context: ComponentContext<typeof apiServerFlags>,
): Promise<void> {
  const { options, clock, log, signal } = context
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  const resources = resourcesOf(dialect)
  const { gates, warnings: gateWarnings } = startValue(() =>
    parseFeatureGates(options['feature-gates']),
  )
  const { served, warnings } = startValue(() =>
    servedResources(resources, options['runtime-config']),
  )
  for (const text of [...gateWarnings, ...warnings]) log.warn(text)

  // Work of the server itself: ends after the listener, so that what is in flight is finished first.
  const inner = new AbortController()
  const stopping = new AbortController()
  const store = await openStoreOrSay(options.store)
  const cache = new WatchCache({ store, clock })
  const { run: following } = await cache.start(inner.signal)
  const expiry = new Expiry({ store, clock, log })
  expireEvents({ expiry, cache, events: resources.events, ttlMs: options['event-ttl'], clock })

  const authentication = createAuthentication(options, { reader: cache, clock, dialect })
  const modes = startValue(() => parseAuthorizationModes(options['authorization-mode']))
  const authorization = createAuthorization(modes, {
    reader: cache,
    dialect,
    authorizeNodeWithSelectors: gates.AuthorizeNodeWithSelectors,
  })
  const checkEscalation = createEscalationCheck({
    index: authorization.rbacIndex,
    authorizer: authorization.authorizer,
    reader: cache,
    dialect,
  })
  const { metrics, measure } = createServerMetrics(cache, clock)
  const admission = startValue(() =>
    createAdmission(
      {
        enable: options['enable-admission-plugins'],
        disable: options['disable-admission-plugins'],
      },
      {
        reader: cache,
        dialect,
        clock,
        authorizer: authorization.authorizer,
        checkEscalation,
      },
    ),
  )
  const registry = new Registry({
    store,
    cache,
    dialect,
    resources,
    clock,
    admission,
    serviceAllocator: createServiceAllocator({
      reader: cache,
      services: resources.services,
      clusterIpRange: options['service-cluster-ip-range'],
      nodePortRange: options['service-node-port-range'],
    }),
    onStored: (resource, key, revision) => {
      if (resource.storagePrefix !== eventsResource) return
      expiry.track(key, revision, clock.now() + options['event-ttl'])
    },
  })
  const parts: Parts = {
    dialect,
    resources,
    clock,
    log,
    cache,
    registry,
    stopping: stopping.signal,
  }

  const startedAtMs = clock.now()
  let isBootstrapped = false
  const checks = healthChecks({
    isBootstrapped: () => isBootstrapped,
    isStopping: () => signal.aborted,
    isInGrace: () => clock.now() < startedAtMs + options['livez-grace-period'],
  })
  const tls = servingCertificate(options)
  const fileOf = (
    name: 'kubelet-client-certificate' | 'kubelet-client-key' | 'kubelet-certificate-authority',
  ) => {
    const path = options[name]
    return path === undefined ? undefined : Buffer.from(readFlagFile(name, path))
  }
  let address = `${options['advertise-address']}:${options['secure-port']}`
  let discovery: Discovery | undefined
  const nonResource: NonResourceParts = {
    parts,
    discovery: () =>
      (discovery ??= createDiscovery({
        dialect,
        resources: served,
        groups: resources.groups,
        serverAddress: address,
      })),
    checks,
    version: versionInfo(process),
    metrics: () => metrics.text(),
    openApi: createOpenApi({
      dialect,
      resources: () => served,
      serverVersion: versionInfo(process).gitVersion,
      pause: () => clock.sleep(0),
    }),
    issuerDocument: issuerDocuments(authentication.issuer, () => address),
  }
  const routes = createRoutes({
    reviews: createReviews({
      authorizer: authorization.authorizer,
      authenticateToken: authentication.authenticateToken,
      apiAudiences: authentication.apiAudiences,
      dialect,
    }),
    authentication,
    nodeAgents: {
      cert: fileOf('kubelet-client-certificate'),
      key: fileOf('kubelet-client-key'),
      ca: fileOf('kubelet-certificate-authority'),
    },
    checks,
    nonResource: (request) => answerNonResource(request, nonResource),
  })
  const chain = compose(
    filtersOf({
      server: options,
      parts,
      auditSink: openAudit(options['audit-log-path']),
      authentication,
      authorizer: authorization.authorizer,
      measure,
    }),
    createRouter(served, routes, parts),
  )
  const listener = createHttpsServer({
    host: options['bind-address'],
    port: options['secure-port'],
    tls,
    handler: entryOf(chain, parts),
    log,
  })
  const listenerStop = new AbortController()
  const listening = listener.run(listenerStop.signal)
  const background = [
    following,
    expiry.run(inner.signal),
    new Compactor({ store, clock, log }).run(inner.signal),
    forgetting(cache, clock, inner.signal),
  ]
  try {
    const bound = await Promise.race([listener.ready, listening.then(() => listener.ready)])
    address = `${options['advertise-address']}:${bound.port}`
    await ensureBootstrapObjects({
      client: localClientOf(registry),
      dialect,
      withPolicy: modes.includes('RBAC'),
      withJoin: options['enable-bootstrap-token-auth'],
      apiServer: {
        serviceIp: firstAddress(options['service-cluster-ip-range']),
        servicePort: 443,
        address: options['advertise-address'],
        port: bound.port,
      },
      served,
      authentication: authenticationInfo(options),
    })
    isBootstrapped = true
    context.ready({ port: bound.port })
    await Promise.race([aborted(signal), listening, ...background])
    if (options['shutdown-delay-duration'] > 0) {
      await clock.sleep(options['shutdown-delay-duration'])
    }
  } finally {
    stopping.abort()
    listenerStop.abort()
    await listening.catch((error: unknown) => log.error('listener failed', { error }))
    inner.abort()
    await Promise.allSettled(background)
    await store.close()
  }
}
