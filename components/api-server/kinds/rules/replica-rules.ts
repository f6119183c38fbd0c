/** Rules that Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers share. */
import type { Dialect } from '../../../api/dialect.ts'
import type { LabelSelector, PodTemplateSpec } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goStringMap, GoText } from '../../../machinery/values/go-syntax.ts'
import { labelSelectorFrom } from '../../../machinery/selectors/label-selector.ts'
import type { LabelSelector as Selector } from '../../../machinery/selectors/label-selector.ts'
import {
  isEmptySelector,
  validateLabelSelector,
} from '../../../machinery/validation/label-validation.ts'
import { validateNonNegativeFields } from './field-rules.ts'
import {
  validatePodTemplate,
  validateRunsForever,
  validateSelectorTakesTemplate,
} from '../core/pod/pod-template-validation.ts'

/** `v1.LabelSelector{...}` as Go prints it. */
export function goLabelSelector(selector: LabelSelector | undefined | null): GoText {
  if (!selector) return new GoText('"null"')
  const requirements = selector.matchExpressions?.map(
    ({ key, operator, values }) =>
      new GoText(
        `v1.LabelSelectorRequirement{Key:${JSON.stringify(key)}, Operator:${JSON.stringify(operator)}, Values:${goList(values).text}}`,
      ),
  )
  return new GoText(
    `v1.LabelSelector{MatchLabels:${goStringMap(selector.matchLabels).text}, MatchExpressions:${goList(requirements, 'v1.LabelSelectorRequirement').text}}`,
  )
}

/** The matcher of a selector, or undefined when it is not valid. */
export function selectorOf(selector: LabelSelector | undefined | null): Selector | undefined {
  try {
    return labelSelectorFrom(selector)
  } catch {
    // The faults are reported where the selector is validated.
    return undefined
  }
}

/** A required selector that selects something. */
export function validateRequiredSelector(
  selector: LabelSelector | undefined | null,
  at: FieldPath,
  kind: string,
): void {
  if (!selector) {
    at.required()
    return
  }
  validateLabelSelector(selector, at)
  if (isEmptySelector(selector)) {
    at.invalid(goLabelSelector(selector), `empty selector is invalid for ${kind}`)
  }
}

/** The template of a controller that keeps replicas running, against the controller's selector. */
export function validateReplicaTemplate(
  {
    template,
    selector,
    kind,
  }: { template: PodTemplateSpec | undefined; selector: Selector; kind: string },
  at: FieldPath,
  context: { readonly dialect: Dialect },
): void {
  if (!template) {
    at.required()
    return
  }
  validateSelectorTakesTemplate(selector, template, at)
  validatePodTemplate(template, at, context)
  validateRunsForever(template, at, kind)
}

interface ReplicaCounts {
  readonly replicas?: number
  readonly fullyLabeledReplicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly updatedReplicas?: number
  readonly currentReplicas?: number
  readonly unavailableReplicas?: number
  readonly observedGeneration?: number
  readonly collisionCount?: number
}

const allCounts = [
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'updatedReplicas',
  'currentReplicas',
  'unavailableReplicas',
  'observedGeneration',
  'collisionCount',
] as const
const partsOfReplicas = [
  'fullyLabeledReplicas',
  'currentReplicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
] as const

/** Counts are not negative, and no part is larger than the whole. */
export function validateReplicaCounts(status: ReplicaCounts, at: FieldPath): void {
  validateNonNegativeFields(status, allCounts, at)
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  for (const part of partsOfReplicas) {
    const count = status[part] ?? 0
    if (count > replicas) at.child(part).invalid(count, 'cannot be greater than status.replicas')
  }
  if (availableReplicas > readyReplicas) {
    at.child('availableReplicas').invalid(availableReplicas, 'cannot be greater than readyReplicas')
  }
}

/** The count of name collisions only grows. */
export function validateCollisionCount(
  status: { readonly collisionCount?: number } | undefined,
  old: { readonly collisionCount?: number } | undefined,
  at: FieldPath,
): void {
  const before = old?.collisionCount
  const now = status?.collisionCount
  if (before === undefined || (now !== undefined && now >= before)) return
  at.child('collisionCount').invalid(now ?? 0, 'cannot be decremented')
}
