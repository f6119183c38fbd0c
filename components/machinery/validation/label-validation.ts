/** Rules of labels, annotations, label selectors and conditions (upstream: apimachinery meta/v1/validation). */
import type { FieldPath } from './field-path.ts'
import { labelValue, qualifiedName, regexMessage } from './names.ts'

export function validateLabelName(name: string, at: FieldPath): void {
  at.invalidEach(name, qualifiedName(name))
}

export function validateLabels(
  labels: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): void {
  for (const key in labels) {
    validateLabelName(key, at)
    const value = labels[key] ?? ''
    at.invalidEach(value, labelValue(value))
  }
}

const maxAnnotationBytes = 256 * 1024

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): void {
  let units = 0
  for (const key in annotations) {
    at.invalidEach(key, qualifiedName(key.toLowerCase()))
    units += key.length + (annotations[key]?.length ?? 0)
  }
  // A UTF-16 unit is at most three bytes: smaller sets need no exact count.
  if (units * 3 > maxAnnotationBytes && bytesOf(annotations) > maxAnnotationBytes) {
    at.tooLong(maxAnnotationBytes)
  }
}

function bytesOf(map: Readonly<Record<string, string>> = {}): number {
  let bytes = 0
  for (const key in map) bytes += Buffer.byteLength(key) + Buffer.byteLength(map[key] ?? '')
  return bytes
}

/** `metav1.LabelSelector` as JSON. */
export interface LabelSelectorValue {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly LabelSelectorRequirementValue[]
}

export interface LabelSelectorRequirementValue {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** An absent selector is valid. */
export function validateLabelSelector(
  selector: LabelSelectorValue | undefined | null,
  at: FieldPath,
): void {
  if (!selector) return
  validateLabels(selector.matchLabels, at.child('matchLabels'))
  const expressionsAt = at.child('matchExpressions')
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    validateRequirement(requirement, expressionsAt.index(i))
  }
}

function validateRequirement(requirement: LabelSelectorRequirementValue, at: FieldPath): void {
  const { key, operator, values = [] } = requirement
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        at.child('values').required("must be specified when `operator` is 'In' or 'NotIn'")
      }
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        at.child('values').forbidden(
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )
      }
      break
    default:
      at.child('operator').invalid(operator, 'not a valid selector operator')
  }
  validateLabelName(key, at.child('key'))
  for (const [i, value] of values.entries()) {
    at.child('values').index(i).invalidEach(value, labelValue(value))
  }
}

/** Nothing is required of any object: it selects everything. */
export function isEmptySelector(selector: LabelSelectorValue): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    (selector.matchExpressions ?? []).length === 0
  )
}

const conditionStatuses = ['False', 'True', 'Unknown']
const reasonPattern = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'
const reasonMatcher = new RegExp(`^${reasonPattern}$`)
const reasonMismatch = regexMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonPattern,
  ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'],
)
const maxReasonBytes = 1024
const maxMessageBytes = 32 * 1024

/** `metav1.Condition` as JSON. */
export interface ConditionValue {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string | null
  readonly reason: string
  readonly message: string
}

export function validateConditions(
  conditions: readonly ConditionValue[] | undefined,
  at: FieldPath,
): void {
  const seen = new Set<string>()
  for (const [i, condition] of (conditions ?? []).entries()) {
    if (seen.has(condition.type)) at.index(i).child('type').duplicate(condition.type)
    seen.add(condition.type)
    validateCondition(condition, at.index(i))
  }
}

function validateCondition(condition: ConditionValue, at: FieldPath): void {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition
  validateLabelName(type, at.child('type'))
  if (!conditionStatuses.includes(status)) at.child('status').unsupported(status, conditionStatuses)
  if (observedGeneration < 0) {
    at.child('observedGeneration').invalid(
      observedGeneration,
      'must be greater than or equal to zero',
    )
  }
  if (!lastTransitionTime) at.child('lastTransitionTime').required('must be set')
  if (!reason) at.child('reason').required('must be set')
  else {
    if (!reasonMatcher.test(reason)) at.child('reason').invalid(reason, reasonMismatch)
    if (Buffer.byteLength(reason) > maxReasonBytes) at.child('reason').tooLong(maxReasonBytes)
  }
  if (Buffer.byteLength(message ?? '') > maxMessageBytes) {
    at.child('message').tooLong(maxMessageBytes)
  }
}
