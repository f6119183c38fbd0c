/** Rules of the templates from which controllers make Pods. */
import type { Dialect } from '../../../../api/dialect.ts'
import type { PodTemplateSpec } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goStringMap } from '../../../../machinery/values/go-syntax.ts'
import type { LabelSelector } from '../../../../machinery/selectors/label-selector.ts'
import { matchesLabels } from '../../../../machinery/selectors/label-selector.ts'
import {
  validateAnnotations,
  validateLabels,
} from '../../../../machinery/validation/label-validation.ts'
import { validatePodAnnotations } from './pod-annotation-validation.ts'
import { validatePodSpec } from './pod-spec-validation.ts'

export function validatePodTemplate(
  template: PodTemplateSpec | undefined,
  at: FieldPath,
  { dialect }: { readonly dialect: Dialect },
): void {
  const spec = template?.spec ?? { containers: [] }
  const rules = { dialect, isPod: false }
  validateTemplateMeta(template, at, { dialect })
  validatePodSpec(spec, at.child('spec'), rules)
  if (spec.ephemeralContainers?.length) {
    at.child('spec')
      .child('ephemeralContainers')
      .forbidden('ephemeral containers not allowed in pod template')
  }
}

/** Labels and annotations alone: all that a StatefulSet checks of its template. */
export function validateTemplateMeta(
  template: PodTemplateSpec | undefined,
  at: FieldPath,
  { dialect }: { readonly dialect: Dialect },
): void {
  const { labels, annotations } = template?.metadata ?? {}
  validateLabels(labels, at.child('labels'))
  validateAnnotations(annotations, at.child('annotations'))
  const spec = template?.spec ?? { containers: [] }
  validatePodAnnotations(annotations, spec, at.child('annotations'), { dialect, isPod: false })
}

/** The controller would not find the Pods it makes, unless its selector takes the template's labels. */
export function validateSelectorTakesTemplate(
  selector: LabelSelector,
  template: PodTemplateSpec | undefined,
  at: FieldPath,
): void {
  const labels = template?.metadata?.labels
  if (matchesLabels(selector, labels)) return
  at.child('metadata')
    .child('labels')
    .invalid(goStringMap(labels), '`selector` does not match template `labels`')
}

/** Controllers that keep Pods running take only Pods that restart and have no deadline. */
export function validateRunsForever(
  template: PodTemplateSpec | undefined,
  at: FieldPath,
  controllerKind: string,
): void {
  const { restartPolicy = '', activeDeadlineSeconds } = template?.spec ?? {}
  const specAt = at.child('spec')
  if (restartPolicy !== 'Always') {
    specAt.child('restartPolicy').unsupported(restartPolicy, ['Always'])
  }
  if (activeDeadlineSeconds !== undefined) {
    specAt
      .child('activeDeadlineSeconds')
      .forbidden(`activeDeadlineSeconds in ${controllerKind} is not Supported`)
  }
}
