/** VolumeAttachment (upstream: pkg/apis/storage). */
import type {
  VolumeAttachment,
  VolumeAttachmentSpec,
  VolumeError,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateInlineVolume } from '../core/persistent-volume-validation.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { validateDriverName } from './csi-node.ts'
import { goJson, validateImmutable, validateSubdomain } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { mapBytes } from './class-rules.ts'

const maxMetadataBytes = 256 * 1024
const maxErrorBytes = 1024
const oneSource = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'

function validateSource(
  source: VolumeAttachmentSpec['source'],
  at: FieldPath,
  context: StrategyContext,
): void {
  const { persistentVolumeName, inlineVolumeSpec } = source ?? {}
  if (persistentVolumeName === undefined && !inlineVolumeSpec) at.required(oneSource)
  else if (persistentVolumeName !== undefined && inlineVolumeSpec) at.forbidden(oneSource)
  else if (persistentVolumeName === '') {
    at.child('persistentVolumeName').required('must specify non empty persistentVolumeName')
  } else if (inlineVolumeSpec) {
    validateInlineVolume(inlineVolumeSpec, at.child('inlineVolumeSpec'), context)
  }
}

function validateError(error: VolumeError | undefined, at: FieldPath): void {
  // The limit that upstream names is not the one it checks.
  if (Buffer.byteLength(error?.message ?? '') > maxErrorBytes) {
    at.child('message').tooLong(maxMetadataBytes)
  }
}

function validateState(
  { spec, status }: VolumeAttachment,
  root: FieldPath,
  context: StrategyContext,
): void {
  const at = root.child('spec')
  if (!spec?.attacher) at.child('attacher').required()
  validateSource(spec?.source, at.child('source'), context)
  validateSubdomain(spec?.nodeName ?? '', at.child('nodeName'))
  const statusAt = root.child('status')
  if (mapBytes(status?.attachmentMetadata ?? {}) > maxMetadataBytes) {
    statusAt.child('attachmentMetadata').tooLong(maxMetadataBytes)
  }
  validateError(status?.attachError, statusAt.child('attachError'))
  validateError(status?.detachError, statusAt.child('detachError'))
}

function validateNew(
  attachment: VolumeAttachment,
  root: FieldPath,
  context: StrategyContext,
): void {
  validateState(attachment, root, context)
  const { attacher, source } = attachment.spec ?? {}
  validateDriverName(attacher, root.child('spec.attacher'))
  const volume = source?.persistentVolumeName
  if (volume !== undefined) {
    validateSubdomain(volume, root.child('spec.source.persistentVolumeName'))
  }
}

const validateUpdate = updateValidation(
  ({ object, old }: Change<VolumeAttachment>, root, context) => {
    validateState(object, root, context)
    const { spec: now } = object
    validateImmutable({ now, before: old.spec, shown: goJson(now) }, root.child('spec'))
  },
)

export const volumeAttachmentStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  prepareForCreate(object) {
    object['status'] = { attached: false }
  },
  validate: createValidation(validateNew),
  validateUpdate,
  subresources: { status: { prepareForUpdate: restoreAllButStatus, validateUpdate } },
}
