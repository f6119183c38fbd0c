/** The volume that the simulated provisioner makes for a claim (upstream: sig-storage-lib-external-provisioner). Pure. */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeNodeAffinity,
} from '../../api/generated/types.ts'
import { simulatedProvisioner } from '../../api/simulation.ts'
import { referenceToClaim, requestedStorage, volumeKeys } from '../../api/volume-binding.ts'

/** Nothing is ever written there. */
const folder = '/var/lib/skiff/volumes'

export function volumeNameOf({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid ?? ''}`
}

/** The labels of nodes that decide where a volume can be reached: the class's, else the zone. */
function topologyKeys(storageClass: StorageClass, dialect: Dialect): string[] {
  const { parameters, allowedTopologies = [] } = storageClass
  const named = (parameters?.['topologyKeys'] ?? '').split(',').map((key) => key.trim())
  if (named.some((key) => key !== '')) return named.filter((key) => key !== '')
  const allowed = allowedTopologies.flatMap(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.map(({ key }) => key),
  )
  return allowed.length > 0 ? [...new Set(allowed)] : [labelKey(dialect, 'topology', 'zone')]
}

/** Where the volume can be reached: like the selected node; without one, wherever the class allows. Undefined for everywhere. */
function nodeAffinity(
  storageClass: StorageClass,
  node: Node | undefined,
  dialect: Dialect,
): VolumeNodeAffinity | undefined {
  const within = (key: string, values: readonly string[]) => ({
    key,
    operator: 'In',
    values: [...values],
  })
  if (node === undefined) {
    const terms = (storageClass.allowedTopologies ?? []).map(({ matchLabelExpressions = [] }) => ({
      matchExpressions: matchLabelExpressions.map(({ key, values }) => within(key, values ?? [])),
    }))
    return terms.length === 0 ? undefined : { required: { nodeSelectorTerms: terms } }
  }
  const matchExpressions = topologyKeys(storageClass, dialect).flatMap((key) => {
    const value = node.metadata.labels?.[key]
    return value === undefined ? [] : [within(key, [value])]
  })
  if (matchExpressions.length === 0) return undefined
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } }
}

export function newVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  { node, dialect }: { readonly node: Node | undefined; readonly dialect: Dialect },
): PersistentVolume {
  const keys = volumeKeys(dialect)
  const name = volumeNameOf(claim)
  const { accessModes = [], volumeMode = 'Filesystem' } = claim.spec ?? {}
  const { reclaimPolicy = 'Delete', mountOptions } = storageClass
  const affinity = nodeAffinity(storageClass, node, dialect)
  return {
    metadata: {
      name,
      annotations: { [keys.provisionedBy]: simulatedProvisioner },
      ...(reclaimPolicy === 'Delete' && { finalizers: [keys.externalProvisioner] }),
    },
    spec: {
      capacity: { storage: requestedStorage(claim) },
      accessModes: [...accessModes],
      claimRef: referenceToClaim(claim),
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name ?? '',
      volumeMode,
      hostPath: { path: `${folder}/${name}`, type: '' },
      ...(mountOptions && { mountOptions: [...mountOptions] }),
      ...(affinity && { nodeAffinity: affinity }),
    },
  }
}
