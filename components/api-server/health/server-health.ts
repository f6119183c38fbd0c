/** server-health: the health of a running server, from its parts and flags. */
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Store } from '../../store/store.ts'
import type { HealthCheck } from './health.ts'
import { configurationFaults, healthChecks } from './health-checks.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { expectedHooks, type StartHooks } from './start-hooks.ts'
import { StoreHealth } from './store-health.ts'

type Faults = Parameters<typeof configurationFaults>[0]

interface HealthParts extends Faults {
  readonly gates: FeatureGates
  readonly store: Store
  /** The stores of --etcd-servers-overrides. */
  readonly overrides: readonly { readonly store: Store }[]
  readonly cache: { readonly isFollowing: boolean }
  /** Undefined without --encryption-provider-config. */
  readonly encryption:
    { readonly usesKms: boolean; kmsFault(): Promise<string | undefined> } | undefined
  readonly clock: Clock
  readonly log: Log
  readonly logFault: (() => string | undefined) | undefined
  readonly authorization: Faults['authorization'] & { readonly usesRbac: boolean }
  readonly certificates: Faults['certificates'] & { readonly proxyClient: unknown }
  /** Aborts on the first TERM or INT. */
  readonly stop: AbortSignal
}

export interface ServerHealth {
  /** The start reports here what it has done. */
  readonly hooks: StartHooks
  readonly checks: readonly HealthCheck[]
  /** Checks the store periodically until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

type HealthFlags = Pick<
  ApiServerOptions,
  | 'enable-priority-and-fairness'
  | 'encryption-provider-config-automatic-reload'
  | 'etcd-healthcheck-timeout'
  | 'etcd-readycheck-timeout'
  | 'livez-grace-period'
>

/** Call at the start: the grace period of /livez begins. */
export function createHealth(options: HealthFlags, parts: HealthParts): ServerHealth {
  const { clock, log, cache, encryption, stop } = parts
  const startedAtMs = clock.now()
  const hooks = expectedHooks({
    withPolicy: parts.authorization.usesRbac,
    withFairness: options['enable-priority-and-fairness'],
    withProxyClient: parts.certificates.proxyClient !== undefined,
    gates: parts.gates,
  })
  // With reload, KMS providers may come later.
  const checksKms = encryption?.usesKms || options['encryption-provider-config-automatic-reload']
  const store = new StoreHealth(parts)
  const overrides = parts.overrides.map((own) => new StoreHealth({ ...own, clock, log }))
  const checks = healthChecks({
    hooks,
    store,
    overrides,
    storeTimeoutsMs: {
      live: options['etcd-healthcheck-timeout'],
      ready: options['etcd-readycheck-timeout'],
    },
    logFault: parts.logFault ?? (() => undefined),
    kmsFault: checksKms ? async () => await encryption?.kmsFault() : undefined,
    isSynced: () => cache.isFollowing,
    isStopping: () => stop.aborted,
    isInGrace: () => clock.now() < startedAtMs + options['livez-grace-period'],
    configurations: configurationFaults(parts),
  })
  return {
    hooks,
    checks,
    run: async (signal) => {
      await Promise.all([store, ...overrides].map((one) => one.run(signal)))
    },
  }
}
