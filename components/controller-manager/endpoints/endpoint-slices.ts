/** EndpointSlices of Services with a selector (upstream: pkg/controller/endpointslice). */
import type {
  DiscoveryEndpointPort,
  Endpoint,
  EndpointSlice,
  Node,
  Pod,
  Service,
} from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { targetPort } from '../../api/target-port.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { RecordedEvent } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { controllerReference } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { isReady } from '../pod-state.ts'
import type { AddressType } from './pod-endpoint.ts'
import {
  familiesOf,
  hostnameOf,
  isEndpoint,
  isHeadless,
  podAddresses,
  referenceToPod,
} from './pod-endpoint.ts'
import { followServices } from './service-queue.ts'
import { sliceKeys } from './slice-keys.ts'
import type { SliceKeys } from './slice-keys.ts'
import { createSliceTotals, createTrafficCounts } from './slice-metrics.ts'
import type { PortCount, SliceTotals, TrafficCounts } from './slice-metrics.ts'
import type { EndpointGroup, GiveHints } from './slice-plan.ts'
import { portsKey } from './slice-plan.ts'
import { createSliceWriter } from './slice-writer.ts'
import type { SliceOutcome, SliceWriter } from './slice-writer.ts'
import { TopologyCache, wantsZoneHints } from './topology-cache.ts'

/** A pod on a node that does not exist (yet) is left out until it does. */
const missingNodeRetryMs = 5000

/** The ports the Service has in this pod; those the pod does not name are left out. Pure. */
export function portsOf(service: Service, pod: Pod): DiscoveryEndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const number = targetPort(pod, port)
    if (number === undefined) return []
    const { name = '', protocol = 'TCP', appProtocol } = port
    return { name, protocol, port: number, ...(appProtocol === undefined ? {} : { appProtocol }) }
  })
}

/** The pod as an endpoint of the Service. Pure. */
export function endpointOf(
  service: Service,
  pod: Pod,
  at: { addressType: AddressType; zone: string | undefined; isNear?: boolean },
): Endpoint {
  const serving = isReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const hostname = hostnameOf(pod, service)
  const { nodeName } = pod.spec ?? {}
  return {
    addresses: podAddresses(pod, at.addressType),
    conditions: { ready, serving, terminating },
    targetRef: referenceToPod(pod),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName ? { nodeName } : {}),
    ...(at.zone === undefined ? {} : { zone: at.zone }),
    ...(at.isNear === true && ready && at.zone !== undefined
      ? { hints: { forZones: [{ name: at.zone }] } }
      : {}),
  }
}

/** The labels of a Service's slices: its own, its name, the manager's name, and whether it is headless. Pure. */
export function sliceLabels(
  service: Service,
  keys: SliceKeys,
  manager: string,
): Record<string, string> {
  const { labels, name = '' } = service.metadata
  const { [keys.headless]: _, ...own } = labels ?? {}
  return {
    ...own,
    ...(isHeadless(service) ? { [keys.headless]: '' } : {}),
    [keys.serviceName]: name,
    [keys.managedBy]: manager,
  }
}

/** The reconciler's caches, clients and tools. */
interface SliceSync {
  readonly services: Informer<Service>
  readonly nodes: Informer<Node>
  readonly slices: Informer<EndpointSlice>
  readonly selectedPods: (service: Service) => readonly Pod[]
  readonly ownWrites: OwnWrites
  readonly writer: SliceWriter
  readonly keys: SliceKeys
  readonly topology: TopologyCache
  readonly totals: SliceTotals
  readonly traffic: TrafficCounts
  readonly context: ControllerContext
}

