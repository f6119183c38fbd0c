/** Carries out slice plans: the slices of one owner and one address type, brought to the wanted endpoints. */
import type { EndpointSlice } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { OwnerReference } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { OwnWrites } from '../own-writes.ts'
import type { SliceMetrics } from './slice-metrics.ts'
import type { EndpointGroup, GiveHints, SlicePlanOptions, SlicePlanTotals } from './slice-plan.ts'
import { planSlices } from './slice-plan.ts'

export interface SliceOwner {
  /** The work queue's key. */
  readonly key: string
  readonly namespace: string
  /** New slices are named after it. */
  readonly name: string
  readonly reference: OwnerReference
  /** The labels of every slice. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface SliceOutcome extends SlicePlanTotals {
  /** Slices that were created, updated and deleted. */
  readonly changed: number
}

export interface SliceWriter {
  /** Writes what differs. `existing` are the owner's slices of this address type as the cache has them. */
  bring(
    owner: SliceOwner,
    wanted: {
      readonly addressType: string
      readonly existing: readonly EndpointSlice[]
      readonly groups: readonly EndpointGroup[]
      readonly giveHints?: GiveHints | undefined
    },
  ): Promise<SliceOutcome>
  remove(owner: SliceOwner, slices: readonly EndpointSlice[]): Promise<void>
}

interface SliceWriterOptions {
  readonly slices: ResourceClient<EndpointSlice>
  readonly ownWrites: OwnWrites
  readonly plan: SlicePlanOptions
  /** Counts by operation. */
  readonly changes: SliceMetrics['changes']
}

export function createSliceWriter(options: SliceWriterOptions): SliceWriter {
  const remove: SliceWriter['remove'] = (owner, slices) => removeSlices(options, owner, slices)
  return {
    remove,
    bring: async (owner, { addressType, existing, groups, giveHints }) => {
      // Slices of an earlier owner of that name are deleted.
      const own = existing.filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ uid }) => uid === owner.reference.uid),
      )
      const plan = planSlices(own, groups, { ...options.plan, giveHints })
      for (const group of plan.create) await createSlice(options, owner, { addressType, group })
      for (const { slice, to } of plan.update) await replaceSlice(options, owner, { slice, to })
      const touched = new Set([...plan.remove, ...plan.update.map(({ slice }) => slice)])
      const relabelled = own.filter((slice) => !touched.has(slice) && !hasMetadata(owner, slice))
      for (const slice of relabelled) {
        const { ports = [], endpoints } = slice
        await replaceSlice(options, owner, { slice, to: { ports, endpoints } })
      }
      const gone = [...plan.remove, ...existing.filter((slice) => !own.includes(slice))]
      await remove(owner, gone)
      const changed = plan.create.length + plan.update.length + relabelled.length + gone.length
      return { ...plan.totals, changed }
    },
  }
}

function metadataOf(owner: SliceOwner, slice?: EndpointSlice): EndpointSlice['metadata'] {
  const { labels, annotations, reference } = owner
  const own = slice?.metadata.annotations
  return {
    ...slice?.metadata,
    labels: { ...labels },
    ...(annotations === undefined && own === undefined
      ? {}
      : { annotations: { ...own, ...annotations } }),
    ownerReferences: [reference],
  }
}

function hasMetadata(owner: SliceOwner, slice: EndpointSlice): boolean {
  const { labels, annotations } = metadataOf(owner, slice)
  return (
    deepEqual(labels, slice.metadata.labels) &&
    deepEqual(annotations ?? {}, slice.metadata.annotations ?? {})
  )
}

async function createSlice(
  { slices, ownWrites, changes }: SliceWriterOptions,
  owner: SliceOwner,
  { addressType, group }: { addressType: string; group: EndpointGroup },
): Promise<void> {
  const { name, namespace } = owner
  const slice: EndpointSlice = {
    metadata: { generateName: `${name}-`, namespace, ...metadataOf(owner) },
    addressType,
    endpoints: [...group.endpoints],
    ports: [...group.ports],
  }
  await ownWrites.send(owner.key, () => slices.create(slice))
  changes.with('create').inc()
}

async function replaceSlice(
  { slices, ownWrites, changes }: SliceWriterOptions,
  owner: SliceOwner,
  { slice, to }: { slice: EndpointSlice; to: EndpointGroup },
): Promise<void> {
  const metadata = metadataOf(owner, slice)
  const wanted = { ...slice, metadata, endpoints: [...to.endpoints], ports: [...to.ports] }
  ownWrites.wrote(owner.key, await slices.update(wanted))
  changes.with('update').inc()
}

async function removeSlices(
  { slices, ownWrites, changes }: SliceWriterOptions,
  owner: SliceOwner,
  list: readonly EndpointSlice[],
): Promise<void> {
  for (const slice of list) {
    const { namespace, name = '', uid = '' } = slice.metadata
    try {
      await slices.delete({ namespace, name }, { preconditions: { uid } })
      changes.with('delete').inc()
      ownWrites.deleted(owner.key, slice)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}
