/** background: the work beside requests: it follows files, expires and compacts, and keeps the server's own objects. */
import { Compactor } from '../../store/compactor.ts'
import { followSizes } from '../../store/store-size.ts'
import { ensureAuthenticationInfo } from '../controllers/authentication-info.ts'
import { forgetting } from '../controllers/forgetting.ts'
import { keepReadable } from '../controllers/keep-readable.ts'
import { startKeepers } from '../controllers/keepers.ts'
import { aggregatorHooks, followingHooks } from '../health/start-hooks.ts'
import type { Serving, ServingParts } from './serving.ts'

/** Follows the serving certificate and the authorities of clients. */
function followCertificates(
  { settings, security }: ServingParts,
  { ownClient, listener }: Serving,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, dialect } = settings
  const { certificates } = security
  return certificates.run({
    clock,
    log,
    signal,
    useTls: (tls) => listener.setCertificate(tls),
    onAuthorities: () =>
      ensureAuthenticationInfo({ client: ownClient, dialect }, certificates.info).catch(
        (error: unknown) => log.error('changed authorities are not published', { error }),
      ),
  })
}

/** Drops old history. A shared store does so itself: other servers may need what this one has forgotten. */
function compacting({ settings, state }: ServingParts, signal: AbortSignal): Promise<void>[] {
  const { options, clock, log } = settings
  const { store, cache } = state
  const historyMs = options['etcd-compaction-interval']
  if (store.isShared || historyMs === 0) return []
  const cutRevision = (): number => cache.history.cutRevision
  return [new Compactor({ store, clock, log, historyMs, cutRevision }).run(signal)]
}

/**
 * This work ends with `signal`, after the listener, so that requests in flight finish first. When one promise rejects, stop
 * the server.
 */
export function startBackground(
  from: ServingParts,
  serving: Serving,
  signal: AbortSignal,
): Promise<void>[] {
  const { settings, state, security } = from
  const { options, clock, log } = settings
  const { cache, storeFiles, expiry, encrypted, following } = state
  const stores = [state.store, ...state.overrides.map(({ store }) => store)]
  const { hooks } = serving.health
  const sizeEveryMs = options['etcd-db-metric-poll-interval']
  const followsFile = options['encryption-provider-config-automatic-reload']
  return [
    hooks.keep(followingHooks, following),
    serving.health.run(signal),
    expiry.run(signal),
    ...compacting(from, signal),
    ...(sizeEveryMs === 0
      ? []
      : [followSizes({ ...settings, stores, everyMs: sizeEveryMs, signal })]),
    ...(storeFiles === undefined ? [] : [storeFiles.run({ clock, log, signal })]),
    forgetting({ cache, stores, clock, signal }),
    security.authentication.run(signal),
    security.authorization.run(signal),
    ...(serving.flowControl === undefined ? [] : [serving.flowControl.run(signal)]),
    hooks.keep(['aggregator-reload-proxy-client-cert'], followCertificates(from, serving, signal)),
    keepReadable({ ...settings, cache, file: encrypted, followsFile, signal }),
  ]
}

/** Keeps objects true by the server's own writes until `signal` aborts. Call it once the server listens. */
export function startControllers(
  { settings, state, security, writes }: ServingParts,
  { ownClient, storageVersions, health, aggregator }: Serving,
  by: { readonly identity: string; readonly signal: AbortSignal },
): Promise<void>[] {
  const { identity, signal } = by
  const { served, gates, options } = settings
  const { converters, custom } = writes
  const { hooks } = health
  return [
    ...startKeepers(
      {
        ...settings,
        reader: state.cache,
        client: ownClient,
        builtIn: served,
        served: () => [...served, ...custom.established],
        converters,
        onLegacyTokenUse: security.legacyTokenUses.follow,
        hooks,
        storageVersions,
        identity,
        sharedRanges: writes.sharedRanges,
        ...(gates.MultiCIDRServiceAllocator
          ? { serviceRanges: [options['service-cluster-ip-range']] }
          : {}),
      },
      signal,
    ),
    hooks.keep(aggregatorHooks, aggregator.run(ownClient, signal)),
  ]
}
