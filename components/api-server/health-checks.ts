/** health-checks: what /healthz, /livez and /readyz ask of a running server. */
import type { HealthCheck } from './handlers/health.ts'

/** Checks that pass once the server has started. */
const started = [
  'poststarthook/start-apiserver-admission-initializer',
  'poststarthook/bootstrap-controller',
  'poststarthook/rbac/bootstrap-roles',
  'autoregister-completion',
]

/** The checks behind /healthz, /livez and /readyz. */
export function healthChecks(state: {
  isBootstrapped: () => boolean
  isStopping: () => boolean
  /** Start hooks may still be running (upstream: --livez-grace-period); only /livez cares. */
  isInGrace: () => boolean
}): HealthCheck[] {
  const all = ['healthz', 'livez', 'readyz'] as const
  const healthy = (): undefined => undefined
  return [
    { name: 'ping', endpoints: all, check: healthy },
    { name: 'log', endpoints: all, check: healthy },
    { name: 'etcd', endpoints: all, check: healthy },
    { name: 'informer-sync', endpoints: ['readyz'], check: healthy },
    ...started.flatMap((name): HealthCheck[] => {
      const check = (): string | undefined => (state.isBootstrapped() ? undefined : 'not finished')
      return [
        { name, endpoints: ['healthz', 'readyz'], check },
        { name, endpoints: ['livez'], check: () => (state.isInGrace() ? undefined : check()) },
      ]
    }),
    {
      name: 'shutdown',
      endpoints: ['readyz'],
      check: () => (state.isStopping() ? 'process is shutting down' : undefined),
    },
  ]
}
