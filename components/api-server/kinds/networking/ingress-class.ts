/** IngressClass (upstream: pkg/apis/networking). */
import type { IngressClass, IngressClassParametersReference } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import {
  validateDomainPrefixedPath,
  validateImmutable,
  validateLabel1123,
} from '../rules/field-rules.ts'
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

function validate(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const { controller, parameters } = (object as IngressClass).spec ?? {}
  const controllerAt = at.child('controller')
  if (!controller) controllerAt.required()
  else {
    if (Buffer.byteLength(controller) > maxControllerBytes) controllerAt.tooLong(maxControllerBytes)
    validateDomainPrefixedPath(controller, controllerAt)
  }
  if (parameters) validateParameters(parameters, at.child('parameters'))
  return at.errors
}

export const ingressClassStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    const { parameters } = (object as IngressClass).spec ?? {}
    if (parameters) parameters.scope ??= 'Cluster'
  },
  validate,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec').child('controller')
    const [now = '', before = ''] = [object, old].map(
      (state) => (state as IngressClass).spec?.controller,
    )
    validateImmutable({ now, before }, at)
    return [...at.errors, ...validate(object)]
  },
}
