/** api-server: builds store, watch cache, registry, chain and listener from options, and runs them until told to stop. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import { parseFeatureGates } from '../api/feature-gates.ts'
import { resourcesOf } from '../api/resources.ts'
import { servedResources } from '../api/runtime-config.ts'
import { aborted } from '../component-base/aborted.ts'
import { StartError, type ComponentContext } from '../component-base/component.ts'
import { readFlagFile } from '../component-base/flag-file.ts'
import { FlagError } from '../component-base/flags.ts'
import { createHttpsServer } from '../component-base/https-server.ts'
import { showHiddenFault } from '../component-base/metrics.ts'
import { Compactor } from '../store/compactor.ts'
import { Expiry } from '../store/expiry.ts'
import { createAggregator } from './aggregation/aggregator.ts'
import { createAdmission } from './admission/chain.ts'
import { createAuthentication } from './authentication.ts'
import { createAuthorization } from './authorization.ts'
import { issuerDocuments } from './authn/issuer-documents.ts'
import { eventsResource, expireEvents } from './expire-events.ts'
import { admissionRulesOf, egressOf, encryptionOf } from './flag-files.ts'
import { openCertificates } from './followed-certificates.ts'
import { createHealth } from './server-health.ts'
import { createEscalationCheck } from './authz/escalation.ts'
import { ensureAuthenticationInfo, ensureBootstrapObjects } from './bootstrap-objects.ts'
import { compose, filtersOf, ownFiltersOf } from './chain.ts'
import { continueTokenKey, createContinueTokens } from './continue-token.ts'
import { createDeniedRequests } from './explain/denied-requests.ts'
import { createConverters } from './custom-resources/conversion-webhook.ts'
import { createCustomKinds } from './custom-resources/custom-kinds.ts'
import { createServedDefinitions } from './custom-resources/served-definitions.ts'
import { createCurrentDiscovery } from './discovery.ts'
import { openFlowControl } from './flow-control/open-flow-control.ts'
import { startKeepers } from './keepers.ts'
import { openAudit } from './audit/open-audit.ts'
import { answerNonResource, type NonResourceParts } from './handlers/non-resource.ts'
import type { Parts } from './handlers/parts.ts'
import { createReviews } from './handlers/reviews.ts'
import { createRoutes } from './routes.ts'
import { aggregatorHooks, followingHooks } from './start-hooks.ts'
import type { apiServerFlags } from './options.ts'
import { createStoredUpgrade } from './registry/stored-upgrade.ts'
import { Registry } from './registry/registry.ts'
import { createServiceAllocator, firstAddress } from './registry/service-allocator.ts'
import type { Answer, RequestContext } from './request.ts'
import { localClientOf } from './local-client.ts'
import { entryOf } from './request-entry.ts'
import { createRouter } from './router.ts'
import { measuredAuthentication, measuredAuthorizer } from './metrics/access-metrics.ts'
import { measuredAdmission } from './metrics/admission-metrics.ts'
import { admissionWebhookMetrics } from './metrics/admission-webhook-metrics.ts'
import { createHealthMetrics } from './metrics/health-metrics.ts'
import { createRequestMetrics } from './metrics/request-metrics.ts'
import {
  createServerMetrics,
  createWatchEventCount,
  declareCacheMetrics,
  metricsRelease,
} from './metrics/server-metrics.ts'
import { measuredStore } from './metrics/storage-metrics.ts'
import { versionInfo } from './version.ts'
import { YamlBodies } from './yaml-bodies.ts'
import { mayUpgrade, webSocketUpgrade } from './websocket-request.ts'
import { keepReadable } from './storage/keep-readable.ts'
import { openStorage } from './storage/open-storage.ts'
import { forgetting } from './watch-cache/forgetting.ts'
import { WatchCache } from './watch-cache/watch-cache.ts'
import { createOpenApi } from './openapi/openapi.ts'

/** A start-up value whose fault is the operator's: the message alone is shown. */
function startValue<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new StartError((error as Error).message, error)
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
  const showHidden = options['show-hidden-metrics-for-version']
  const hiddenFault = showHiddenFault(showHidden, metricsRelease)
  if (hiddenFault !== undefined) throw new FlagError(hiddenFault)
  const metrics = createServerMetrics({
    showHidden: showHidden !== '',
    gates,
    version: versionInfo(process),
  })

  // Work of the server itself: ends after the listener, so that what is in flight is finished first.
  const inner = new AbortController()
  const stopping = new AbortController()
  const encrypted = await encryptionOf(options, { dialect, resources: resources.all })
  const store = measuredStore(await openStorage(options), metrics, clock)
  const transformers = encrypted?.encryption
  const upgrade = createStoredUpgrade(resources, dialect)
  const cache = new WatchCache({
    store,
    clock,
    historyBytes: options['watch-history-bytes'],
    transformers,
    upgrade,
  })
  const { run: following } = await cache.start(inner.signal)
  const expiry = new Expiry({ store, clock, log })
  expireEvents({ expiry, cache, events: resources.events, ttlMs: options['event-ttl'], clock })

  const common = { reader: cache, resources, dialect, clock, log, metrics }
  const certificates = await openCertificates(options)
  const egress = await egressOf(options, dialect)
  const converters = createConverters({ reader: cache, resources, clock, egress, dialect })
  const custom = createServedDefinitions({
    reader: cache,
    definitions: resources.customResourceDefinitions,
    endWatches: (prefix) => cache.endWatches(prefix),
    converters,
  })
  const authentication = await createAuthentication(options, {
    ...common,
    dial: egress.controlplane,
    certificates,
    gates,
  })
  const authorization = await createAuthorization(options, {
    ...common,
    dial: egress.controlplane,
    gates,
  })
  const checkEscalation = createEscalationCheck({
    index: authorization.rbacIndex,
    authorizer: authorization.authorizer,
    reader: cache,
    dialect,
  })
  declareCacheMetrics(metrics, cache, resources.all)
  const measure = createRequestMetrics(metrics, clock)
  const admissionRules = await admissionRulesOf(options, { dialect, log })
  const admission = startValue(() =>
    createAdmission(
      {
        enable: options['enable-admission-plugins'],
        disable: options['disable-admission-plugins'],
      },
      {
        ...common,
        authorizer: authorization.authorizer,
        checkEscalation,
        served,
        customKinds: () => custom.established,
        egress,
        webhookMetrics: admissionWebhookMetrics(metrics),
        ...admissionRules,
      },
    ),
  )
  const registry = new Registry({
    store,
    cache,
    transformers,
    allowUnsafeDeletion: gates.AllowUnsafeMalformedObjectDeletion,
    dialect,
    resources,
    clock,
    admission: measuredAdmission(admission, metrics, clock),
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
    cbor: gates.CBORServingAndStorage ? (await import('./forms/cbor-form.ts')).cbor : undefined,
    yaml: new YamlBodies(clock),
    resources,
    clock,
    log,
    cache,
    registry,
    authorizer: authorization.authorizer,
    continueTokens: createContinueTokens(await continueTokenKey(store)),
    stopping: stopping.signal,
    countWatchEvents: createWatchEventCount(metrics),
  }

  const health = createHealth(options, {
    store,
    cache,
    clock,
    log,
    logFault: context.logFault,
    authentication,
    authorization,
    certificates,
    stop: signal,
  })
  const { hooks, checks } = health
  const fileOf = (
    name: 'kubelet-client-certificate' | 'kubelet-client-key' | 'kubelet-certificate-authority',
  ) => {
    const path = options[name]
    return path === undefined ? undefined : Buffer.from(readFlagFile(name, path))
  }
  const aggregator = createAggregator(options, {
    ...common,
    served,
    withUid: gates.RemoteRequestHeaderUID,
    proxyClient: certificates.proxyClient,
    dial: egress.cluster,
    stopping: stopping.signal,
  })
  let address = `${options['advertise-address']}:${options['secure-port']}`
  const nonResource: NonResourceParts = {
    parts,
    discovery: createCurrentDiscovery(() => ({
      dialect,
      resources: served,
      custom: custom.established,
      groups: resources.groups,
      serverAddress: address,
      ...aggregator.discovered,
    })),
    checks,
    healthMetrics: createHealthMetrics(),
    version: versionInfo(process),
    metrics: () => metrics.text(),
    openApi: createOpenApi({
      dialect,
      resources: () => served,
      custom: createCustomKinds(custom),
      cbor: gates.CBORServingAndStorage,
      extensions: () => aggregator.documents,
      serverVersion: versionInfo(process).gitVersion,
      pause: () => clock.sleep(0),
    }),
    issuerDocument: issuerDocuments(authentication.issuer, () => address),
  }
  const denied = createDeniedRequests({ log, dialect })
  const explained = async (request: RequestContext): Promise<Answer | undefined> => {
    if (!request.info.path.startsWith('/explain/')) return undefined
    const { answerExplain } = await import('./explain/explain.ts')
    const from = { authentication, authorization, denied, reader: cache, dialect }
    return await answerExplain(request, from)
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
      dial: egress.cluster,
    },
    stopping: stopping.signal,
    checks,
    nonResource: async (request) =>
      (await explained(request)) ?? (await answerNonResource(request, nonResource)),
    custom: (path) => custom.find(path),
    aggregated: aggregator,
  })
  // Last of what may refuse to start: from here on it is closed in the end.
  const audit = await openAudit(options, { clock, log })
  const chainParts = {
    parts,
    audit,
    authorizer: measuredAuthorizer(authorization.authorizer, metrics, clock),
    denied,
    measure,
  }
  const authenticateRequest = measuredAuthentication(
    authentication.authenticateRequest,
    metrics,
    clock,
  )
  const chain = compose(
    filtersOf({
      ...chainParts,
      flowControl: openFlowControl(options, { reader: cache, resources, dialect, clock, metrics }),
      server: options,
      authenticateRequest,
      uncounted: {
        authenticateRequest: authentication.authenticateRequest,
        authorizer: authorization.authorizer,
      },
    }),
    createRouter(served, routes, parts),
  )
  const ownFilters = ownFiltersOf(chainParts)
  const { gitVersion, platform } = versionInfo(process)
  const ownClient = localClientOf({
    registry,
    send: (http, last) => entryOf(compose(ownFilters, last), parts)(http),
    userAgent: `kube-apiserver/${gitVersion} (${platform})`,
  })
  const handler = entryOf(chain, parts)
  const { isElsewhere } = aggregator
  const listener = createHttpsServer({
    host: options['bind-address'],
    port: options['secure-port'],
    tls: certificates.tls,
    handler,
    upgrade: webSocketUpgrade({ handle: handler, dialect, log, isElsewhere }),
    mayUpgrade: mayUpgrade(isElsewhere),
    log,
  })
  const listenerStop = new AbortController()
  const listening = listener.run(listenerStop.signal)
  // All of it was made above.
  hooks.done('start-apiserver-admission-initializer', 'max-in-flight-filter')
  const background = [
    hooks.keep(followingHooks, following),
    health.run(inner.signal),
    expiry.run(inner.signal),
    new Compactor({ store, clock, log, cutRevision: () => cache.history.cutRevision }).run(
      inner.signal,
    ),
    forgetting({ cache, store, clock, signal: inner.signal }),
    authentication.run(inner.signal),
    authorization.run(inner.signal),
    hooks.keep(
      ['aggregator-reload-proxy-client-cert'],
      certificates.run({
        clock,
        log,
        signal: inner.signal,
        useTls: (tls) => listener.setCertificate(tls),
        onAuthorities: () =>
          ensureAuthenticationInfo({ client: ownClient, dialect }, certificates.info).catch(
            (error: unknown) => log.error('changed authorities are not published', { error }),
          ),
      }),
    ),
    keepReadable({
      cache,
      file: options['encryption-provider-config-automatic-reload'] ? encrypted : undefined,
      clock,
      log,
      metrics,
      signal: inner.signal,
    }),
  ]
  let keepers: readonly Promise<void>[] = []
  try {
    const bound = await Promise.race([listener.ready, listening.then(() => listener.ready)])
    address = `${options['advertise-address']}:${bound.port}`
    await ensureBootstrapObjects({
      client: ownClient,
      dialect,
      withPolicy: authorization.usesRbac,
      apiServer: {
        serviceIp: firstAddress(options['service-cluster-ip-range']),
        servicePort: 443,
        address: options['advertise-address'],
        port: bound.port,
      },
      served,
      authentication: certificates.info,
      hooks,
    })
    keepers = [
      ...startKeepers(
        {
          ...common,
          client: ownClient,
          served: () => [...served, ...custom.established],
          converters,
          hooks,
        },
        stopping.signal,
      ),
      hooks.keep(aggregatorHooks, aggregator.run(ownClient, stopping.signal)),
    ]
    background.push(...keepers)
    context.ready({ port: bound.port })
    await Promise.race([aborted(signal), listening, ...background])
    if (options['shutdown-delay-duration'] > 0) {
      await clock.sleep(options['shutdown-delay-duration'])
    }
  } finally {
    stopping.abort()
    listenerStop.abort()
    await listening.catch((error: unknown) => log.error('listener failed', { error }))
    // A write of its own ends only while the cache still follows the store.
    await Promise.allSettled(keepers)
    inner.abort()
    await Promise.allSettled(background)
    await Promise.all([audit?.sink.close(), parts.yaml.close()])
    await store.close()
  }
}
