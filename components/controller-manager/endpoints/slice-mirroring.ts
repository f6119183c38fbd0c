/** Mirrors Endpoints that somebody else writes, of Services without a selector, into EndpointSlices (upstream: endpointslicemirroring). */
import type {
  DiscoveryEndpointPort,
  Endpoint,
  EndpointAddress,
  Endpoints,
  EndpointSlice,
  Service,
} from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { splitKey } from '../../machinery/objects/object.ts'
import { controllerReference } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import type { AddressType } from './pod-endpoint.ts'
import { familyOf } from './pod-endpoint.ts'
import { leaderRecordKey, sliceKeys } from './slice-keys.ts'
import type { EndpointGroup } from './slice-plan.ts'
import { portsKey } from './slice-plan.ts'
import { createSliceWriter } from './slice-writer.ts'

/** As upstream by default: addresses of one subset beyond it are not mirrored. */
const maxPerSubset = 1000
const families: readonly AddressType[] = ['IPv4', 'IPv6']

function mirrored(
  { ip, hostname, nodeName, targetRef }: EndpointAddress,
  ready: boolean,
): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname ? { hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    ...(targetRef === undefined ? {} : { targetRef }),
  }
}

/** The subsets' addresses of one family, those with the same ports together. Pure. */
export function mirroredGroups(endpoints: Endpoints, addressType: AddressType): EndpointGroup[] {
  const groups = new Map<string, { ports: DiscoveryEndpointPort[]; endpoints: Endpoint[] }>()
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of endpoints.subsets ?? []) {
    const all = [
      ...addresses.map((address) => mirrored(address, true)),
      ...notReadyAddresses.map((address) => mirrored(address, false)),
    ].slice(0, maxPerSubset)
    const own = all.filter(({ addresses: [ip = ''] }) => familyOf(ip) === addressType)
    const slicePorts = ports.map(({ name = '', ...rest }) => ({ name, ...rest }))
    const key = portsKey(slicePorts)
    const group = groups.get(key) ?? { ports: slicePorts, endpoints: [] }
    groups.set(key, group)
    group.endpoints.push(...own)
  }
  return [...groups.values()]
}

/** Runs until `signal` aborts. */
export async function runSliceMirroring(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, options } = context
  const services = informers.informer<Service>(resources.services)
  const endpoints = informers.informer<Endpoints>(resources.endpoints)
  const slices = informers.informer<EndpointSlice>(resources.endpointSlices)
  indexByNamespace(slices)
  const ownWrites = createOwnWrites(slices, clock)
  const writer = createSliceWriter({
    slices: client.resource<EndpointSlice>(resources.endpointSlices),
    ownWrites,
    plan: { max: options['max-endpoints-per-slice'], keepsOne: false },
  })
  const keys = sliceKeys(dialect)
  const manager = keys.managers.mirroring
  const leaderKey = leaderRecordKey(dialect)
  const appliedKey = labelKey(dialect, 'kubectl', 'last-applied-configuration')

  const isMirrored = (service: Service | undefined, object: Endpoints | undefined): boolean => {
    if (service === undefined || object === undefined) return false
    const { labels, annotations } = object.metadata
    const isSelected = Object.keys(service.spec?.selector ?? {}).length > 0
    const isExempt = labels?.[keys.skipMirror] === 'true' || annotations?.[leaderKey] !== undefined
    return !isSelected && !isExempt
  }
  const ownerOf = ({ metadata }: EndpointSlice): string[] => {
    const name = metadata.labels?.[keys.serviceName]
    const isOurs = metadata.labels?.[keys.managedBy] === manager
    return isOurs && name !== undefined ? [`${metadata.namespace}/${name}`] : []
  }

  const reconcile = async (key: string): Promise<Result | void> => {
    const pendingMs = ownWrites.pendingMs(key)
    if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
    const { namespace, name } = splitKey(key)
    const object = endpoints.get(key)
    const existing = inNamespace(slices, namespace).filter((slice) => ownerOf(slice).includes(key))
    if (object === undefined && existing.length === 0) return
    const isWanted = isMirrored(services.get(key), object)
    if (!isWanted && existing.length === 0) return
    const { labels, annotations = {} } = object?.metadata ?? {}
    const { [appliedKey]: _, ...kept } = annotations
    const owner = {
      key,
      namespace,
      name,
      reference: controllerReference(object ?? { metadata: { name } }, resources.endpoints),
      labels: { ...labels, [keys.serviceName]: name, [keys.managedBy]: manager },
      annotations: kept,
    }
    if (object === undefined || !isWanted) {
      await writer.remove(owner, existing)
      return
    }
    for (const addressType of families)
      await writer.bring(owner, {
        addressType,
        existing: existing.filter((slice) => slice.addressType === addressType),
        groups: mirroredGroups(object, addressType),
      })
  }

  await runController(
    {
      queues,
      name: 'endpointslice-mirroring-controller',
      informers: [source(services), source(endpoints), source(slices, ownerOf)],
      reconcile,
      workers: options['concurrent-endpoint-syncs'],
      clock,
      log,
    },
    signal,
  )
}

export const endpointSliceMirroringController: ControllerEntry = {
  name: 'endpointslice-mirroring-controller',
  aliases: ['endpointslicemirroring'],
  eventSource: 'endpoint-slice-mirroring-controller',
  defaultOn: true,
  start: runSliceMirroring,
}
