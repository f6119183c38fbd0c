/** Mirrors Endpoints that clients write for Services without a selector into EndpointSlices (upstream: endpointslicemirroring). */
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
import type { Informer } from '../../client/informer.ts'
import { splitKey } from '../../machinery/objects/object.ts'
import { controllerReference } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import type { AddressType } from './pod-endpoint.ts'
import { familyOf } from './pod-endpoint.ts'
import { leaderRecordKey, sliceKeys } from './slice-keys.ts'
import type { SliceKeys } from './slice-keys.ts'
import { createSliceTotals } from './slice-metrics.ts'
import type { SliceTotals } from './slice-metrics.ts'
import type { EndpointGroup } from './slice-plan.ts'
import { portsKey } from './slice-plan.ts'
import { createSliceWriter } from './slice-writer.ts'
import type { SliceOutcome, SliceWriter } from './slice-writer.ts'

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

/** The reconciler's caches, clients and tools. */
interface MirrorSync {
  readonly services: Informer<Service>
  readonly endpoints: Informer<Endpoints>
  readonly slices: Informer<EndpointSlice>
  readonly ownWrites: OwnWrites
  readonly writer: SliceWriter
  readonly keys: SliceKeys
  readonly totals: SliceTotals
  readonly context: ControllerContext
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
    changes: context.metrics.mirroring.changes,
  })
  const keys = sliceKeys(dialect)
  const totals = createSliceTotals(context.metrics.mirroring, options['max-endpoints-per-slice'])
  const sync = { services, endpoints, slices, ownWrites, writer, keys, totals, context }
  const endpointsOf = (slice: EndpointSlice): string[] => ownerOf(slice, keys)
  await runController(
    {
      queues,
      name: 'endpointslice-mirroring-controller',
      informers: [source(services), source(endpoints), source(slices, endpointsOf)],
      reconcile: (key) => timed(context, () => syncEndpoints(sync, key)),
      workers: options['concurrent-endpoint-syncs'],
      clock,
      log,
    },
    signal,
  )
}

/** Whether the Endpoints are a client's own: their Service has no selector, and they are not a leader's record. */
function isMirrored({ services, keys, context }: MirrorSync, key: string, object: Endpoints) {
  const service = services.get(key)
  if (service === undefined) return false
  const { labels, annotations } = object.metadata
  const isSelected = Object.keys(service.spec?.selector ?? {}).length > 0
  const isLeaderRecord = annotations?.[leaderRecordKey(context.dialect)] !== undefined
  return !isSelected && labels?.[keys.skipMirror] !== 'true' && !isLeaderRecord
}

/** The key of the Endpoints whose slice this is, if this controller manages it. */
function ownerOf({ metadata }: EndpointSlice, keys: SliceKeys): string[] {
  const name = metadata.labels?.[keys.serviceName]
  const isOurs = metadata.labels?.[keys.managedBy] === keys.managers.mirroring
  return isOurs && name !== undefined ? [`${metadata.namespace}/${name}`] : []
}

function sliceOwner({ keys, context }: MirrorSync, key: string, object: Endpoints | undefined) {
  const { dialect, resources } = context
  const { namespace, name } = splitKey(key)
  const { labels, annotations = {} } = object?.metadata ?? {}
  const appliedKey = labelKey(dialect, 'kubectl', 'last-applied-configuration')
  const { [appliedKey]: _, ...kept } = annotations
  return {
    key,
    namespace,
    name,
    reference: controllerReference(object ?? { metadata: { name } }, resources.endpoints),
    labels: { ...labels, [keys.serviceName]: name, [keys.managedBy]: keys.managers.mirroring },
    annotations: kept,
  }
}

async function timed<T>({ clock, metrics }: ControllerContext, act: () => Promise<T>): Promise<T> {
  const startedMs = clock.elapsed()
  try {
    return await act()
  } finally {
    metrics.mirroring.syncSeconds.observe((clock.elapsed() - startedMs) / 1000)
  }
}

async function syncEndpoints(sync: MirrorSync, key: string): Promise<Result | void> {
  const { endpoints, slices, ownWrites, writer, keys, totals } = sync
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const object = endpoints.get(key)
  const existing = inNamespace(slices, splitKey(key).namespace).filter((slice) =>
    ownerOf(slice, keys).includes(key),
  )
  if (object === undefined || !isMirrored(sync, key, object)) {
    await writer.remove(sliceOwner(sync, key, object), existing)
    totals.forget(key)
    return
  }
  const owner = sliceOwner(sync, key, object)
  const outcomes: SliceOutcome[] = []
  for (const addressType of families) {
    const outcome = await writer.bring(owner, {
      addressType,
      existing: existing.filter((slice) => slice.addressType === addressType),
      groups: mirroredGroups(object, addressType),
    })
    outcomes.push(outcome)
  }
  totals.set(
    key,
    outcomes.flatMap(({ ports }) => ports),
  )
  countOutcomes(sync, object, outcomes)
}

function countOutcomes(
  { context }: MirrorSync,
  { subsets = [] }: Endpoints,
  outcomes: readonly SliceOutcome[],
): void {
  const { added, updated, removed, skipped } = context.metrics.mirroring
  const sum = (count: (one: SliceOutcome) => number): number =>
    outcomes.reduce((total, one) => total + count(one), 0)
  added.observe(sum((one) => one.added))
  updated.observe(sum((one) => one.updated))
  removed.observe(sum((one) => one.removed))
  const over = subsets.map(({ addresses = [], notReadyAddresses = [] }) =>
    Math.max(0, addresses.length + notReadyAddresses.length - maxPerSubset),
  )
  skipped.observe(over.reduce((total, one) => total + one, 0))
}

export const endpointSliceMirroringController: ControllerEntry = {
  name: 'endpointslice-mirroring-controller',
  aliases: ['endpointslicemirroring'],
  eventSource: 'endpoint-slice-mirroring-controller',
  defaultOn: true,
  start: runSliceMirroring,
}
