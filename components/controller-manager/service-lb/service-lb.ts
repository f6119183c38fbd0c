/**
 * A simulated load balancer: Services of type LoadBalancer get an address of --simulated-load-balancer-range. Nothing listens
 * there. Finalizer, events and order of steps are those of upstream's controller for clouds
 * (upstream: staging/src/k8s.io/cloud-provider/controllers/service; KEP-1860 for ipMode).
 */
import type { LoadBalancerIngress, Node, Service } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer, InformerEvent } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { StartError } from '../../component-base/component.ts'
import { messageOf } from '../../component-base/log.ts'
import { deepEqual, keyOf, splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { IpFamily } from '../../machinery/validation/ip-address.ts'
import { findCondition } from '../conditions.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { LoadBalancerAddresses } from './load-balancer-addresses.ts'
import { changesOf, wantsLoadBalancer } from './service-changes.ts'

const name = 'service-lb-controller'
/** The cluster autoscaler's, on nodes that it is about to delete. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'

interface ServiceLoadBalancers {
  readonly context: ControllerContext
  readonly services: Informer<Service>
  readonly nodes: Informer<Node>
  readonly serviceClient: ResourceClient<Service>
  readonly addresses: LoadBalancerAddresses
  readonly ownWrites: OwnWrites
  /** Keys of Services that changed since their load balancer was last ensured. */
  readonly changed: Set<string>
  /** Keys of Services whose addresses are being written: what the cache shows of them is older. */
  readonly writing: Set<string>
  readonly finalizer: string
}

function createAddresses(ranges: readonly string[]): LoadBalancerAddresses {
  try {
    return new LoadBalancerAddresses(ranges)
  } catch (error) {
    throw new StartError(`--simulated-load-balancer-range: ${messageOf(error)}`, error)
  }
}

/** Runs until `signal` aborts. Rejects with a StartError for ranges that cannot be used. */
async function runServiceLoadBalancers(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, queues, clock, log, options } = context
  const ranges = options['simulated-load-balancer-range']
  if (ranges.length === 0) {
    log.info(
      'Services of type LoadBalancer get no address: there is no cloud, and --simulated-load-balancer-range is not set',
    )
    return
  }
  const services = informers.informer<Service>(resources.services)
  const nodes = informers.informer<Node>(resources.nodes)
  const balancers: ServiceLoadBalancers = {
    context,
    services,
    nodes,
    serviceClient: client.resource<Service>(resources.services),
    addresses: createAddresses(ranges),
    ownWrites: createOwnWrites(services, clock),
    changed: new Set(),
    writing: new Set(),
    finalizer: labelKey(dialect, 'service', 'load-balancer-cleanup'),
  }
  // Before the first worker starts, all Services of the first list have been seen: no address is given twice.
  services.onEvent((event) => follow(balancers, event))
  const controller = {
    name,
    informers: [source(services), source(nodes, () => [])],
    reconcile: (key: string) => syncService(balancers, key),
    workers: options['concurrent-service-syncs'],
    queues,
    clock,
    log,
  }
  await context.metrics.running.during('service', () => runController(controller, signal))
}

/** Keeps the addresses of Services as the cache shows them, and notes what changed. */
function follow(balancers: ServiceLoadBalancers, event: InformerEvent<Service>): void {
  const { addresses, changed, context, finalizer, ownWrites, writing } = balancers
  const { object } = event
  const key = keyOf(object)
  if (event.type === 'delete') {
    addresses.release(key)
    changed.delete(key)
    return
  }
  const held = (object.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])
  const isOlder = writing.has(key) || ownWrites.pendingMs(key) !== undefined
  if (!isOlder && held.length > 0 && object.metadata.finalizers?.includes(finalizer))
    addresses.occupy(key, held)
  const changes = event.type === 'update' ? changesOf(event.old, object) : undefined
  if (changes === undefined) return
  for (const change of changes) context.recorder.record(object, change)
  changed.add(key)
}

async function syncService(balancers: ServiceLoadBalancers, key: string): Promise<Result | void> {
  const { services, ownWrites, finalizer, addresses, changed, writing } = balancers
  const service = services.get(key)
  if (service === undefined) return
  const isHeld = service.metadata.finalizers?.includes(finalizer) === true
  const isGoing = service.metadata.deletionTimestamp !== undefined
  const isWanted = wantsLoadBalancer(service) && !isGoing
  if (!isWanted && !isHeld) return
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const hasChanged = changed.delete(key)
  writing.add(key)
  try {
    if (isWanted) await ensure(balancers, service, hasChanged)
    else await cleanUp(balancers, service)
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) {
      if (hasChanged) changed.add(key)
      throw error
    }
    // The Service went meanwhile, perhaps before it got its addresses.
    if (services.get(key) === undefined) addresses.release(key)
  } finally {
    writing.delete(key)
  }
}

