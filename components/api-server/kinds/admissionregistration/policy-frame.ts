/** What validating and mutating admission policies have in common (upstream: pkg/apis/admissionregistration/validation). */
import type {
  ParamKind,
  ValidatingAdmissionPolicySpec,
  Variable,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { label1035, subdomain } from '../../../machinery/validation/names.ts'
import { validateRequiredOneOf } from '../rules/field-rules.ts'
import {
  failurePolicies,
  validateMatchConditions,
  validateMatchResources,
} from './admission-rules.ts'

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

/** All but what the policy does with the requests that it matches, and the compilation of its expressions. */
export function validatePolicyFrame(
  spec: Pick<
    ValidatingAdmissionPolicySpec,
    'failurePolicy' | 'paramKind' | 'matchConstraints' | 'matchConditions' | 'variables'
  >,
  at: FieldPath,
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
}
