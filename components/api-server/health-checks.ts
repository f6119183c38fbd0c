/** health-checks: what /healthz, /livez and /readyz ask of a running server. */
import type { HealthCheck } from './handlers/health.ts'

/** Checks that pass once the server has started. */
const started = [
  'poststarthook/start-apiserver-admission-initializer',
  'poststarthook/bootstrap-controller',
  'poststarthook/rbac/bootstrap-roles',
  'autoregister-completion',
]

/** What is read from files that are followed: why the newest is not in use, by the name of its check. */
export function configurationFaults(parts: {
  readonly authentication: { readonly configFault: (() => string | undefined) | undefined }
  readonly authorization: { readonly configFault: (() => string | undefined) | undefined }
  readonly certificates: { readonly fault: string | undefined }
}): Map<string, () => string | undefined> {
  const { certificates, authentication, authorization } = parts
  const faults = new Map([['certificate-files', () => certificates.fault]])
  for (const [name, { configFault }] of Object.entries({ authentication, authorization })) {
    if (configFault !== undefined) faults.set(`${name}-config`, configFault)
  }
  return faults
}

/** The checks behind /healthz, /livez and /readyz. */
export function healthChecks(state: {
  isBootstrapped: () => boolean
  isStopping: () => boolean
  /** Start hooks may still be running (upstream: --livez-grace-period); only /livez cares. */
  isInGrace: () => boolean
  /** Configuration files that are followed, by name, and why their newest content is not in use. */
  configurations?: ReadonlyMap<string, () => string | undefined>
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
