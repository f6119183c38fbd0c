/** Rules of a Pod's volumes. */
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  EphemeralVolumeSource,
  KeyToPath,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../../machinery/values/go-syntax.ts'
import { label1123, subdomain } from '../../../../machinery/validation/names.ts'
import { validateClaimSpec } from '../claim-spec-validation.ts'
import {
  goJson,
  validateLocalDescendingPath,
  validateLocalNonReservedPath,
} from '../../rules/field-rules.ts'
import { isNegativeQuantity } from '../../rules/quantities.ts'
import { validateTemplateObjectMeta } from '../../rules/template-object-meta.ts'
import { validateFieldReference, validateResourceReference } from './environment-validation.ts'
import type { PodRules } from './pod-rules.ts'
import { sharedSources, validateCsiDriverName } from './volume-source-validation.ts'

/** The valid volumes by name, which containers may mount. */
export function validateVolumes(
  volumes: readonly Volume[],
  at: FieldPath,
  rules: PodRules,
): Map<string, Volume> {
  const valid = new Map<string, Volume>()
  const { podName } = rules
  const createdClaims = new Set<string>()
  for (const volume of volumes) {
    if (podName && volume.ephemeral) createdClaims.add(`${podName}-${volume.name}`)
  }
  for (const [i, volume] of volumes.entries()) {
    const volumeAt = at.index(i)
    const faultsBefore = at.errors.length
    validateSource(volume, volumeAt, rules)
    if (!volume.name) volumeAt.child('name').required()
    else volumeAt.child('name').invalidEach(volume.name, label1123(volume.name))
    if (valid.has(volume.name)) volumeAt.child('name').duplicate(volume.name)
    if (at.errors.length === faultsBefore) valid.set(volume.name, volume)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim !== undefined && createdClaims.has(claim)) {
      volumeAt
        .child('persistentVolumeClaim')
        .child('claimName')
        .invalid(claim, 'must not reference a PVC that gets created for an ephemeral volume')
    }
  }
  return valid
}

type OwnSource = (volume: Volume, at: FieldPath, rules: PodRules) => void

const ownSources: Readonly<Record<string, OwnSource>> = {
  emptyDir: ({ emptyDir }, at) => {
    if (emptyDir?.sizeLimit === undefined || !isNegativeQuantity(emptyDir.sizeLimit)) return
    at.child('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity')
  },
  gitRepo: ({ gitRepo }, at) => {
    if (!gitRepo?.repository) at.child('repository').required()
    validateLocalDescendingPath(gitRepo?.directory ?? '', at.child('directory'))
  },
  secret: ({ secret }, at) => {
    if (!secret?.secretName) at.child('secretName').required()
    validateMode(secret?.defaultMode, at.child('defaultMode'))
    validateItems(secret?.items, at.child('items'))
  },
  persistentVolumeClaim: ({ persistentVolumeClaim }, at) => {
    if (!persistentVolumeClaim?.claimName) at.child('claimName').required()
  },
  downwardAPI: ({ downwardAPI }, at) => {
    validateMode(downwardAPI?.defaultMode, at.child('defaultMode'))
    for (const file of downwardAPI?.items ?? []) validateDownwardFile(file, at)
  },
  configMap: ({ configMap }, at) => {
    if (!configMap?.name) at.child('name').required()
    validateMode(configMap?.defaultMode, at.child('defaultMode'))
    validateItems(configMap?.items, at.child('items'))
  },
  projected: ({ projected }, at) => {
    if (projected) validateProjected(projected, at)
  },
  csi: ({ csi }, at) => {
    validateCsiDriverName(csi?.driver ?? '', at.child('driver'))
    const secret = csi?.nodePublishSecretRef
    if (secret === undefined) return
    if (!secret.name) at.child('nodePublishSecretRef').child('name').required()
    else at.child('name').invalidEach(secret.name, subdomain(secret.name))
  },
  ephemeral: ({ ephemeral }, at, rules) => {
    if (ephemeral) validateEphemeral(ephemeral, at, rules)
  },
}

/** Upstream checks the sources in this order; only the first one found is looked into. */
const sourceOrder = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
] as const

function validateSource(volume: Volume, at: FieldPath, rules: PodRules): void {
  let found = 0
  for (const field of sourceOrder) {
    if (volume[field] === undefined) continue
    if (found++ > 0) {
      const spelling =
        field === 'cephfs' ? 'cephFS' : field === 'downwardAPI' ? 'downwarAPI' : field
      at.child(spelling).forbidden('may not specify more than 1 volume type')
      continue
    }
    const shared = sharedSources[field]
    const sourceAt = at.child(shared?.reportedAs ?? field)
    shared?.validate(volume, sourceAt, {
      name: volume.name,
      dialect: rules.dialect,
      isPersistent: false,
    })
    ownSources[field]?.(volume, sourceAt, rules)
  }
  if (found === 0) at.required('must specify a volume type')
  const { podName } = rules
  if (volume.ephemeral === undefined || !podName || !volume.name) return
  const claim = `${podName}-${volume.name}`
  for (const message of subdomain(claim)) {
    at.child('name').invalid(volume.name, `PVC name ${goQuote(claim)}: ${message}`)
  }
}

