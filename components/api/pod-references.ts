/** Which other objects a pod or volume names, and so needs its node to read (upstream: pkg/api/v1/pod and persistentvolume). */
import type {
  Container,
  PersistentVolume,
  Pod,
  PodSpec,
  SecretReference,
  Volume,
} from './generated/types.ts'

type AnyContainer = Pick<Container, 'env' | 'envFrom'>

function containersOf(spec: PodSpec): AnyContainer[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ]
}

const present = (names: readonly (string | undefined)[]): string[] =>
  [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[]

function volumeSecrets(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    ...(volume.projected?.sources ?? []).map((source) => source.secret?.name),
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef?.name,
    volume.storageos?.secretRef?.name,
  ]
}

/** Names of the Secrets a pod uses, in its own namespace. */
export function podSecrets(spec: PodSpec): string[] {
  return present([
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...containersOf(spec).flatMap(({ env, envFrom }) => [
      ...(envFrom ?? []).map(({ secretRef }) => secretRef?.name),
      ...(env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(volumeSecrets),
  ])
}

/** Names of the ConfigMaps a pod uses, in its own namespace. */
export function podConfigMaps(spec: PodSpec): string[] {
  return present([
    ...containersOf(spec).flatMap(({ env, envFrom }) => [
      ...(envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
      ...(env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({ configMap, projected }) => [
      configMap?.name,
      ...(projected?.sources ?? []).map((source) => source.configMap?.name),
    ]),
  ])
}

/** Names of the claims a pod uses; an ephemeral volume's claim is named after pod and volume. */
export function podClaims(pod: Pod): string[] {
  return present(
    (pod.spec?.volumes ?? []).map((volume) =>
      volume.ephemeral
        ? `${pod.metadata.name ?? ''}-${volume.name}`
        : volume.persistentVolumeClaim?.claimName,
    ),
  )
}

/** Names of the ResourceClaims a pod uses: those it names, and those made for it from templates. */
export function podResourceClaims(pod: Pod): string[] {
  const made = new Map(
    (pod.status?.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]),
  )
  return present(
    (pod.spec?.resourceClaims ?? []).map(
      (claim) => claim.resourceClaimName ?? made.get(claim.name),
    ),
  )
}

/** `namespace/name` of the Secrets that a node needs to mount the volume. */
export function volumeSecretKeys(volume: PersistentVolume): string[] {
  const { spec } = volume
  const claimNamespace = spec?.claimRef?.namespace ?? ''
  const references: (SecretReference | undefined)[] = [
    spec?.azureFile && {
      name: spec.azureFile.secretName,
      namespace: spec.azureFile.secretNamespace ?? claimNamespace,
    },
    spec?.cephfs?.secretRef,
    spec?.cinder?.secretRef,
    spec?.csi?.nodePublishSecretRef,
    spec?.csi?.nodeStageSecretRef,
    spec?.csi?.nodeExpandSecretRef,
    spec?.flexVolume?.secretRef,
    spec?.iscsi?.secretRef,
    spec?.rbd?.secretRef,
    spec?.scaleIO?.secretRef,
    spec?.storageos?.secretRef,
  ]
  return present(
    references.map((ref) => ref?.name && `${ref.namespace || claimNamespace}/${ref.name}`),
  )
}
