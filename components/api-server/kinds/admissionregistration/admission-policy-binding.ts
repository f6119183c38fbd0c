/** The bindings of ValidatingAdmissionPolicy and MutatingAdmissionPolicy (upstream: pkg/apis/admissionregistration/validation). */
import type { ValidatingAdmissionPolicyBinding, ParamRef } from '../../../api/generated/types.ts'
import type { MutatingAdmissionPolicyBinding } from '../../../api/mutating-policy.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { pathSegment } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateMutableOperations } from './mutating-admission-policy.ts'
import { defaultMatchResources, validateMatchResources } from './admission-rules.ts'
import { validateRequiredOneOf, validateOneOf, validateSubdomain } from '../rules/field-rules.ts'

function defaultBinding(object: KubeObject): void {
  defaultMatchResources((object as ValidatingAdmissionPolicyBinding).spec?.matchResources)
}

function validateParamRef(reference: ParamRef, at: FieldPath): void {
  const { name, selector, parameterNotFoundAction } = reference
  const onlyOne = 'name and selector are mutually exclusive'
  if (name) {
    at.child('name').invalidEach(name, pathSegment(name))
    if (selector) at.child('name').forbidden(onlyOne)
  }
  if (selector) {
    validateLabelSelector(selector, at.child('selector'))
    if (name) at.child('selector').forbidden(onlyOne)
  }
  if (!name && !selector) at.required('one of name or selector must be specified')
  const actionAt = at.child('parameterNotFoundAction')
  validateRequiredOneOf(parameterNotFoundAction, ['Deny', 'Allow'], actionAt)
}

const validationActions = ['Audit', 'Deny', 'Warn']

function validateActions(actions: readonly string[], at: FieldPath): void {
  for (const [i, action] of actions.entries()) {
    validateOneOf(action, validationActions, at.index(i))
    if (actions.indexOf(action) < i) at.index(i).duplicate(action)
  }
  if (actions.includes('Deny') && actions.includes('Warn')) {
    at.invalid(
      goList(actions, 'admissionregistration.ValidationAction'),
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (actions.length === 0) at.required('at least one validation action is required')
}

function validateReferences(
  { policyName, paramRef }: { policyName?: string; paramRef?: ParamRef },
  at: FieldPath,
): void {
  if (!policyName) at.child('policyName').required()
  else validateSubdomain(policyName, at.child('policyName'))
  if (paramRef) validateParamRef(paramRef, at.child('paramRef'))
}

function validateBinding(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const { spec = {} } = object as ValidatingAdmissionPolicyBinding
  validateReferences(spec, at)
  if (spec.matchResources) validateMatchResources(spec.matchResources, at.child('matchResources'))
  validateActions(spec.validationActions ?? [], at.child('validationActions'))
}

function validateMutatingBinding(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const { spec = {} } = object as MutatingAdmissionPolicyBinding
  validateReferences(spec, at)
  if (!spec.matchResources) return
  validateMatchResources(spec.matchResources, at.child('matchResources'))
  validateMutableOperations(spec.matchResources, at.child('matchResources'))
}

export const validatingAdmissionPolicyBindingStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults: defaultBinding,
  ...validation(validateBinding),
}

export const mutatingAdmissionPolicyBindingStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults: defaultBinding,
  ...validation(validateMutatingBinding),
}
