/** Endpoints of Services with a selector, which older clients still read (upstream: pkg/controller/endpoint). */
import type {
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSubset,
  Pod,
  Service,
} from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { targetPort } from '../../api/target-port.ts'
import { runController, source } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { deepEqual, keyOf, splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { isReady } from '../pod-state.ts'
import { untilReady } from '../until-ready.ts'
import {
  familiesOf,
  hostnameOf,
  isEndpoint,
  isHeadless,
  podAddresses,
  referenceToPod,
} from './pod-endpoint.ts'
import { followServices } from './service-queue.ts'
import { leaderRecordKey } from './slice-keys.ts'

/** More addresses are cut off, and an annotation says so. */
const maxAddresses = 1000

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const number = targetPort(pod, port)
    if (number === undefined) return []
    const { name, protocol = 'TCP', appProtocol } = port
    return {
      ...(name ? { name } : {}),
      port: number,
      protocol,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    }
  })
}

const byIp = (a: EndpointAddress, b: EndpointAddress): number => (a.ip < b.ip ? -1 : 1)

/** The subsets of a Service: pods with the same ports together, those not ready apart. Pure. */
export function subsetsOf(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const [family] = familiesOf(service)
  const publishAll = service.spec?.publishNotReadyAddresses === true
  const groups = new Map<
    string,
    { ports: EndpointPort[]; ready: EndpointAddress[]; notReady: EndpointAddress[] }
  >()
  for (const pod of pods) {
    if (!isEndpoint(pod, { includeTerminating: publishAll })) continue
    const [ip] = podAddresses(pod, family)
    const ports = portsOf(service, pod)
    const hasPorts = ports.length > 0 || (service.spec?.ports ?? []).length === 0
    if (ip === undefined || !hasPorts) continue
    const hostname = hostnameOf(pod, service)
    const { nodeName } = pod.spec ?? {}
    const address: EndpointAddress = {
      ip,
      ...(hostname === undefined ? {} : { hostname }),
      ...(nodeName ? { nodeName } : {}),
      targetRef: referenceToPod(pod),
    }
    const key = JSON.stringify(ports)
    const group = groups.get(key) ?? { ports, ready: [], notReady: [] }
    groups.set(key, group)
    const list = publishAll || isReady(pod) ? group.ready : group.notReady
    list.push(address)
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ports, ready, notReady }]) => ({
      ...(ready.length === 0 ? {} : { addresses: ready.sort(byIp) }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.sort(byIp) }),
      ...(ports.length === 0 ? {} : { ports }),
    }))
}

/** At most so many addresses, ready ones rather than others. Pure. */
export function truncated(
  subsets: readonly EndpointSubset[],
  max: number,
): { readonly subsets: EndpointSubset[]; readonly isCut: boolean } {
  const count = subsets.reduce(
    (sum, { addresses = [], notReadyAddresses = [] }) =>
      sum + addresses.length + notReadyAddresses.length,
    0,
  )
  if (count <= max) return { subsets: [...subsets], isCut: false }
  let left = max
  const take = (list: readonly EndpointAddress[] | undefined): EndpointAddress[] => {
    const taken = (list ?? []).slice(0, left)
    left -= taken.length
    return taken
  }
  const ready = subsets.map(({ addresses }) => take(addresses))
  const notReady = subsets.map(({ notReadyAddresses }) => take(notReadyAddresses))
  const cut = subsets.flatMap(({ ports }, index) => {
    const addresses = ready[index] ?? []
    const notReadyAddresses = notReady[index] ?? []
    if (addresses.length + notReadyAddresses.length === 0) return []
    return {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
      ...(ports === undefined ? {} : { ports }),
    }
  })
  return { subsets: cut, isCut: true }
}

/** The reconciler's caches, clients and tools. */
interface EndpointsSync {
  readonly services: Informer<Service>
  readonly endpoints: Informer<Endpoints>
  readonly endpointsClient: ResourceClient<Endpoints>
  readonly selectedPods: (service: Service) => readonly Pod[]
  readonly dialect: Dialect
  readonly recorder: EventRecorder
}

