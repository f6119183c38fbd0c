/** Carries out slice plans: the slices of one owner and one address type, brought to the wanted endpoints. */
import type { EndpointSlice } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { OwnerReference } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { OwnWrites } from '../own-writes.ts'
import type { EndpointGroup, SlicePlanOptions } from './slice-plan.ts'
import { planSlices } from './slice-plan.ts'

export interface SliceOwner {
  /** The work queue's key. */
  readonly key: string
  readonly namespace: string
  /** New slices are named after it. */
  readonly name: string
  readonly reference: OwnerReference
  /** What every slice is to carry. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface SliceWriter {
  /** Writes what differs. `existing` are the owner's slices of this address type as the cache has them. */
  bring(
    owner: SliceOwner,
    wanted: {
      readonly addressType: string
      readonly existing: readonly EndpointSlice[]
      readonly groups: readonly EndpointGroup[]
    },
  ): Promise<void>
  remove(owner: SliceOwner, slices: readonly EndpointSlice[]): Promise<void>
}

export function createSliceWriter(options: {
  readonly slices: ResourceClient<EndpointSlice>
  readonly ownWrites: OwnWrites
  readonly plan: SlicePlanOptions
}): SliceWriter {
  const { slices, ownWrites } = options
  const metadataOf = (owner: SliceOwner, slice?: EndpointSlice): EndpointSlice['metadata'] => {
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
  const replace = async (owner: SliceOwner, slice: EndpointSlice, to: EndpointGroup) => {
    const wanted: EndpointSlice = {
      ...slice,
      metadata: metadataOf(owner, slice),
      endpoints: [...to.endpoints],
      ports: [...to.ports],
    }
    ownWrites.wrote(owner.key, await slices.update(wanted))
  }
  const remove: SliceWriter['remove'] = async (owner, list) => {
    for (const slice of list) {
      const { namespace, name = '', uid = '' } = slice.metadata
      try {
        await slices.delete({ namespace, name }, { preconditions: { uid } })
        ownWrites.deleted(owner.key, slice)
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
      }
    }
  }
  return {
    remove,
    bring: async (owner, { addressType, existing, groups }) => {
      // Those of an earlier owner of that name go with it.
      const own = existing.filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ uid }) => uid === owner.reference.uid),
      )
      const plan = planSlices(own, groups, options.plan)
      const touched = new Set([...plan.remove, ...plan.update.map(({ slice }) => slice)])
      for (const { ports, endpoints } of plan.create) {
        const created = await slices.create({
          metadata: {
            generateName: `${owner.name}-`,
            namespace: owner.namespace,
            ...metadataOf(owner),
          },
          addressType,
          endpoints: [...endpoints],
          ports: [...ports],
        })
        ownWrites.wrote(owner.key, created)
      }
      for (const { slice, to } of plan.update) await replace(owner, slice, to)
      for (const slice of own) {
        if (touched.has(slice)) continue
        const { labels, annotations } = metadataOf(owner, slice)
        const isSame =
          deepEqual(labels, slice.metadata.labels) &&
          deepEqual(annotations ?? {}, slice.metadata.annotations ?? {})
        if (isSame) continue
        const { ports = [], endpoints } = slice
        await replace(owner, slice, { ports, endpoints })
      }
      await remove(owner, [...plan.remove, ...existing.filter((slice) => !own.includes(slice))])
    },
  }
}
