/** ValidatingAdmissionPolicy (upstream: pkg/apis/admissionregistration/validation). */
import type {
  ParamKind,
  Variable,
  Validation,
  AuditAnnotation,
  ValidatingAdmissionPolicySpec,
  ValidatingAdmissionPolicy,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateConditions } from '../../../machinery/validation/label-validation.ts'
import { subdomain, label1035, qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import {
  failurePolicies,
  validateMatchResources,
  validateMatchConditions,
} from './admission-rules.ts'
import { validateOneOf, goJson, validateRequiredOneOf } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { defaultPolicy } from './admission-rules.ts'

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

const maxAuditAnnotations = 20

const maxValueExpressionBytes = 5 * 1024

const celReserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

function validateParamKind({ apiVersion = '', kind = '' }: ParamKind, at: FieldPath): void {
  const versionAt = at.child('apiVersion')
  const parts = apiVersion.split('/')
  if (apiVersion === '') versionAt.required()
  else if (parts.length > 2) {
    versionAt.invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
  } else {
    const version = parts.at(-1) ?? ''
    const group = parts.length === 2 ? (parts[0] ?? '') : ''
    const groupFaults = group === '' ? [] : subdomain(group)
    if (groupFaults.length > 0) versionAt.invalid(group, groupFaults.join(','))
    const versionFaults = label1035(version)
    if (version === '') versionAt.invalid(apiVersion, 'version must be specified')
    else if (versionFaults.length > 0) versionAt.invalid(version, versionFaults.join(','))
  }
  const kindFaults = label1035(kind.toLowerCase())
  if (kind === '') at.child('kind').required()
  else if (kindFaults.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${kindFaults.join(',')}`
    at.child('kind').invalid(kind, why)
  }
}

function validateVariable({ name, expression }: Variable, at: FieldPath): void {
  if (!name?.trim()) at.child('name').required('name is not specified')
  else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || celReserved.has(name)) {
    at.child('name').invalid(name, 'name is not a valid CEL identifier')
  }
  if (!expression?.trim()) at.child('expression').required('expression is not specified')
}

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
  validateRequiredOneOf(spec.failurePolicy, failurePolicies, at.child('failurePolicy'))
  if (spec.paramKind) validateParamKind(spec.paramKind, at.child('paramKind'))
  const matchAt = at.child('matchConstraints')
  if (!spec.matchConstraints) matchAt.required()
  else {
    validateMatchResources(spec.matchConstraints, matchAt)
    if (!spec.matchConstraints.resourceRules?.length) matchAt.child('resourceRules').required()
  }
  validateMatchConditions(spec.matchConditions ?? [], at.child('matchConditions'))
  for (const [i, variable] of (spec.variables ?? []).entries()) {
    validateVariable(variable, at.child('variables').index(i))
  }
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
