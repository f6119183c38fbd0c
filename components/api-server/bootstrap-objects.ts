/** Bootstrap objects: what the server makes sure of at every start. Only what is missing is written. */
import { localApiServices } from '../api/bootstrap-policy/api-services.ts'
import { policyObjects } from '../api/bootstrap-policy/policy-objects.ts'
import type { ApiServerAddress } from '../api/bootstrap-policy/system-objects.ts'
import {
  apiServerObjects,
  flowControlObjects,
  systemNamespaces,
  systemPriorityClasses,
} from '../api/bootstrap-policy/system-objects.ts'
import type { Dialect } from '../api/dialect.ts'
import { resourcesOf } from '../api/resources.ts'
import type { KubeObject } from '../machinery/object.ts'
import { deepEqual } from '../machinery/object.ts'
import type { Resource } from '../machinery/resource.ts'
import { isStatusError } from '../machinery/status-error.ts'
import type { LocalClient } from './local-client.ts'
import { reconcilePolicy } from './reconcile-policy.ts'

/** Lost races with other servers that start at the same time. */
const MAX_ATTEMPTS = 5

/** What delegating servers need to know to authenticate as this one does. */
export interface AuthenticationInfo {
  readonly clientCaPem?: string
  readonly requestHeaderCaPem?: string
  readonly requestHeaderAllowedNames?: readonly string[]
  readonly requestHeaderUsernameHeaders?: readonly string[]
  readonly requestHeaderGroupHeaders?: readonly string[]
  readonly requestHeaderExtraPrefixes?: readonly string[]
}

export interface BootstrapOptions {
  readonly client: LocalClient
  readonly dialect: Dialect
  /** Whether default roles and bindings are made; upstream does so in RBAC mode only. */
  readonly withPolicy: boolean
  /** Whether bindings for joining with bootstrap tokens are made. */
  readonly withJoin: boolean
  readonly apiServer: ApiServerAddress
  /** What this server serves. */
  readonly served: readonly Resource[]
  readonly authentication?: AuthenticationInfo
}

/** Gives the state to write, or undefined when the existing one will do. */
type Reconcile = (existing: KubeObject, wanted: KubeObject) => KubeObject | undefined

const keepExisting: Reconcile = () => undefined

/** Pods cannot reach an address that means themselves, so none is published. */
function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}

const addressesOf = (endpoints: KubeObject): { ip: string }[] =>
  (endpoints['subsets']?.[0]?.addresses ?? []) as { ip: string }[]

/** Other servers' addresses stay; one's own is added. */
const addAddress: Reconcile = (existing, wanted) => {
  const held = addressesOf(existing)
  const missing = addressesOf(wanted).filter(({ ip }) => !held.some((one) => one.ip === ip))
  if (missing.length === 0) return undefined
  const [subset] = wanted['subsets'] as { addresses: unknown[] }[]
  const addresses = [...held, ...missing].toSorted((a, b) => (a.ip < b.ip ? -1 : 1))
  return { ...existing, subsets: [{ ...subset, addresses }] }
}

const addEndpoint: Reconcile = (existing, wanted) => {
  const endpointsOf = (slice: KubeObject) => (slice['endpoints'] ?? []) as { addresses: string[] }[]
  const held = endpointsOf(existing)
  const missing = endpointsOf(wanted).filter(
    ({ addresses }) => !held.some((one) => one.addresses[0] === addresses[0]),
  )
  return missing.length === 0 ? undefined : { ...existing, endpoints: [...held, ...missing] }
}

/** The server owns the data. */
const replaceData: Reconcile = (existing, wanted) =>
  deepEqual(existing['data'], wanted['data']) ? undefined : { ...existing, data: wanted['data'] }

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

/**
 * Makes sure of namespaces first, then of everything else at once, so that the writes share commits. A restart reads and
 * compares only. Rejects with the first failure.
 */
export async function ensureBootstrapObjects(options: BootstrapOptions): Promise<void> {
  const { client, dialect } = options
  const resources = resourcesOf(dialect)

  async function ensure(
    resource: Resource,
    wanted: KubeObject,
    reconcile: Reconcile,
  ): Promise<void> {
    const { namespace = '', name = '' } = wanted.metadata
    for (let attempt = 1; ; attempt++) {
      const existing = client.get(resource, namespace, name)
      try {
        if (existing === undefined)
          await client.create(resource, namespace, structuredClone(wanted))
        else {
          const updated = reconcile(existing, wanted)
          if (updated !== undefined) await client.update(resource, namespace, updated)
        }
        return
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isStatusError(error, 'AlreadyExists', 'Conflict'))
          throw error
      }
    }
  }

  const ensureAll = (
    resource: Resource,
    objects: readonly KubeObject[],
    reconcile: Reconcile = keepExisting,
  ): Promise<void>[] => objects.map((wanted) => ensure(resource, wanted, reconcile))

  function policyWrites(): Promise<void>[] {
    const policy = policyObjects(dialect, { join: options.withJoin })
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
    const service = ensure(resources.services, own.service, keepExisting)
    if (isLoopback(options.apiServer.address)) return [service]
    return [
      service,
      ensure(resources.endpoints, own.endpoints, addAddress),
      ensure(resources.endpointSlices, own.endpointSlice, addEndpoint),
    ]
  }

  await Promise.all(ensureAll(resources.namespaces, systemNamespaces(dialect)))
  const flowControl = flowControlObjects(dialect)
  await Promise.all([
    ...(options.withPolicy ? policyWrites() : []),
    ...ensureAll(resources.priorityClasses, systemPriorityClasses(dialect)),
    ...ensureAll(resources.priorityLevelConfigurations, flowControl.levels),
    ...ensureAll(resources.flowSchemas, flowControl.schemas),
    ...ensureAll(resources.apiServices, localApiServices(dialect, options.served)),
    ...apiServerWrites(),
    ...(options.authentication === undefined
      ? []
      : [
          ensure(
            resources.configMaps,
            authenticationConfigMap(options.authentication, dialect),
            replaceData,
          ),
        ]),
  ])
}