/** Runs until `signal` aborts. */
export async function runEndpoints(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
  const services = informers.informer<Service>(resources.services)
  const pods = informers.informer<Pod>(resources.pods)
  const endpoints = informers.informer<Endpoints>(resources.endpoints)
  const endpointsClient = client.resource<Endpoints>(resources.endpoints)
  const queue = queues('endpoint')
  const batchMs = options['endpoint-updates-batch-period']
  const { selectedPods } = followServices({ services, pods, queue, batchMs })
  const leaderKey = leaderRecordKey(dialect)
  const sync = { services, endpoints, endpointsClient, selectedPods, dialect, recorder }

  /** Queues the Endpoints whose Service was deleted while no manager ran; clients own those made without one later. */
  const checkLeftovers = async (): Promise<void> => {
    if (!(await untilReady([services, endpoints], signal))) return
    for (const object of endpoints.list())
      if (object.metadata.annotations?.[leaderKey] === undefined) queue.add(keyOf(object))
  }
  const controlling = runController(
    {
      name: 'endpoints-controller',
      informers: [
        source(services),
        source(pods, () => []),
        source(endpoints, (object) => (services.get(keyOf(object)) ? [keyOf(object)] : [])),
      ],
      reconcile: (key) => syncService(sync, key),
      workers: options['concurrent-endpoint-syncs'],
      queue,
      clock,
      log,
    },
    signal,
  )
  await Promise.all([controlling, checkLeftovers()])
}

async function syncService(sync: EndpointsSync, key: string): Promise<void> {
  const { services, endpoints, endpointsClient, recorder } = sync
  const service = services.get(key)
  if (service === undefined) {
    await removeEndpoints(sync, key)
    return
  }
  const { selector, type } = service.spec ?? {}
  if (type === 'ExternalName' || selector === undefined || Object.keys(selector).length === 0)
    return
  const current = endpoints.get(key)
  const wanted = wantedFor(sync, service, current)
  if (current !== undefined && isSame(current, wanted)) return
  try {
    if (current === undefined) await endpointsClient.create(wanted)
    else await endpointsClient.update(wanted)
  } catch (error) {
    const [verb, reason] =
      current === undefined
        ? ['create', 'FailedToCreateEndpoint']
        : ['update', 'FailedToUpdateEndpoint']
    const message = `Failed to ${verb} endpoint for service ${key}: ${messageOf(error)}`
    if (!isStatusError(error, 'Conflict', 'AlreadyExists'))
      recorder.record(service, { type: 'Warning', reason: reason ?? '', message })
    throw error
  }
}

async function removeEndpoints(
  { endpoints, endpointsClient }: EndpointsSync,
  key: string,
): Promise<void> {
  if (endpoints.get(key) === undefined) return
  try {
    await endpointsClient.delete(splitKey(key))
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}

function wantedFor(
  { selectedPods, dialect }: EndpointsSync,
  service: Service,
  current: Endpoints | undefined,
): Endpoints {
  const headlessKey = labelKey(dialect, 'service', 'headless')
  const capacityKey = labelKey(dialect, 'endpoints', 'over-capacity')
  const { namespace = '', name = '', labels = {} } = service.metadata
  const { subsets, isCut } = truncated(subsetsOf(service, selectedPods(service)), maxAddresses)
  const { [headlessKey]: _, ...own } = labels
  const { [capacityKey]: __, ...annotations } = current?.metadata.annotations ?? {}
  return {
    ...current,
    metadata: {
      ...current?.metadata,
      namespace,
      name,
      labels: { ...own, ...(isHeadless(service) ? { [headlessKey]: '' } : {}) },
      annotations: { ...annotations, ...(isCut ? { [capacityKey]: 'truncated' } : {}) },
    },
    subsets,
  }
}

function isSame(current: Endpoints, wanted: Endpoints): boolean {
  return (
    deepEqual(current.subsets ?? [], wanted.subsets) &&
    deepEqual(current.metadata.labels ?? {}, wanted.metadata.labels) &&
    deepEqual(current.metadata.annotations ?? {}, wanted.metadata.annotations)
  )
}

export const endpointsController: ControllerEntry = {
  name: 'endpoints-controller',
  aliases: ['endpoint'],
  eventSource: 'endpoint-controller',
  defaultOn: true,
  start: runEndpoints,
}
