/**
 * VolumeRestrictions: a disk that one node has writable goes to no other pod, and a claim with ReadWriteOncePod to one pod alone
 * (upstream: plugins/volumerestrictions; KEP-2485).
 */
import type { PersistentVolumeClaim, Pod, Volume } from '../../api/generated/types.ts'
import { podClaims } from '../../api/pod-references.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Informer } from '../../client/informer.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { ClusterView, Handle, NodeCheck, PluginWith, Rejection } from '../plugin.ts'
import { usesClaim } from './pod-volumes.ts'

const diskConflict: Rejection = { reasons: ['node(s) had no available disk'], resolvable: true }
const claimConflict: Rejection = {
  reasons: [
    'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
  ],
  resolvable: true,
}

const areBothReadOnly = (a: { readOnly?: boolean }, b: { readOnly?: boolean }): boolean =>
  a.readOnly === true && b.readOnly === true

/** Whether both are one disk, and one of them may write. */
function collide(a: Volume, b: Volume): boolean {
  if (a.gcePersistentDisk && b.gcePersistentDisk) {
    const [one, other] = [a.gcePersistentDisk, b.gcePersistentDisk]
    return one.pdName === other.pdName && !areBothReadOnly(one, other)
  }
  if (a.awsElasticBlockStore && b.awsElasticBlockStore)
    return a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID
  if (a.iscsi && b.iscsi) return a.iscsi.iqn === b.iscsi.iqn && !areBothReadOnly(a.iscsi, b.iscsi)
  if (a.rbd && b.rbd) {
    const [one, other] = [a.rbd, b.rbd]
    const isSame = one.pool === other.pool && one.image === other.image
    const shares = (one.monitors ?? []).some((monitor) => other.monitors?.includes(monitor))
    return isSame && shares && !areBothReadOnly(one, other)
  }
  return false
}

function isDisk({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Volume): boolean {
  return [gcePersistentDisk, awsElasticBlockStore, iscsi, rbd].some((disk) => disk !== undefined)
}

function disksOf({ spec }: Pod): readonly Volume[] {
  return (spec?.volumes ?? []).filter(isDisk)
}

/** The pod's claims that only one pod may use; a fault when one is missing. */
function exclusiveClaims(
  claims: Informer<PersistentVolumeClaim>,
  pod: Pod,
): ReadonlySet<string> | Rejection {
  const exclusive = new Set<string>()
  for (const name of podClaims(pod)) {
    const claim = claims.get(`${pod.metadata.namespace ?? ''}/${name}`)
    if (claim === undefined)
      return { reasons: [`persistentvolumeclaim "${name}" not found`], resolvable: false }
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) exclusive.add(name)
  }
  return exclusive
}

function isTaken(names: ReadonlySet<string>, pod: Pod, view: ClusterView): boolean {
  for (const node of view.nodes) {
    for (const { pod: other } of node.pods.values()) {
      if (other.metadata.namespace !== pod.metadata.namespace) continue
      if (podClaims(other).some((name) => names.has(name))) return true
    }
  }
  return false
}

export function volumeRestrictions({ informers, dialect }: Handle): PluginWith<'filter'> {
  const resources = resourcesOf(dialect)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  return {
    name: 'VolumeRestrictions',
    events: [
      registeredPods(['Delete'], ({ pod }, { old }) => {
        if (old === undefined) return false
        const shared =
          old.metadata.namespace === pod.metadata.namespace &&
          podClaims(old).some((name) => podClaims(pod).includes(name))
        return shared || disksOf(pod).some((disk) => disksOf(old).some((one) => collide(disk, one)))
      }),
      registered('Node', ['Add']),
      registered(
        'PersistentVolumeClaim',
        ['Add', 'Update'],
        ({ pod }, { now }) => now !== undefined && usesClaim(pod, now),
      ),
    ],
    filter({ pod }, view): NodeCheck | Rejection | undefined {
      if ((pod.spec?.volumes ?? []).length === 0) return undefined
      const exclusive = exclusiveClaims(claims, pod)
      if ('reasons' in exclusive) return exclusive
      if (exclusive.size > 0 && isTaken(exclusive, pod, view)) return () => claimConflict
      const disks = disksOf(pod)
      if (disks.length === 0) return undefined
      return (node) => {
        for (const { pod: other } of node.pods.values()) {
          if (disksOf(other).some((taken) => disks.some((disk) => collide(disk, taken))))
            return diskConflict
        }
        return undefined
      }
    },
  }
}