const modeMessage = 'must be a number between 0 and 0777 (octal), both inclusive'

function validateMode(mode: number | undefined, at: FieldPath): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) at.invalid(mode, modeMessage)
}

function validateItems(items: readonly KeyToPath[] | undefined, at: FieldPath): void {
  for (const [i, { key, path, mode }] of (items ?? []).entries()) {
    const itemAt = at.index(i)
    if (!key) itemAt.child('key').required()
    if (!path) itemAt.child('path').required()
    validateLocalNonReservedPath(path ?? '', itemAt.child('path'))
    validateMode(mode, itemAt.child('mode'))
  }
}

const downwardFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

function validateDownwardFile(file: DownwardAPIVolumeFile, at: FieldPath): void {
  const { path, fieldRef, resourceFieldRef, mode } = file
  if (!path) at.child('path').required()
  validateLocalNonReservedPath(path ?? '', at.child('path'))
  if (fieldRef) {
    validateFieldReference(fieldRef, downwardFields, at.child('fieldRef'))
    if (resourceFieldRef) {
      at.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously')
    }
  } else if (resourceFieldRef) {
    validateResourceReference(resourceFieldRef, at.child('resourceFieldRef'), {
      needsContainer: true,
    })
  } else at.required('one of fieldRef and resourceFieldRef is required')
  validateMode(mode, at.child('mode'))
}

function validateProjected(projected: ProjectedVolumeSource, at: FieldPath): void {
  validateMode(projected.defaultMode, at.child('defaultMode'))
  const paths = new Set<string>()
  const claimPath = (path: string | undefined, shown: string) => {
    if (!path) return
    if (paths.has(path)) at.invalid(shown, 'conflicting duplicate paths')
    paths.add(path)
  }
  for (const [i, source] of (projected.sources ?? []).entries()) {
    const sourceAt = at.child('sources').index(i)
    validateProjection(source, { sourceAt, volumeAt: at, claimPath })
    if (Object.values(source).filter((part) => part !== undefined).length > 1) {
      sourceAt.forbidden('may not specify more than 1 volume type')
    }
  }
}

interface ProjectionPlace {
  readonly sourceAt: FieldPath
  readonly volumeAt: FieldPath
  claimPath(path: string | undefined, shown: string): void
}

function validateProjection(source: VolumeProjection, place: ProjectionPlace): void {
  const { sourceAt, volumeAt, claimPath } = place
  for (const field of ['secret', 'configMap'] as const) {
    const part = source[field]
    if (part === undefined) continue
    if (!part.name) sourceAt.child(field).child('name').required()
    validateItems(part.items, sourceAt.child(field).child('items'))
    for (const { path } of part.items ?? []) claimPath(path, part.name ?? '')
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardFile(file, sourceAt.child('downwardAPI'))
    claimPath(file.path, file.path)
  }
  if (source.serviceAccountToken) {
    const { expirationSeconds = 0, path } = source.serviceAccountToken
    const expiryAt = sourceAt.child('serviceAccountToken').child('expirationSeconds')
    if (expirationSeconds < 10 * 60) {
      expiryAt.invalid(expirationSeconds, 'may not specify a duration less than 10 minutes')
    }
    if (expirationSeconds > 2 ** 32) {
      expiryAt.invalid(expirationSeconds, 'may not specify a duration larger than 2^32 seconds')
    }
    if (!path) volumeAt.child('path').required()
    else validateLocalNonReservedPath(path, volumeAt.child('path'))
  }
  if (source.clusterTrustBundle) {
    validateTrustBundle(source.clusterTrustBundle, sourceAt.child('clusterTrustBundlePEM'))
    claimPath(source.clusterTrustBundle.path, source.clusterTrustBundle.path)
  }
}

function validateTrustBundle(bundle: ClusterTrustBundleProjection, at: FieldPath): void {
  const { name, signerName, path } = bundle
  if (name !== undefined && signerName !== undefined) {
    at.invalid(goJson(bundle), 'only one of name and signerName may be used')
  } else if (name === undefined && signerName === undefined) {
    at.required('either name or signerName must be specified')
  } else if (name === '') at.child('name').required('must be a valid object name')
  else if (signerName === '') at.child('signerName').required('must be a valid signer name')
  if (!path) at.child('path').required()
  validateLocalNonReservedPath(path ?? '', at.child('path'))
}

function validateEphemeral(
  { volumeClaimTemplate: template }: EphemeralVolumeSource,
  at: FieldPath,
  { dialect }: PodRules,
): void {
  const templateAt = at.child('volumeClaimTemplate')
  if (template === undefined) {
    templateAt.required()
    return
  }
  validateTemplateObjectMeta(template.metadata, templateAt.child('metadata'))
  validateClaimSpec(template.spec, templateAt.child('spec'), { dialect })
}
