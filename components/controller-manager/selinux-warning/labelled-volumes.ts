/**
 * The volumes of a pod that SELinux labels matter for, each with the label and the policy by which the node would mount it
 * (upstream: volumeutil GetPodVolumeNames, GetMountSELinuxLabel; KEP-1710). Pure.
 */
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  SELinuxOptions,
} from '../../api/generated/types.ts'
import { podVolumeClaims } from './pod-volume-claims.ts'

/** What the decision reads. */
export interface VolumeCaches {
  readonly claim: (key: string) => PersistentVolumeClaim | undefined
  readonly volume: (name: string) => PersistentVolume | undefined
  readonly driver: (name: string) => CSIDriver | undefined
}

export interface LabelledVolume {
  /** The same for all pods that use the volume. */
  readonly id: string
  readonly label: string
  readonly policy: string
  readonly driver: string
}

export interface PodLabels {
  readonly volumes: readonly LabelledVolume[]
  /** Volumes of the pod that its containers mount with different labels. */
  readonly ambiguous: readonly string[]
}

/** Parts that are not set are left out: the defaults of the nodes are unknown. */
function labelOf({ user, role, type, level }: SELinuxOptions): string {
  return [user, role, type, level].filter((part) => part).join(':')
}

/** The labels with which containers mount each volume, by the volume's name in the pod. */
function mountLabels({ spec }: Pod): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>()
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {}
  for (const { securityContext, volumeMounts } of [
    ...initContainers,
    ...containers,
    ...ephemeralContainers,
  ]) {
    const options = securityContext?.seLinuxOptions ?? spec?.securityContext?.seLinuxOptions
    for (const { name = '' } of volumeMounts ?? []) {
      const found = labels.get(name) ?? new Set()
      labels.set(name, found)
      if (options !== undefined) found.add(labelOf(options))
    }
  }
  return labels
}

interface VolumeSource {
  readonly id: string
  readonly driver: string
  /** Whether a node can mount it with a label. */
  readonly takesLabel: boolean
}

/** Undefined for volumes of other kinds, and while there is no volume. */
function sourceOf(
  claimKey: string | undefined,
  { claim, volume, driver }: VolumeCaches,
): VolumeSource | undefined {
  const claimed = claim(claimKey ?? '')
  const spec = volume(claimed?.spec?.volumeName ?? '')?.spec
  if (spec?.csi) {
    const { driver: driverName, volumeHandle } = spec.csi
    const takesLabel = driver(driverName)?.spec.seLinuxMount === true
    return { id: `csi/${driverName}^${volumeHandle}`, driver: driverName, takesLabel }
  }
  if (spec?.iscsi) {
    const { targetPortal, iqn, lun } = spec.iscsi
    return { id: `iscsi/${targetPortal}:${iqn}:${lun}`, driver: '', takesLabel: true }
  }
  if (spec?.fc) {
    const { wwids = [], targetWWNs = [], lun = 0 } = spec.fc
    const id = wwids.length > 0 ? wwids.join(',') : `${targetWWNs.join(',')}:${lun}`
    return { id: `fc/${id}`, driver: '', takesLabel: true }
  }
  return undefined
}

export function labelledVolumes(pod: Pod, caches: VolumeCaches): PodLabels {
  const asked = pod.spec?.securityContext?.seLinuxChangePolicy ?? 'MountOption'
  const volumes: LabelledVolume[] = []
  const ambiguous: string[] = []
  const claims = podVolumeClaims(pod)
  for (const [name, labels] of mountLabels(pod)) {
    const source = sourceOf(claims.get(name), caches)
    if (source === undefined) continue
    if (labels.size > 1) {
      ambiguous.push(name)
      continue
    }
    const isMounted = source.takesLabel && asked !== 'Recursive'
    const label = isMounted ? ([...labels][0] ?? '') : ''
    const policy = label === '' ? 'Recursive' : asked
    volumes.push({ id: source.id, driver: source.driver, label, policy })
  }
  return { volumes, ambiguous }
}
