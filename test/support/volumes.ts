/** Claims, volumes and storage classes for tests, as the server leaves them, and pods that use claims. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../components/api/generated/types.ts'
import { simulatedProvisioner } from '../../components/api/simulation.ts'

type Annotations = Readonly<Record<string, string>>

export const boundByController = 'pv.kubernetes.io/bound-by-controller'
export const bindCompleted = 'pv.kubernetes.io/bind-completed'
export const provisionedBy = 'pv.kubernetes.io/provisioned-by'
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
export const selectedNode = 'volume.kubernetes.io/selected-node'
export const externalProvisioner = 'external-provisioner.volume.kubernetes.io/finalizer'

export interface ClaimFacts {
  uid?: string
  size?: string
  /** Undefined names no class. */
  className?: string | undefined
  modes?: string[]
  volumeMode?: string
  volumeName?: string
  labels?: Record<string, string>
  annotations?: Annotations
  finalizers?: string[]
  status?: PersistentVolumeClaim['status']
}

/** A claim `default/<name>` with the uid `<name>-uid`. */
export function claim(name: string, facts: ClaimFacts = {}): PersistentVolumeClaim {
  const { size = '1Gi', modes = ['ReadWriteOnce'], volumeMode = 'Filesystem', labels } = facts
  const className = 'className' in facts ? facts.className : ''
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: facts.uid ?? `${name}-uid`,
      ...(facts.annotations && { annotations: { ...facts.annotations } }),
      ...(facts.finalizers && { finalizers: [...facts.finalizers] }),
    },
    spec: {
      accessModes: modes,
      resources: { requests: { storage: size } },
      volumeMode,
      ...(className === undefined ? {} : { storageClassName: className }),
      ...(facts.volumeName && { volumeName: facts.volumeName }),
      ...(labels && { selector: { matchLabels: labels } }),
    },
    status: facts.status ?? { phase: 'Pending' },
  }
}

export interface VolumeFacts {
  size?: string
  className?: string
  modes?: string[]
  volumeMode?: string
  labels?: Record<string, string>
  annotations?: Annotations
  finalizers?: string[]
  policy?: string
  phase?: string
  /** `name`, or `name uid`, of a claim in `default`. */
  claim?: string
  path?: string
}

/** A volume of 1Gi, free unless `claim` is given. */
export function volume(name: string, facts: VolumeFacts = {}): PersistentVolume {
  const {
    size = '1Gi',
    className = '',
    modes = ['ReadWriteOnce'],
    volumeMode = 'Filesystem',
  } = facts
  const [claimName, uid] = facts.claim?.split(' ') ?? []
  const ref = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: 'default' }
  return {
    metadata: {
      name,
      ...(facts.labels && { labels: facts.labels }),
      ...(facts.annotations && { annotations: { ...facts.annotations } }),
      ...(facts.finalizers && { finalizers: [...facts.finalizers] }),
    },
    spec: {
      capacity: { storage: size },
      accessModes: modes,
      persistentVolumeReclaimPolicy: facts.policy ?? 'Retain',
      storageClassName: className,
      volumeMode,
      hostPath: { path: facts.path ?? '/data', type: '' },
      ...(claimName === undefined
        ? {}
        : { claimRef: { ...ref, name: claimName, ...(uid === undefined ? {} : { uid }) } }),
    },
    status: { phase: facts.phase ?? 'Pending' },
  }
}

/** A class of the simulated provisioner. */
export function storageClass(name: string, facts: Partial<StorageClass> = {}): StorageClass {
  return {
    metadata: { name },
    provisioner: simulatedProvisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
    ...facts,
  }
}

/** The default class of the simulated provisioner. */
export function defaultClass(name = 'standard'): StorageClass {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  return storageClass(name, { metadata: { name, annotations } })
}

/** A pod in `default` that uses the claim, on a node if one is named. */
export function podWithClaim(name: string, claimName: string, nodeName?: string): Pod {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      containers: [{ name: 'c', image: 'c:1' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
    status: { phase: 'Pending' },
  }
}
