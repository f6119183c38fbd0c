/** health-checks: the checks behind /healthz, /livez and /readyz. */
import type { HealthCheck } from './health.ts'
import type { StartHooks } from './start-hooks.ts'
import type { StoreHealth } from './store-health.ts'

/** For each followed configuration file, by the name of its check: why the newest content is not in use. */
export function configurationFaults(parts: {
  readonly authentication: { readonly configFault: (() => string | undefined) | undefined }
  readonly authorization: { readonly configFault: (() => string | undefined) | undefined }
  readonly certificates: { readonly fault: string | undefined }
  /** Those that the server shows to its store. */
  readonly storeFiles?: { readonly fault: string | undefined } | undefined
}): Map<string, () => string | undefined> {
  const { certificates, storeFiles, authentication, authorization } = parts
  const certificateFault = (): string | undefined => certificates.fault ?? storeFiles?.fault
  const faults = new Map([['certificate-files', certificateFault]])
  for (const [name, { configFault }] of Object.entries({ authentication, authorization })) {
    if (configFault !== undefined) faults.set(`${name}-config`, configFault)
  }
  return faults
}

type StoreChecks = Pick<StoreHealth, 'live' | 'ready'>

const all = ['healthz', 'livez', 'readyz'] as const

/** Of one store; `suffix` tells the others from that of --etcd-servers, as upstream's. */
function checksOf(
  store: StoreChecks,
  { live, ready }: { live: number; ready: number },
  suffix: (name: string) => string,
): HealthCheck[] {
  return [
    { name: suffix('etcd'), endpoints: all, check: () => store.live(live) },
    { name: suffix('etcd-readiness'), endpoints: ['readyz'], check: () => store.ready(ready) },
  ]
}

/** The checks behind /healthz, /livez and /readyz, by upstream's names (apiserver: pkg/server/healthz, options/etcd.go). */
export function healthChecks(state: {
  hooks: StartHooks
  store: StoreChecks
  /** Those of --etcd-servers-overrides. */
  overrides?: readonly StoreChecks[]
  /** How long the checks of the store may take (--etcd-healthcheck-timeout, --etcd-readycheck-timeout). */
  storeTimeoutsMs: { live: number; ready: number }
  /** Why the log cannot be written. */
  logFault: () => string | undefined
  /** Whether the watch cache follows the store. Everything that this server reads comes from there. */
  isSynced: () => boolean
  isStopping: () => boolean
  /** Whether start hooks may still be running (upstream: --livez-grace-period). Only /livez asks. */
  isInGrace: () => boolean
  /** Why a KMS provider is not healthy; absent: there is no check of them. */
  kmsFault?: (() => Promise<string | undefined>) | undefined
  /** For each followed configuration file, by name: why its newest content is not in use. */
  configurations?: ReadonlyMap<string, () => string | undefined>
}): HealthCheck[] {
  const { hooks, store, storeTimeoutsMs, kmsFault, overrides = [] } = state
  const healthy = (): undefined => undefined
  return [
    // As upstream: an answer at all is the check.
    { name: 'ping', endpoints: all, check: healthy },
    { name: 'log', endpoints: all, check: state.logFault },
    ...checksOf(store, storeTimeoutsMs, (name) => name),
    ...overrides.flatMap((own, at) =>
      checksOf(own, storeTimeoutsMs, (name) => `${name.replace('etcd', 'etcd-override')}-${at}`),
    ),
    // As upstream, a server is live without its KMS plugins.
    ...(kmsFault === undefined
      ? []
      : [{ name: 'kms-providers', endpoints: ['healthz', 'readyz'] as const, check: kmsFault }]),
    {
      name: 'informer-sync',
      endpoints: ['readyz'],
      check: () => (state.isSynced() ? undefined : 'the watch cache does not follow the store'),
    },
    ...hooks.all.flatMap((hook): HealthCheck[] => {
      const name = hook === 'autoregister-completion' ? hook : `poststarthook/${hook}`
      const check = (): string | undefined => hooks.faultOf(hook)
      return [
        { name, endpoints: ['healthz', 'readyz'], check },
        { name, endpoints: ['livez'], check: () => (state.isInGrace() ? undefined : check()) },
      ]
    }),
    ...[...(state.configurations ?? [])].map(([name, fault]): HealthCheck => ({
      name,
      endpoints: ['readyz'],
      check: healthy,
      fault,
    })),
    {
      name: 'shutdown',
      endpoints: ['readyz'],
      check: () => (state.isStopping() ? 'process is shutting down' : undefined),
    },
  ]
}
