/** ValidatingAdmissionPolicy (upstream: pkg/apis/admissionregistration/validation). */
import type {
  Validation,
  AuditAnnotation,
  ValidatingAdmissionPolicySpec,
  ValidatingAdmissionPolicy,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateConditions } from '../../../machinery/validation/label-validation.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validatePolicyFrame } from './policy-frame.ts'
import { validateOneOf, goJson } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultPolicy } from './admission-rules.ts'

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

const maxAuditAnnotations = 20

const maxValueExpressionBytes = 5 * 1024

function validateValidation(validation: Validation, at: FieldPath): void {
  const { expression, message = '', messageExpression = '', reason } = validation
  if (!expression?.trim()) at.child('expression').required('expression is not specified')
  if (messageExpression !== '' && messageExpression.trim() === '') {
    at.child('messageExpression').invalid(messageExpression, 'must be non-empty if specified')
  }
  const messageAt = at.child('message')
  if (message !== '' && message.trim() === '') {
    messageAt.invalid(message, 'message must be non-empty if specified')
  } else if (/[\n\r]/.test(message.trim())) {
    messageAt.invalid(message, 'message must not contain line breaks')
  }
  validateOneOf(reason, reasons, at.child('reason'))
}

function validateAuditAnnotations(
  annotations: readonly AuditAnnotation[],
  at: FieldPath,
  policyName: string,
): void {
  if (annotations.length > maxAuditAnnotations) {
    const why = `must not have more than ${maxAuditAnnotations} auditAnnotations`
    at.invalid(goJson(annotations), why)
  }
  for (const [i, { key, valueExpression }] of annotations.entries()) {
    const keyAt = at.index(i).child('key')
    const whole = `${policyName}/${key}`
    if (policyName === '') keyAt.invalid(key, 'requires metadata.name be non-empty')
    else keyAt.invalidEach(whole, qualifiedName(whole))
    const value = valueExpression?.trim() ?? ''
    const valueAt = at.index(i).child('valueExpression')
    if (value === '') valueAt.required('valueExpression is not specified')
    else if (Buffer.byteLength(value) > maxValueExpressionBytes) {
      valueAt.required(`must not exceed ${maxValueExpressionBytes} bytes in length`)
    }
    if (annotations.findIndex((other) => other.key === key) < i) keyAt.duplicate(key)
  }
}

type ReportFaults = (spec: ValidatingAdmissionPolicySpec, at: FieldPath) => void

function validatePolicy(
  { metadata, spec = {} }: ValidatingAdmissionPolicy,
  at: FieldPath,
  reportFaults: ReportFaults,
): void {
  validatePolicyFrame(spec, at)
  const [validations, annotations] = [spec.validations ?? [], spec.auditAnnotations ?? []]
  if (validations.length === 0 && annotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item'
    at.child('validations').required(why)
    at.child('auditAnnotations').required(why)
  }
  for (const [i, validation] of validations.entries()) {
    validateValidation(validation, at.child('validations').index(i))
  }
  validateAuditAnnotations(annotations, at.child('auditAnnotations'), metadata.name ?? '')
  reportFaults(spec, at)
}

export const validatingAdmissionPolicyStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults: defaultPolicy,
  async load() {
    const { reportPolicyFaults } = await import('../../expressions/expression-faults.ts')
    return {
      ...validatingAdmissionPolicyStrategy,
      ...validation((policy: ValidatingAdmissionPolicy, root) => {
        validatePolicy(policy, root.child('spec'), reportPolicyFaults)
      }),
    }
  },
  prepareForCreate(object) {
    object['status'] = {}
  },
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status')
        const { typeChecking, conditions } = (object as ValidatingAdmissionPolicy).status ?? {}
        const warningsAt = at.child('typeChecking').child('expressionWarnings')
        for (const [i, warning] of (typeChecking?.expressionWarnings ?? []).entries()) {
          if (!warning.warning) warningsAt.index(i).child('warning').required()
          if (!warning.fieldRef?.trim()) warningsAt.index(i).child('fieldRef').required()
        }
        validateConditions(conditions, at.child('conditions'))
      }),
    },
  },
}