/** Runs until `signal` aborts. */
export async function runEndpointSlices(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, options } = context
  const services = informers.informer<Service>(resources.services)
  const pods = informers.informer<Pod>(resources.pods)
  const nodes = informers.informer<Node>(resources.nodes)
  const slices = informers.informer<EndpointSlice>(resources.endpointSlices)
  indexByNamespace(slices)
  const queue = queues('endpoint_slice')
  const batchMs = options['endpointslice-updates-batch-period']
  const { selectedPods } = followServices({ services, pods, queue, batchMs })
  const ownWrites = createOwnWrites(slices, clock)
  const writer = createSliceWriter({
    slices: client.resource<EndpointSlice>(resources.endpointSlices),
    ownWrites,
    plan: { max: options['max-endpoints-per-slice'], keepsOne: true },
    changes: context.metrics.slices.changes,
  })
  const keys = sliceKeys(dialect)
  const topology = new TopologyCache({
    nodes,
    dialect,
    onOverloaded: (key) => queue.addAfter(key, batchMs),
  })
  const totals = createSliceTotals(context.metrics.slices, options['max-endpoints-per-slice'])
  const traffic = createTrafficCounts(context.metrics.slices)
  const caches = { services, nodes, slices, selectedPods, ownWrites, topology, totals, traffic }
  const sync: SliceSync = { ...caches, writer, keys, context }
  await runController(
    {
      name: 'endpointslice-controller',
      informers: [
        source(services),
        source(slices, (slice) => serviceOf(slice, keys)),
        source(pods, () => []),
        source(nodes, () => []),
      ],
      reconcile: unlessGone(
        { owners: services, client: client.resource<Service>(resources.services), ownWrites },
        (key) => counted(context, () => syncService(sync, key)),
      ),
      workers: options['concurrent-service-endpoint-syncs'],
      queue,
      clock,
      log,
    },
    signal,
  )
}

/** The key of the Service whose slice this is, if this controller manages it. */
function serviceOf({ metadata }: EndpointSlice, keys: SliceKeys): string[] {
  const { namespace = '', labels } = metadata
  const name = labels?.[keys.serviceName]
  const isOurs = labels?.[keys.managedBy] === keys.managers.slices
  return isOurs && name !== undefined ? [`${namespace}/${name}`] : []
}

/** Waits for what the informer has not shown yet. */
type Sync = (Result & { readonly isStale?: boolean }) | void

async function counted(context: ControllerContext, sync: () => Promise<Sync>): Promise<Sync> {
  const { syncs } = context.metrics.slices
  try {
    const result = await sync()
    syncs.with(result?.isStale === true ? 'stale' : 'success').inc()
    return result
  } catch (error) {
    syncs.with('error').inc()
    throw error
  }
}

async function syncService(sync: SliceSync, key: string): Promise<Sync> {
  const { services, nodes, selectedPods, ownWrites, topology, totals } = sync
  const service = services.get(key)
  sync.traffic.set(key, service?.spec?.trafficDistribution)
  if (service === undefined) {
    topology.forgetService(key)
    totals.forget(key)
  }
  // The slices of a Service that is gone are its dependents: the garbage collector deletes them.
  if (service === undefined || service.metadata.deletionTimestamp !== undefined) return
  const { selector, type, publishNotReadyAddresses } = service.spec ?? {}
  if (type === 'ExternalName' || selector === undefined || Object.keys(selector).length === 0)
    return
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs, isStale: true }
  const candidates = selectedPods(service).filter((pod) =>
    isEndpoint(pod, { includeTerminating: true }),
  )
  const isPlaced = ({ spec }: Pod): boolean =>
    publishNotReadyAddresses === true || !spec?.nodeName || nodes.get(spec.nodeName) !== undefined
  const endpoints = candidates.filter(isPlaced)
  try {
    await writeSlices(sync, service, endpoints)
  } catch (error) {
    const message = `Error updating Endpoint Slices for Service ${key}: ${messageOf(error)}`
    sync.context.recorder.record(service, {
      type: 'Warning',
      reason: 'FailedToUpdateEndpointSlices',
      message,
    })
    throw error
  }
  return endpoints.length < candidates.length ? { requeueAfterMs: missingNodeRetryMs } : undefined
}

