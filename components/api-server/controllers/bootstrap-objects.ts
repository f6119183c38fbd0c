/** Bootstrap objects: what the server makes sure of at every start. Only what is missing is written. */
import { autoManagedLabel, localApiServices } from '../../api/bootstrap-policy/api-services.ts'
import {
  autoUpdateKey,
  mandatoryFlowControl,
  suggestedFlowControl,
} from '../../api/bootstrap-policy/flow-control-objects.ts'
import { policyObjects } from '../../api/bootstrap-policy/policy-objects.ts'
import type { ApiServerAddress } from '../../api/bootstrap-policy/system-objects.ts'
import {
  apiServerObjects,
  systemNamespaces,
  systemPriorityClasses,
} from '../../api/bootstrap-policy/system-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { isLoopback } from '../../machinery/validation/ip-address.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { reconcilePolicy } from './reconcile-policy.ts'
import type { StartHook, StartHooks } from '../health/start-hooks.ts'

/** Lost races with other servers that start at the same time. */
const MAX_ATTEMPTS = 5

/** What delegating servers need to know to authenticate as this one does. */
export interface AuthenticationInfo {
  readonly clientCaPem?: string
  readonly requestHeaderCaPem?: string
  readonly requestHeaderAllowedNames?: readonly string[]
  readonly requestHeaderUsernameHeaders?: readonly string[]
  /** Empty: not spoken of, as the feature is not on. */
  readonly requestHeaderUidHeaders?: readonly string[]
  readonly requestHeaderGroupHeaders?: readonly string[]
  readonly requestHeaderExtraPrefixes?: readonly string[]
}

export interface BootstrapOptions {
  readonly client: LocalClient
  readonly dialect: Dialect
  /** Whether default roles and bindings are made; upstream does so in RBAC mode only. */
  readonly withPolicy: boolean
  readonly apiServer: ApiServerAddress
  /** What this server serves. */
  readonly served: readonly Resource[]
  readonly authentication?: AuthenticationInfo
  /** Told which start hook is which part of the work. */
  readonly hooks?: Pick<StartHooks, 'run'>
}

/** Gives the state to write, or undefined when the existing one will do. */
type Reconcile = (existing: KubeObject, wanted: KubeObject) => KubeObject | undefined

const keepExisting: Reconcile = () => undefined

const addressesOf = (endpoints: KubeObject): { ip: string }[] =>
  (endpoints['subsets']?.[0]?.addresses ?? []) as { ip: string }[]

/** What other servers published stays, unless it means the very machine that reads it: then it was this server's. */
function withOwn<T>(held: readonly T[], own: readonly T[], addressOf: (one: T) => string): T[] {
  const owned = new Set(own.map(addressOf))
  const others = held.filter((one) => {
    const address = addressOf(one)
    return !owned.has(address) && !isLoopback(address)
  })
  return [...others, ...own].toSorted((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1))
}

const ifChanged = (existing: KubeObject, updated: KubeObject): KubeObject | undefined =>
  deepEqual(existing, updated) ? undefined : updated

/** One's own address is added; the ports are one's own. */
const addAddress: Reconcile = (existing, wanted) => {
  const [subset] = wanted['subsets'] as { addresses: unknown[] }[]
  const addresses = withOwn(addressesOf(existing), addressesOf(wanted), ({ ip }) => ip)
  return ifChanged(existing, { ...existing, subsets: [{ ...subset, addresses }] })
}

const addEndpoint: Reconcile = (existing, wanted) => {
  const endpointsOf = (slice: KubeObject) => (slice['endpoints'] ?? []) as { addresses: string[] }[]
  const endpoints = withOwn(
    endpointsOf(existing),
    endpointsOf(wanted),
    ({ addresses }) => addresses[0] ?? '',
  )
  return ifChanged(existing, { ...existing, endpoints, ports: wanted['ports'] as unknown })
}

/** Its ports lead to where the server listens now; all else is the user's. */
const followPorts: Reconcile = (existing, wanted) => {
  const ports = wanted['spec'].ports as unknown
  return ifChanged(existing, { ...existing, spec: { ...existing['spec'], ports } })
}

/** The server owns the data. */
const replaceData: Reconcile = (existing, wanted) =>
  deepEqual(existing['data'], wanted['data']) ? undefined : { ...existing, data: wanted['data'] }

/** What the server made is as it would be made now; what somebody took the label off is his. */
const followManagedSpec =
  (label: string): Reconcile =>
  (existing, wanted) => {
    if (existing.metadata.labels?.[label] === undefined) return undefined
    return ifChanged(existing, { ...existing, spec: wanted['spec'] as unknown })
  }

/** The same by an annotation, without which an object follows that nobody ever changed (upstream: flowcontrol/ensurer/strategy.go). */
const followAnnotatedSpec =
  (annotation: string): Reconcile =>
  (existing, wanted) => {
    const { annotations, generation } = existing.metadata
    const follows = annotations?.[annotation] ?? String(generation === 1)
    if (follows !== 'true') return undefined
    const metadata = {
      ...existing.metadata,
      annotations: { ...annotations, [annotation]: follows },
    }
    return ifChanged(existing, { ...existing, metadata, spec: wanted['spec'] as unknown })
  }

