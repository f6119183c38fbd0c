/** IngressClass (upstream: pkg/apis/networking). */
import type { IngressClass, IngressClassParametersReference } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { Strategy } from '../strategy.ts'
import {
  validateDomainPrefixedPath,
  validateImmutable,
  validateLabel1123,
} from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { validateTypedReference } from '../rules/object-references.ts'

const maxControllerBytes = 250
const scopes = ['Cluster', 'Namespace']

function validateParameters(parameters: IngressClassParametersReference, at: FieldPath): void {
  validateTypedReference(parameters, at)
  const { scope, namespace } = parameters
  if (typeof scope !== 'string') at.child('scope').required()
  else if (!scopes.includes(scope)) at.child('scope').unsupported(scope, scopes)
  else if (scope === 'Cluster') {
    if (namespace !== undefined) {
      at.child('namespace').forbidden("`parameters.scope` is set to 'Cluster'")
    }
  } else if (namespace === undefined) {
    at.child('namespace').required("`parameters.scope` is set to 'Namespace'")
  } else validateLabel1123(namespace, at.child('namespace'))
}

function validateClass({ spec }: IngressClass, root: FieldPath): void {
  const at = root.child('spec')
  const { controller, parameters } = spec ?? {}
  const controllerAt = at.child('controller')
  if (!controller) controllerAt.required()
  else {
    if (Buffer.byteLength(controller) > maxControllerBytes) controllerAt.tooLong(maxControllerBytes)
    validateDomainPrefixedPath(controller, controllerAt)
  }
  if (parameters) validateParameters(parameters, at.child('parameters'))
}

export const ingressClassStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    const { parameters } = (object as IngressClass).spec ?? {}
    if (parameters) parameters.scope ??= 'Cluster'
  },
  validate: createValidation(validateClass),
  validateUpdate: updateValidation(({ object, old }: Change<IngressClass>, root) => {
    const [now = '', before = ''] = [object, old].map(({ spec }) => spec?.controller)
    validateImmutable({ now, before }, root.child('spec').child('controller'))
    validateClass(object, root)
  }),
}
