/** start-hooks: the work of a start, by the names of upstream's hooks, and its progress. */

import type { FeatureGates } from '../../api/feature-gates.ts'

/**
 * The hooks of upstream that have a counterpart here (AddPostStartHook in pkg/controlplane, apiextensions-apiserver and kube-
 * aggregator).
 */
const upstream = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'max-in-flight-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'aggregator-reload-proxy-client-cert',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'autoregister-completion',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
  'built-in-resources-storage-version-updater',
] as const

export type StartHook = (typeof upstream)[number]

/** Healthy as long as the watch cache follows the store, which they read from. */
export const followingHooks: readonly StartHook[] = [
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'crd-informer-synced',
  'start-service-ip-repair-controllers',
  'start-kube-aggregator-informers',
]

/** Of these the server's identity lease is the work. */
const identityHooks: readonly StartHook[] = [
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
]

/** The aggregator does the work of these. */
export const aggregatorHooks: readonly StartHook[] = upstream.filter((hook) =>
  hook.startsWith('apiservice-'),
)

/** The hooks of a server with these flags. None is done yet. */
export function expectedHooks(flags: {
  withPolicy: boolean
  withFairness: boolean
  withProxyClient: boolean
  gates: FeatureGates
}): StartHooks {
  const { withPolicy, withFairness, withProxyClient, gates } = flags
  const left = new Set<StartHook>([
    ...(gates.APIServerIdentity ? [] : identityHooks),
    ...(gates.APIServerIdentity && gates.StorageVersionAPI
      ? []
      : ['built-in-resources-storage-version-updater' as const]),
    ...(withPolicy ? [] : ['rbac/bootstrap-roles' as const]),
    ...(withProxyClient ? [] : ['aggregator-reload-proxy-client-cert' as const]),
    ...(gates.MultiCIDRServiceAllocator
      ? []
      : ['start-kubernetes-service-cidr-controller' as const]),
    ...(withFairness
      ? ['max-in-flight-filter' as const]
      : [
          'priority-and-fairness-config-consumer' as const,
          'priority-and-fairness-filter' as const,
        ]),
  ])
  return new StartHooks(upstream.filter((hook) => !left.has(hook)))
}

export class StartHooks {
  /** Why a hook fails its check; undefined once it is done or running. */
  readonly #faults = new Map<StartHook, string | undefined>()

  /** Their checks fail until they are done. Other hooks have no check. */
  constructor(hooks: readonly StartHook[]) {
    for (const hook of hooks) this.#faults.set(hook, 'not finished')
  }

  done(...hooks: readonly StartHook[]): void {
    this.#set(hooks, undefined)
  }

  #set(hooks: readonly StartHook[], fault: string | undefined): void {
    for (const hook of hooks) if (this.#faults.has(hook)) this.#faults.set(hook, fault)
  }

  /** Runs the work of a hook. Its check fails until the work succeeds. */
  async run(hook: StartHook, work: () => Promise<unknown>): Promise<void> {
    await work()
    this.done(hook)
  }

  /** For work that lasts as long as the server: the checks of its hooks fail when it ends. Returns the work. */
  keep(hooks: readonly StartHook[], work: Promise<void>): Promise<void> {
    this.done(...hooks)
    const end = (): void => this.#set(hooks, 'ended')
    work.then(end, end)
    return work
  }

  get all(): readonly StartHook[] {
    return [...this.#faults.keys()]
  }

  /** Undefined when the hook is healthy. */
  faultOf(hook: StartHook): string | undefined {
    return this.#faults.get(hook)
  }
}
