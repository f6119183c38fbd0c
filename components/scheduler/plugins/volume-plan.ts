/**
 * Which volumes a pod's claims would have on a node: bound ones, free ones that it takes, and ones that are made there (upstream:
 * volumebinding/binder.go FindPodVolumes). Pure.
 */
import type {
  CSIDriver,
  CSIStorageCapacity,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { matchingVolume, requestedStorage, volumeKeys } from '../../api/volume-binding.ts'
import type { VolumeKeys } from '../../api/volume-binding.ts'
import type { Informer } from '../../client/informer.ts'
import { labelSelectorFrom, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { compareQuantities } from '../../machinery/values/quantity.ts'
import type { NodeLabels } from '../snapshot.ts'
import { matchesNodeTerm } from '../../api/node-selection.ts'
import { classOf } from './pod-volumes.ts'
import type { VolumeCaches } from './pod-volumes.ts'

export const volumeReasons = {
  unbound: 'pod has unbound immediate PersistentVolumeClaims',
  missing: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
  affinity: 'node(s) had volume node affinity conflict',
  conflict: "node(s) didn't find available persistent volumes to bind",
  space: 'node(s) did not have enough free storage',
} as const

export interface PlanCaches extends VolumeCaches {
  readonly drivers: Informer<CSIDriver>
  readonly capacities: Informer<CSIStorageCapacity>
}

/** What other pods were promised and the caches do not show yet. */
export interface Promised {
  /** Names of volumes. */
  readonly volumes: ReadonlySet<string>
  /** The node of a claim whose volume is to be made there, by the claim's key. */
  readonly nodes: ReadonlyMap<string, string>
}

/** A pod's claims by what is still to be done for them. */
export interface SortedClaims {
  readonly bound: readonly PersistentVolumeClaim[]
  /** They wait for their first consumer. The smallest first, so that a small one takes no large volume from another. */
  readonly waiting: readonly PersistentVolumeClaim[]
}

/** Undefined when a claim that does not wait for a consumer is unbound. */
export function sortClaims(
  caches: VolumeCaches,
  claims: readonly PersistentVolumeClaim[],
  keys: VolumeKeys = volumeKeys(caches.dialect),
): SortedClaims | undefined {
  const bound: PersistentVolumeClaim[] = []
  const waiting: PersistentVolumeClaim[] = []
  for (const claim of claims) {
    if (isFullyBound(claim, keys)) bound.push(claim)
    else if (
      classOf(caches, claim)?.volumeBindingMode === 'WaitForFirstConsumer' &&
      !claim.spec?.volumeName
    )
      waiting.push(claim)
    else return undefined
  }
  const bySize = (a: PersistentVolumeClaim, b: PersistentVolumeClaim): number =>
    compareQuantities(requestedStorage(a), requestedStorage(b))
  return { bound, waiting: waiting.toSorted(bySize) }
}

export function isFullyBound({ metadata, spec }: PersistentVolumeClaim, keys: VolumeKeys): boolean {
  return Boolean(spec?.volumeName) && metadata.annotations?.[keys.bindCompleted] !== undefined
}

/** Whether the volume can be reached from the node. */
export function isReachable({ spec }: PersistentVolume, node: NodeLabels): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => matchesNodeTerm(term, node))
}

export interface VolumePlan {
  /** Free volumes that claims take. */
  readonly taken: readonly {
    readonly claim: PersistentVolumeClaim
    readonly volume: PersistentVolume
  }[]
  /** Claims whose volumes are made for the node. */
  readonly made: readonly PersistentVolumeClaim[]
}

/** The plan for a node, or the reason why its volumes cannot be planned. */
export function planVolumes(
  caches: PlanCaches,
  { bound, waiting }: SortedClaims,
  { node, promised, keys }: { node: NodeLabels; promised: Promised; keys: VolumeKeys },
): VolumePlan | { readonly reason: string } {
  for (const { spec } of bound) {
    const volume = caches.volumes.get(spec?.volumeName ?? '')
    if (volume === undefined) return { reason: volumeReasons.missing }
    if (!isReachable(volume, node)) return { reason: volumeReasons.affinity }
  }
  const { dialect } = caches
  const names = new Set(promised.volumes)
  const taken: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = []
  const made: PersistentVolumeClaim[] = []
  for (const claim of waiting) {
    const selected =
      promised.nodes.get(keyOf(claim)) ?? claim.metadata.annotations?.[keys.selectedNode]
    if (selected !== undefined && selected !== node.name) return { reason: volumeReasons.conflict }
    const volume =
      selected === undefined
        ? matchingVolume(claim, caches.volumes.list(), {
            dialect,
            taken: names,
            isReachable: (one) => isReachable(one, node),
          })
        : undefined
    if (volume === undefined) {
      made.push(claim)
      continue
    }
    names.add(volume.metadata.name ?? '')
    taken.push({ claim, volume })
  }
  for (const claim of made) {
    const reason = whyNotMade(caches, claim, node)
    if (reason !== undefined) return { reason }
  }
  return { taken, made }
}

/** Why no volume can be made for the claim where the node is; undefined when it can. */
function whyNotMade(
  caches: PlanCaches,
  claim: PersistentVolumeClaim,
  node: NodeLabels,
): string | undefined {
  const storageClass = classOf(caches, claim)
  const none = labelKey(caches.dialect, '', 'no-provisioner')
  if (storageClass === undefined || ['', none].includes(storageClass.provisioner))
    return volumeReasons.conflict
  const terms = storageClass.allowedTopologies ?? []
  const isAllowed = terms.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values?.includes(node.labels[key] ?? '')),
  )
  if (terms.length > 0 && !isAllowed) return volumeReasons.conflict
  return hasRoom(caches, { claim, storageClass, node }) ? undefined : volumeReasons.space
}

/** KEP-1472: what the driver tells of its free capacity, where it tells any. */
function hasRoom(
  { drivers, capacities }: PlanCaches,
  wanted: { claim: PersistentVolumeClaim; storageClass: StorageClass; node: NodeLabels },
): boolean {
  const { claim, storageClass, node } = wanted
  if (drivers.get(storageClass.provisioner)?.spec.storageCapacity !== true) return true
  const size = requestedStorage(claim)
  return capacities
    .list()
    .some(({ storageClassName, capacity, maximumVolumeSize, nodeTopology }) => {
      const limit = maximumVolumeSize ?? capacity
      return (
        storageClassName === storageClass.metadata.name &&
        limit !== undefined &&
        compareQuantities(limit, size) >= 0 &&
        nodeTopology !== undefined &&
        matchesLabels(labelSelectorFrom(nodeTopology), node.labels)
      )
    })
}
