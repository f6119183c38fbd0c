/** Start hooks: what the server begins with, by upstream's names, and whether it is done or still at work. */

/** Upstream's, of what this server has (AddPostStartHook in pkg/controlplane, apiextensions-apiserver and kube-aggregator). */
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
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
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
] as const

export type StartHook = (typeof upstream)[number]

/** They are well as long as the watch cache follows the store: what they know, they know from there. */
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

/** The aggregator does their work. */
export const aggregatorHooks: readonly StartHook[] = upstream.filter((hook) =>
  hook.startsWith('apiservice-'),
)

/** The hooks of a server with these flags; all of them still to be done. */
export function expectedHooks(flags: {
  withPolicy: boolean
  withFairness: boolean
  withProxyClient: boolean
}): StartHooks {
  const { withPolicy, withFairness, withProxyClient } = flags
  const left = new Set<StartHook>([
    ...(withPolicy ? [] : ['rbac/bootstrap-roles' as const]),
    ...(withProxyClient ? [] : ['aggregator-reload-proxy-client-cert' as const]),
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
  /** Why a hook fails its check; undefined once it is done or at work. */
  readonly #faults = new Map<StartHook, string | undefined>()

  /** Their checks fail from now on, until they are done. Other hooks are none of this server's. */
  constructor(hooks: readonly StartHook[]) {
    for (const hook of hooks) this.#faults.set(hook, 'not finished')
  }

  done(...hooks: readonly StartHook[]): void {
    this.#set(hooks, undefined)
  }

  #set(hooks: readonly StartHook[], fault: string | undefined): void {
    for (const hook of hooks) if (this.#faults.has(hook)) this.#faults.set(hook, fault)
  }

  /** Does the work of a hook; its check fails until that has succeeded. */
  async run(hook: StartHook, work: () => Promise<unknown>): Promise<void> {
    await work()
    this.done(hook)
  }

  /** Work that goes on as long as the server: the hooks' checks fail again when it ends. Answers the work. */
  keep(hooks: readonly StartHook[], work: Promise<void>): Promise<void> {
    this.done(...hooks)
    const end = (): void => this.#set(hooks, 'ended')
    work.then(end, end)
    return work
  }

  get all(): readonly StartHook[] {
    return [...this.#faults.keys()]
  }

  /** Undefined when all is well. */
  faultOf(hook: StartHook): string | undefined {
    return this.#faults.get(hook)
  }
}
