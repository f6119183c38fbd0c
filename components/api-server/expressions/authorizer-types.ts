/** The types of `authorizer` and of the check of the request's own resource. */
import { opaque, type CelType } from '../../cel/cel-types.ts'

export const authorizerTypes: Readonly<Record<string, CelType>> = {
  authorizer: opaque('kubernetes.authorization.Authorizer'),
  'authorizer.requestResource': opaque('kubernetes.authorization.ResourceCheck'),
}
