/** What a node may get, as plain as can be: every pod, claim and volume is looked at for every question. */
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

/** What one pod needs, as the stories make them. */
export interface ModelPod {
  readonly namespace: string
  readonly name: string
  /** '' while it is not bound. */
  readonly nodeName: string
  readonly isMirror: boolean
  readonly secrets: readonly string[]
  readonly configMaps: readonly string[]
  readonly claims: readonly string[]
  readonly account: string
}

/** A volume bound to a claim, with a Secret to mount it with. */
export interface ModelVolume {
  readonly name: string
  readonly claim: { readonly namespace: string; readonly name: string } | undefined
  readonly secret: { readonly namespace: string; readonly name: string } | undefined
}

export interface ModelCluster {
  readonly pods: Map<string, ModelPod>
  readonly volumes: Map<string, ModelVolume>
}

export type NodeKind =
  'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'persistentvolumes' | 'pods'

/** Whether a node may get the object. */
export function nodeMayGet(
  { pods, volumes }: ModelCluster,
  asked: { nodeName: string; kind: NodeKind; namespace: string; name: string },
): boolean {
  const { nodeName, kind, namespace, name } = asked
  const bound = [...pods.values()].filter((pod) => pod.nodeName === nodeName)
  const needing = bound.filter(({ isMirror }) => !isMirror)
  const here = needing.filter((pod) => pod.namespace === namespace)
  const isClaimed = ({ claim }: ModelVolume): boolean =>
    claim !== undefined &&
    needing.some((pod) => pod.namespace === claim.namespace && pod.claims.includes(claim.name))
  switch (kind) {
    case 'pods':
      return bound.some((pod) => pod.namespace === namespace && pod.name === name)
    case 'configmaps':
      return here.some((pod) => pod.configMaps.includes(name))
    case 'persistentvolumeclaims':
      return here.some((pod) => pod.claims.includes(name))
    case 'persistentvolumes':
      return [...volumes.values()].some((volume) => volume.name === name && isClaimed(volume))
    case 'secrets':
      return (
        here.some((pod) => pod.secrets.includes(name)) ||
        [...volumes.values()].some(
          (volume) =>
            volume.secret?.namespace === namespace &&
            volume.secret.name === name &&
            isClaimed(volume),
        )
      )
  }
}

/** The pod as an object; `mirrorKey` is the annotation that makes it a mirror. */
export function podObject(pod: ModelPod, mirrorKey: string): KubeObject {
  const [first, ...rest] = pod.secrets
  return {
    metadata: {
      namespace: pod.namespace,
      name: pod.name,
      ...(pod.isMirror ? { annotations: { [mirrorKey]: 'x' } } : {}),
    },
    spec: {
      ...(pod.nodeName === '' ? {} : { nodeName: pod.nodeName }),
      serviceAccountName: pod.account,
      ...(first === undefined ? {} : { imagePullSecrets: [{ name: first }] }),
      containers: [
        {
          name: 'c',
          image: 'i',
          envFrom: pod.configMaps.map((name) => ({ configMapRef: { name } })),
          env: rest.map((name, at) => ({
            name: `E${at}`,
            valueFrom: { secretKeyRef: { name, key: 'k' } },
          })),
        },
      ],
      volumes: pod.claims.map((claimName, at) => ({
        name: `v${at}`,
        persistentVolumeClaim: { claimName },
      })),
    },
  }
}

export function volumeObject({ name, claim, secret }: ModelVolume): KubeObject {
  return {
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      ...(claim === undefined ? {} : { claimRef: claim }),
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        ...(secret === undefined ? {} : { nodeStageSecretRef: secret }),
      },
    },
  }
}
