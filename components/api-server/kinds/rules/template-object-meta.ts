/** Metadata of a template that makes other objects (upstream: core/validation ValidateTemplateObjectMeta). */
import type { ObjectMeta } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  validateAnnotations,
  validateLabels,
} from '../../../machinery/validation/label-validation.ts'

/** Only labels and annotations are copied; the others cannot be set. */
export function validateTemplateObjectMeta(metadata: ObjectMeta | undefined, at: FieldPath): void {
  if (metadata === undefined) return
  validateAnnotations(metadata.annotations, at.child('annotations'))
  validateLabels(metadata.labels, at.child('labels'))
  for (const [field, value] of Object.entries(metadata)) {
    if (field === 'annotations' || field === 'labels' || value === null || value === '') continue
    at.child(field).forbidden('cannot be set')
  }
}
