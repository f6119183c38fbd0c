/** VolumeAttachment (upstream: pkg/apis/storage). */
import type {
  VolumeAttachment,
  VolumeAttachmentSpec,
  VolumeError,
} from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { validateDriverName } from './csi-node.ts'
import { goJson, validateImmutable, validateSubdomain } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { mapBytes } from './class-rules.ts'

const maxMetadataBytes = 256 * 1024
const maxErrorBytes = 1024
const oneSource = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'

function validateSource(source: VolumeAttachmentSpec['source'], at: FieldPath): void {
  const { persistentVolumeName, inlineVolumeSpec } = source ?? {}
  if (persistentVolumeName === undefined && !inlineVolumeSpec) at.required(oneSource)
  else if (persistentVolumeName !== undefined && inlineVolumeSpec) at.forbidden(oneSource)
  else if (persistentVolumeName === '') {
    at.child('persistentVolumeName').required('must specify non empty persistentVolumeName')
  }
}

function validateError(error: VolumeError | undefined, at: FieldPath): void {
  // The limit that upstream names is not the one it checks.
  if (Buffer.byteLength(error?.message ?? '') > maxErrorBytes) {
    at.child('message').tooLong(maxMetadataBytes)
  }
}

function validate(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { spec, status } = object as VolumeAttachment
  const at = root.child('spec')
  if (!spec?.attacher) at.child('attacher').required()
  validateSource(spec?.source, at.child('source'))
  validateSubdomain(spec?.nodeName ?? '', at.child('nodeName'))
  const statusAt = root.child('status')
  if (mapBytes(status?.attachmentMetadata ?? {}) > maxMetadataBytes) {
    statusAt.child('attachmentMetadata').tooLong(maxMetadataBytes)
  }
  validateError(status?.attachError, statusAt.child('attachError'))
  validateError(status?.detachError, statusAt.child('detachError'))
  return root.errors
}

function validateUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const now: unknown = object['spec']
  validateImmutable({ now, before: old['spec'], shown: goJson(now) }, at)
  return [...validate(object), ...at.errors]
}

export const volumeAttachmentStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  prepareForCreate(object) {
    object['status'] = { attached: false }
  },
  validate(object) {
    const root = FieldPath.root()
    const { attacher, source } = (object as VolumeAttachment).spec ?? {}
    validateDriverName(attacher, root.child('spec.attacher'))
    const volume = source?.persistentVolumeName
    if (volume !== undefined)
      validateSubdomain(volume, root.child('spec.source.persistentVolumeName'))
    return [...validate(object), ...root.errors]
  },
  validateUpdate,
  subresources: { status: { prepareForUpdate: restoreAllButStatus, validateUpdate } },
}
