/** The claims of a pod as the volume plugins see them (upstream: volumebinding/binder.go GetPodVolumeClaims, volume_binding.go podHasPVCs). */
import { claimClassName } from '../../api/default-classes.ts'
import type { Dialect } from '../../api/dialect.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../api/generated/types.ts'
import { podClaims } from '../../api/pod-references.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Informer } from '../../client/informer.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import type { Handle } from '../plugin.ts'

/** The caches that the volume plugins read. */
export interface VolumeCaches {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly volumes: Informer<PersistentVolume>
  readonly classes: Informer<StorageClass>
  readonly dialect: Dialect
}

export function volumeCaches({ informers, dialect }: Handle): VolumeCaches {
  const resources = resourcesOf(dialect)
  return {
    claims: informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    volumes: informers.informer<PersistentVolume>(resources.persistentVolumes),
    classes: informers.informer<StorageClass>(resources.storageClasses),
    dialect,
  }
}

/** Whether the claim is one of the pod's. */
export function usesClaim(
  pod: Pod,
  { metadata: { namespace, name = '' } }: PersistentVolumeClaim,
): boolean {
  return namespace === pod.metadata.namespace && podClaims(pod).includes(name)
}

/** The class of the claim; undefined for none, and for one that is not there. */
export function classOf(
  { classes, dialect }: VolumeCaches,
  claim: PersistentVolumeClaim,
): StorageClass | undefined {
  const name = claimClassName(claim, dialect)
  return name === '' ? undefined : classes.get(name)
}

/** The pod's claims, or why one of them keeps the pod from every node. */
export function claimsOf(
  { claims }: VolumeCaches,
  pod: Pod,
): readonly PersistentVolumeClaim[] | { readonly fault: string } {
  const found: PersistentVolumeClaim[] = []
  const { namespace = '', name: podName = '', uid } = pod.metadata
  for (const { name: volumeName, ephemeral, persistentVolumeClaim } of pod.spec?.volumes ?? []) {
    const name = ephemeral ? `${podName}-${volumeName}` : persistentVolumeClaim?.claimName
    if (name === undefined) continue
    const claim = claims.get(`${namespace}/${name}`)
    if (claim === undefined) {
      const awaited = `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
      return { fault: ephemeral ? awaited : `persistentvolumeclaim "${name}" not found` }
    }
    const { metadata, spec, status } = claim
    if (status?.phase === 'Lost') {
      const lost = `bound to non-existent persistentvolume "${spec?.volumeName ?? ''}"`
      return { fault: `persistentvolumeclaim "${name}" ${lost}` }
    }
    if (metadata.deletionTimestamp !== undefined)
      return { fault: `persistentvolumeclaim "${name}" is being deleted` }
    if (ephemeral && controllerOf(claim)?.uid !== uid) {
      const where = `${namespace}/${name} was not created for pod ${namespace}/${podName}`
      return { fault: `PVC ${where} (pod is not owner)` }
    }
    found.push(claim)
  }
  return found
}