/** Brings the slices of each address family to the endpoints, and deletes those of other families. */
async function writeSlices(
  sync: SliceSync,
  service: Service,
  endpoints: readonly Pod[],
): Promise<void> {
  const { slices, writer, keys, context } = sync
  const { namespace = '', name = '' } = service.metadata
  const key = keyOf(service)
  const owner = {
    key,
    namespace,
    name,
    reference: controllerReference(service, context.resources.services),
    labels: sliceLabels(service, keys, keys.managers.slices),
  }
  const existing = inNamespace(slices, namespace).filter(
    (slice) =>
      serviceOf(slice, keys).includes(key) && slice.metadata.deletionTimestamp === undefined,
  )
  const families = familiesOf(service)
  const ports: PortCount[] = []
  for (const addressType of families) {
    const events: RecordedEvent[] = []
    const outcome = await writer.bring(owner, {
      addressType,
      existing: existing.filter((slice) => slice.addressType === addressType),
      groups: groupsOf(sync, service, { endpoints, addressType }),
      giveHints: hintsFor(sync, service, { addressType, events }),
    })
    for (const event of events) context.recorder.record(service, event)
    ports.push(...outcome.ports)
    countOutcome(sync, service, outcome)
  }
  sync.totals.set(key, ports)
  const outdated = existing.filter(
    ({ addressType }) => !families.includes(addressType as AddressType),
  )
  await writer.remove(owner, outdated)
}

function countOutcome({ context }: SliceSync, service: Service, outcome: SliceOutcome): void {
  const { added, removed, changedPerSync } = context.metrics.slices
  added.observe(outcome.added)
  removed.observe(outcome.removed)
  const isAuto = wantsZoneHints(service, context.dialect)
  const { trafficDistribution } = service.spec ?? {}
  const isKnown = !isAuto && trafficDistribution === 'PreferClose'
  changedPerSync
    .with(isAuto ? 'Auto' : 'Disabled', isKnown ? trafficDistribution : '')
    .observe(outcome.changed)
}

/** How endpoints get hints by the zones' CPU; undefined for a Service that does not ask for them. Adds events that are due. */
function hintsFor(
  { topology, context }: SliceSync,
  service: Service,
  { addressType, events }: { addressType: AddressType; events: RecordedEvent[] },
): GiveHints | undefined {
  const key = keyOf(service)
  if (!wantsZoneHints(service, context.dialect)) {
    const event = topology.dropHints(key, addressType)
    if (event !== undefined) events.push(event)
    return undefined
  }
  return (changes) => {
    const hinted = topology.addHints(key, addressType, changes)
    events.push(...hinted.events)
    return hinted.changes
  }
}

/** The endpoints of one address family, those with the same ports together. */
function groupsOf(
  { nodes, context }: SliceSync,
  service: Service,
  { endpoints, addressType }: { endpoints: readonly Pod[]; addressType: AddressType },
): EndpointGroup[] {
  const zoneLabel = labelKey(context.dialect, 'topology', 'zone')
  // The annotation goes before the field.
  const isNear =
    service.spec?.trafficDistribution === 'PreferClose' && !wantsZoneHints(service, context.dialect)
  const groups = new Map<string, { ports: DiscoveryEndpointPort[]; endpoints: Endpoint[] }>()
  for (const pod of endpoints) {
    if (podAddresses(pod, addressType).length === 0) continue
    const ports = portsOf(service, pod)
    const key = portsKey(ports)
    const group = groups.get(key) ?? { ports, endpoints: [] }
    groups.set(key, group)
    const zone = nodes.get(pod.spec?.nodeName ?? '')?.metadata.labels?.[zoneLabel]
    group.endpoints.push(endpointOf(service, pod, { addressType, zone, isNear }))
  }
  return [...groups.values()]
}

export const endpointSliceController: ControllerEntry = {
  name: 'endpointslice-controller',
  aliases: ['endpointslice'],
  eventSource: 'endpoint-slice-controller',
  defaultOn: true,
  start: runEndpointSlices,
}
