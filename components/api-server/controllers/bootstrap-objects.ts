/** Bootstrap objects: what the server makes sure of at every start. A restart writes only what is missing or outdated. */
import { autoManagedLabel, localApiServices } from '../../api/bootstrap-policy/api-services.ts'
import {
  autoUpdateKey,
  mandatoryFlowControl,
  suggestedFlowControl,
} from '../../api/bootstrap-policy/flow-control-objects.ts'
import { policyObjects } from '../../api/bootstrap-policy/policy-objects.ts'
import {
  apiServerEndpoints,
  apiServerService,
  systemNamespaces,
  systemPriorityClasses,
  type ApiServerAddress,
} from '../../api/bootstrap-policy/system-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { StartHook, StartHooks } from '../health/start-hooks.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { defaultServiceCidr } from './default-service-cidr.ts'
import { ensureAuthenticationInfo, type AuthenticationInfo } from './authentication-info.ts'
import type { EndpointReconciler } from './endpoint-reconciler.ts'
import { ensureObject, type OwnObject } from './ensure-object.ts'
import {
  addAddress,
  addEndpoint,
  followAnnotatedSpec,
  followManagedSpec,
  followPorts,
  keepExisting,
  type Reconcile,
} from './reconcile-own-objects.ts'
import { reconcilePolicy } from './reconcile-policy.ts'

export interface BootstrapOptions {
  readonly client: LocalClient
  readonly dialect: Dialect
  /** Whether default roles and bindings are made; upstream does so in RBAC mode only. */
  readonly withPolicy: boolean
  readonly gates: FeatureGates
  readonly apiServer: ApiServerAddress
  /** Who writes the endpoints of the server's Service; absent: this server alone has any. */
  readonly endpoints?: Pick<EndpointReconciler, 'join'> | 'none' | undefined
  /** The lease by which the server tells that it runs. */
  readonly identityLease?: OwnObject
  /** The ranges of Services, where ServiceCIDRs say which there are. */
  readonly serviceRanges?: readonly string[]
  /** Built-in resources that are served. */
  readonly served: readonly Resource[]
  readonly authentication?: AuthenticationInfo
  /** Runs each part of the work as its start hook. */
  readonly hooks?: Pick<StartHooks, 'run'>
}

function ownObjects(
  resource: Resource,
  objects: readonly KubeObject[],
  reconcile: Reconcile,
): OwnObject[] {
  return objects.map((object) => ({ resource, object, reconcile }))
}

function policy({ dialect, served, gates }: BootstrapOptions): OwnObject[] {
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = resourcesOf(dialect)
  const wanted = policyObjects(dialect, {
    servesMetrics: served.includes(resourcesOf(dialect).podMetrics),
    gates,
  })
  const reconcile: Reconcile = (existing, object) => reconcilePolicy(existing, object, dialect)
  return [
    ...ownObjects(clusterRoles, wanted.clusterRoles, reconcile),
    ...ownObjects(clusterRoleBindings, wanted.clusterRoleBindings, reconcile),
    ...ownObjects(roles, wanted.roles, reconcile),
    ...ownObjects(roleBindings, wanted.roleBindings, reconcile),
  ]
}

function flowControl({ dialect }: BootstrapOptions): OwnObject[] {
  const { priorityLevelConfigurations, flowSchemas } = resourcesOf(dialect)
  const follow = followAnnotatedSpec(autoUpdateKey(dialect))
  return [mandatoryFlowControl(dialect), suggestedFlowControl(dialect)].flatMap(
    ({ levels, schemas }) => [
      ...ownObjects(priorityLevelConfigurations, levels, follow),
      ...ownObjects(flowSchemas, schemas, follow),
    ],
  )
}

/** The Service of the API server. */
export function ownService(dialect: Dialect, apiServer: ApiServerAddress): OwnObject {
  const { services } = resourcesOf(dialect)
  return {
    resource: services,
    object: apiServerService(dialect, apiServer),
    reconcile: followPorts,
  }
}

/** The endpoints of a server that is the only one on its store. */
function ownEndpoints({ dialect, apiServer }: BootstrapOptions): OwnObject[] {
  const { endpoints, endpointSlices } = resourcesOf(dialect)
  const own = apiServerEndpoints(dialect, [apiServer])
  return [
    { resource: endpoints, object: own.endpoints, reconcile: addAddress },
    ...ownObjects(endpointSlices, own.endpointSlices, addEndpoint),
  ]
}

/** Makes sure of the Service and its endpoints as --endpoint-reconciler-type says. */
async function joinService(options: BootstrapOptions): Promise<void> {
  const { client, dialect, apiServer, endpoints } = options
  if (endpoints !== 'none' && endpoints !== undefined) return await endpoints.join()
  const objects = [
    ownService(dialect, apiServer),
    ...(endpoints === 'none' ? [] : ownEndpoints(options)),
  ]
  await Promise.all(objects.map((object) => ensureObject(client, object)))
}

/**
 * Writes namespaces first, and the default ServiceCIDR, of which the server's own Service has its address; then everything else
 * at once, so that the writes share commits. Rejects with the first StatusError.
 */
export async function ensureBootstrapObjects(options: BootstrapOptions): Promise<void> {
  const { client, dialect, served, authentication } = options
  const { namespaces, priorityClasses, apiServices } = resourcesOf(dialect)
  const run = async (hook: StartHook, work: () => Promise<unknown>): Promise<void> => {
    if (options.hooks === undefined) await work()
    else await options.hooks.run(hook, work)
  }
  const ensureAll = (hook: StartHook, objects: readonly OwnObject[]): Promise<void> =>
    run(hook, () => Promise.all(objects.map((object) => ensureObject(client, object))))

  await ensureAll(
    'start-system-namespaces-controller',
    ownObjects(namespaces, systemNamespaces(dialect), keepExisting),
  )
  const { serviceRanges, identityLease: lease } = options
  if (serviceRanges !== undefined) {
    const { serviceCidrs } = resourcesOf(dialect)
    const object = defaultServiceCidr({ serviceCidrs }, dialect, serviceRanges)
    const hook = 'start-kubernetes-service-cidr-controller'
    await ensureAll(hook, ownObjects(serviceCidrs, [object], keepExisting))
  }
  await Promise.all([
    ...(options.withPolicy ? [ensureAll('rbac/bootstrap-roles', policy(options))] : []),
    ensureAll(
      'scheduling/bootstrap-system-priority-classes',
      ownObjects(priorityClasses, systemPriorityClasses(dialect), keepExisting),
    ),
    ensureAll('priority-and-fairness-config-producer', flowControl(options)),
    ensureAll(
      'autoregister-completion',
      ownObjects(
        apiServices,
        localApiServices(dialect, served),
        followManagedSpec(autoManagedLabel(dialect)),
      ),
    ),
    run('bootstrap-controller', () => joinService(options)),
    ...(lease === undefined
      ? []
      : [ensureAll('start-kube-apiserver-identity-lease-controller', [lease])]),
    ...(authentication === undefined
      ? []
      : [
          run('start-cluster-authentication-info-controller', () =>
            ensureAuthenticationInfo(options, authentication),
          ),
        ]),
  ])
}
