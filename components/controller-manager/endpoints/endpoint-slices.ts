/** EndpointSlices of Services with a selector (upstream: pkg/controller/endpointslice). */
import type {
  DiscoveryEndpointPort,
  Endpoint,
  EndpointSlice,
  Node,
  Pod,
  Service,
} from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { controllerReference } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
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
  targetPort,
} from './pod-endpoint.ts'
import { followServices } from './service-queue.ts'
import { sliceKeys } from './slice-keys.ts'
import type { SliceKeys } from './slice-keys.ts'
import type { EndpointGroup } from './slice-plan.ts'
import { portsKey } from './slice-plan.ts'
import { createSliceWriter } from './slice-writer.ts'

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
  at: { addressType: AddressType; zone: string | undefined },
): Endpoint {
  const serving = isReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const hostname = hostnameOf(pod, service)
  const { nodeName } = pod.spec ?? {}
  const isNear = service.spec?.trafficDistribution === 'PreferClose'
  return {
    addresses: podAddresses(pod, at.addressType),
    conditions: { ready, serving, terminating },
    targetRef: referenceToPod(pod),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName ? { nodeName } : {}),
    ...(at.zone === undefined ? {} : { zone: at.zone }),
    ...(isNear && ready && at.zone !== undefined
      ? { hints: { forZones: [{ name: at.zone }] } }
      : {}),
  }
}

/** The labels of a Service's slices: its own, those that tell whose they are, and whether it is headless. Pure. */
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

function zoneKey(dialect: Dialect): string {
  return labelKey(dialect, 'topology', 'zone')
}

/** Runs until `signal` aborts. */
export async function runEndpointSlices(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
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
  })
  const keys = sliceKeys(dialect)
  const manager = keys.managers.slices
  const zoneLabel = zoneKey(dialect)

  const isOurs = ({ metadata }: EndpointSlice): boolean =>
    metadata.labels?.[keys.managedBy] === manager
  const serviceOf = (slice: EndpointSlice): string[] => {
    const { namespace = '', labels } = slice.metadata
    const name = labels?.[keys.serviceName]
    return isOurs(slice) && name !== undefined ? [`${namespace}/${name}`] : []
  }
  const groupsOf = (
    service: Service,
    endpoints: readonly Pod[],
    addressType: AddressType,
  ): EndpointGroup[] => {
    const groups = new Map<string, { ports: DiscoveryEndpointPort[]; endpoints: Endpoint[] }>()
    for (const pod of endpoints) {
      if (podAddresses(pod, addressType).length === 0) continue
      const ports = portsOf(service, pod)
      const key = portsKey(ports)
      const group = groups.get(key) ?? { ports, endpoints: [] }
      groups.set(key, group)
      const zone = nodes.get(pod.spec?.nodeName ?? '')?.metadata.labels?.[zoneLabel]
      group.endpoints.push(endpointOf(service, pod, { addressType, zone }))
    }
    return [...groups.values()]
  }

  const reconcile = async (key: string): Promise<Result | void> => {
    const service = services.get(key)
    // The slices of a Service that is gone go with it: they are its dependents.
    if (service === undefined || service.metadata.deletionTimestamp !== undefined) return
    const { selector, type } = service.spec ?? {}
    if (type === 'ExternalName' || selector === undefined || Object.keys(selector).length === 0)
      return
    const pendingMs = ownWrites.pendingMs(key)
    if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
    const { namespace = '', name = '' } = service.metadata
    const candidates = selectedPods(service).filter((pod) =>
      isEndpoint(pod, { includeTerminating: true }),
    )
    const isPlaced = ({ spec }: Pod): boolean =>
      service.spec?.publishNotReadyAddresses === true ||
      !spec?.nodeName ||
      nodes.get(spec.nodeName) !== undefined
    const endpoints = candidates.filter(isPlaced)
    const owner = {
      key,
      namespace,
      name,
      reference: controllerReference(service, resources.services),
      labels: sliceLabels(service, keys, manager),
    }
    const existing = inNamespace(slices, namespace).filter(
      (slice) => serviceOf(slice).includes(key) && slice.metadata.deletionTimestamp === undefined,
    )
    const families = familiesOf(service)
    try {
      for (const addressType of families)
        await writer.bring(owner, {
          addressType,
          existing: existing.filter((slice) => slice.addressType === addressType),
          groups: groupsOf(service, endpoints, addressType),
        })
      const outdated = existing.filter(
        ({ addressType }) => !families.includes(addressType as AddressType),
      )
      await writer.remove(owner, outdated)
    } catch (error) {
      tellOfFailure(service, error)
      throw error
    }
    return endpoints.length < candidates.length ? { requeueAfterMs: missingNodeRetryMs } : undefined
  }
  const tellOfFailure = (service: Service, error: unknown): void => {
    const message = `Error updating Endpoint Slices for Service ${keyOf(service)}: ${messageOf(error)}`
    recorder.record(service, { type: 'Warning', reason: 'FailedToUpdateEndpointSlices', message })
  }

  await runController(
    {
      queues,
      name: 'endpointslice-controller',
      informers: [
        source(services),
        source(slices, serviceOf),
        source(pods, () => []),
        source(nodes, () => []),
      ],
      reconcile,
      workers: options['concurrent-service-endpoint-syncs'],
      queue,
      clock,
      log,
    },
    signal,
  )
}

export const endpointSliceController: ControllerEntry = {
  name: 'endpointslice-controller',
  aliases: ['endpointslice'],
  eventSource: 'endpoint-slice-controller',
  defaultOn: true,
  start: runEndpointSlices,
}