function authenticationConfigMap(info: AuthenticationInfo, dialect: Dialect): KubeObject {
  const list = (items: readonly string[] | undefined): string => JSON.stringify(items ?? [])
  const data = {
    ...(info.clientCaPem === undefined ? {} : { 'client-ca-file': info.clientCaPem }),
    ...(info.requestHeaderCaPem === undefined
      ? {}
      : {
          'requestheader-client-ca-file': info.requestHeaderCaPem,
          'requestheader-allowed-names': list(info.requestHeaderAllowedNames),
          'requestheader-username-headers': list(info.requestHeaderUsernameHeaders),
          ...(info.requestHeaderUidHeaders?.length
            ? { 'requestheader-uid-headers': list(info.requestHeaderUidHeaders) }
            : {}),
          'requestheader-group-headers': list(info.requestHeaderGroupHeaders),
          'requestheader-extra-headers-prefix': list(info.requestHeaderExtraPrefixes),
        }),
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'extension-apiserver-authentication',
      namespace: dialect.systemNamespace,
    },
    data,
  }
}

interface Wanted {
  readonly resource: Resource
  readonly object: KubeObject
  readonly reconcile: Reconcile
}

async function ensureOne(
  client: LocalClient,
  { resource, object, reconcile }: Wanted,
): Promise<void> {
  const { namespace = '', name = '' } = object.metadata
  for (let attempt = 1; ; attempt++) {
    const existing = client.get(resource, namespace, name)
    // The log names it; the server runs without, so that somebody can remove it.
    if (existing === undefined && !client.isReadable(resource, namespace, name)) return
    try {
      if (existing === undefined) await client.create(resource, namespace, structuredClone(object))
      else {
        const updated = reconcile(existing, object)
        if (updated !== undefined) await client.update(resource, namespace, updated)
      }
      return
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isStatusError(error, 'AlreadyExists', 'Conflict'))
        throw error
    }
  }
}

/** Publishes how this server authenticates; again when that changes. */
export async function ensureAuthenticationInfo(
  { client, dialect }: Pick<BootstrapOptions, 'client' | 'dialect'>,
  info: AuthenticationInfo,
): Promise<void> {
  await ensureOne(client, {
    resource: resourcesOf(dialect).configMaps,
    object: authenticationConfigMap(info, dialect),
    reconcile: replaceData,
  })
}

/**
 * Makes sure of namespaces first, then of everything else at once, so that the writes share commits. A restart reads and
 * compares only. Rejects with the first failure.
 */
export async function ensureBootstrapObjects(options: BootstrapOptions): Promise<void> {
  const { client, dialect } = options
  const resources = resourcesOf(dialect)

  const ensure = (resource: Resource, object: KubeObject, reconcile: Reconcile): Promise<void> =>
    ensureOne(client, { resource, object, reconcile })

  const ensureAll = (
    resource: Resource,
    objects: readonly KubeObject[],
    reconcile: Reconcile = keepExisting,
  ): Promise<void>[] => objects.map((wanted) => ensure(resource, wanted, reconcile))

  function policyWrites(): Promise<void>[] {
    const policy = policyObjects(dialect)
    const reconcile: Reconcile = (existing, wanted) => reconcilePolicy(existing, wanted, dialect)
    return [
      ...ensureAll(resources.clusterRoles, policy.clusterRoles, reconcile),
      ...ensureAll(resources.clusterRoleBindings, policy.clusterRoleBindings, reconcile),
      ...ensureAll(resources.roles, policy.roles, reconcile),
      ...ensureAll(resources.roleBindings, policy.roleBindings, reconcile),
    ]
  }

  function apiServerWrites(): Promise<void>[] {
    const own = apiServerObjects(dialect, options.apiServer)
    return [
      ensure(resources.services, own.service, followPorts),
      ensure(resources.endpoints, own.endpoints, addAddress),
      ensure(resources.endpointSlices, own.endpointSlice, addEndpoint),
    ]
  }

  const step = async (hook: StartHook, writes: () => readonly Promise<void>[]): Promise<void> => {
    const work = (): Promise<unknown> => Promise.all(writes())
    if (options.hooks === undefined) await work()
    else await options.hooks.run(hook, work)
  }

  await step('start-system-namespaces-controller', () =>
    ensureAll(resources.namespaces, systemNamespaces(dialect)),
  )
  const flowControl = [mandatoryFlowControl(dialect), suggestedFlowControl(dialect)]
  const followFlowControl = followAnnotatedSpec(autoUpdateKey(dialect))
  const { authentication } = options
  await Promise.all([
    ...(options.withPolicy ? [step('rbac/bootstrap-roles', policyWrites)] : []),
    step('scheduling/bootstrap-system-priority-classes', () =>
      ensureAll(resources.priorityClasses, systemPriorityClasses(dialect)),
    ),
    step('priority-and-fairness-config-producer', () =>
      flowControl.flatMap(({ levels, schemas }) => [
        ...ensureAll(resources.priorityLevelConfigurations, levels, followFlowControl),
        ...ensureAll(resources.flowSchemas, schemas, followFlowControl),
      ]),
    ),
    step('autoregister-completion', () =>
      ensureAll(
        resources.apiServices,
        localApiServices(dialect, options.served),
        followManagedSpec(autoManagedLabel(dialect)),
      ),
    ),
    step('bootstrap-controller', apiServerWrites),
    ...(authentication === undefined
      ? []
      : [
          step('start-cluster-authentication-info-controller', () => [
            ensureAuthenticationInfo(options, authentication),
          ]),
        ]),
  ])
}