function record({ context }: ServiceLoadBalancers, about: Service, reason: string): void {
  const message = reason.replace('LoadBalancer', ' load balancer')
  context.recorder.record(about, { type: 'Normal', reason, message })
}

/** Runs one step; an event tells of its failure. */
async function step<T>(
  { context }: ServiceLoadBalancers,
  about: Service,
  { what, act }: { what: string; act: () => T | Promise<T> },
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) {
      const message = `Error syncing load balancer: failed to ${what}: ${messageOf(error)}`
      context.recorder.record(about, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message })
    }
    throw error
  }
}

async function ensure(
  balancers: ServiceLoadBalancers,
  service: Service,
  hasChanged: boolean,
): Promise<void> {
  const { addresses, context, finalizer } = balancers
  const key = keyOf(service)
  const { finalizers = [] } = service.metadata
  const had = service.status?.loadBalancer?.ingress ?? []
  const isHeld = finalizers.includes(finalizer)
  if (isHeld && had.length > 0 && !hasChanged) return
  record(balancers, service, 'EnsuringLoadBalancer')
  if (!isHeld) {
    const added = { metadata: { finalizers: [...finalizers, finalizer] } }
    await step(balancers, service, {
      what: 'add load balancer cleanup finalizer',
      act: () => patch(balancers, service, added),
    })
  }
  const { ipFamilies = ['IPv4'], loadBalancerIP } = service.spec ?? {}
  const families = ipFamilies as IpFamily[]
  const wanted = loadBalancerIP === '' ? undefined : loadBalancerIP
  const given = await step(balancers, service, {
    what: 'ensure load balancer',
    act: () => addresses.allocate(key, { families, wanted }),
  })
  if (!balancers.nodes.list().some((node) => canServe(node, context))) {
    const message = 'There are no available nodes for LoadBalancer'
    context.recorder.record(service, {
      type: 'Warning',
      reason: 'UnAvailableLoadBalancer',
      message,
    })
  }
  const ingress = given.map((ip): LoadBalancerIngress => ({ ip, ipMode: 'VIP' }))
  record(balancers, service, 'EnsuredLoadBalancer')
  if (!deepEqual(had, ingress)) {
    await step(balancers, service, {
      what: 'update load balancer status',
      act: () => patch(balancers, service, { status: { loadBalancer: { ingress } } }),
    })
  }
}

async function cleanUp(balancers: ServiceLoadBalancers, service: Service): Promise<void> {
  const { addresses, finalizer } = balancers
  record(balancers, service, 'DeletingLoadBalancer')
  const hasStatus = (service.status?.loadBalancer?.ingress ?? []).length > 0
  const finalizers = (service.metadata.finalizers ?? []).filter((one) => one !== finalizer)
  const status = hasStatus ? { status: { loadBalancer: { ingress: null } } } : {}
  await step(balancers, service, {
    what: 'remove load balancer cleanup finalizer',
    act: () => patch(balancers, service, { metadata: { finalizers }, ...status }),
  })
  addresses.release(keyOf(service))
  record(balancers, service, 'DeletedLoadBalancer')
}

/** Finalizers go through the status, too: the controller's role may not update Services. */
async function patch(
  { serviceClient, ownWrites }: ServiceLoadBalancers,
  service: Service,
  change: { readonly metadata?: object; readonly status?: object },
): Promise<void> {
  const { uid } = service.metadata
  const body = { ...change, metadata: { ...change.metadata, uid } }
  const ref = splitKey(keyOf(service))
  const options = { type: 'merge', subresource: 'status' } as const
  const written = await serviceClient.patch(ref, body, options)
  const { deletionTimestamp, finalizers = [] } = written.metadata
  const isGone = deletionTimestamp !== undefined && finalizers.length === 0
  if (isGone) ownWrites.deleted(keyOf(service), written)
  else ownWrites.wrote(keyOf(service), written)
}

/** Whether a load balancer may send traffic to the node (upstream: getNodeConditionPredicate). Pure. */
function canServe({ metadata, spec, status }: Node, { dialect }: ControllerContext): boolean {
  const exclusion = labelKey(dialect, 'node', 'exclude-from-external-load-balancers')
  if (metadata.labels?.[exclusion] !== undefined) return false
  if (spec?.taints?.some(({ key }) => key === toBeDeletedTaint)) return false
  return findCondition(status?.conditions, 'Ready')?.status === 'True'
}

export const serviceLoadBalancerController: ControllerEntry = {
  name,
  aliases: ['service'],
  eventSource: 'service-controller',
  defaultOn: true,
  start: runServiceLoadBalancers,
}
