/** The 403 of a request that no authorizer allowed, in upstream's words (apiserver pkg/endpoints/handlers/responsewriters). */
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { StatusError, forbidden } from '../../machinery/objects/status-error.ts'
import type { AuthorizationAttributes } from './request.ts'

/** `User "x" cannot list resource "configmaps" in API group "" in the namespace "t1"`. */
function whatIsForbidden(attributes: AuthorizationAttributes): string {
  const user = `User ${goQuote(attributes.user.name)}`
  if (!attributes.isResourceRequest) {
    return `${user} cannot ${attributes.verb} path ${goQuote(attributes.path)}`
  }
  const { resource, subresource, namespace } = attributes
  const target = goQuote(subresource === '' ? resource : `${resource}/${subresource}`)
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`
  return `${user} cannot ${attributes.verb} resource ${target} in API group ${goQuote(attributes.group)} ${scope}`
}

/** `reason` is that of the authorizers, or ''. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): StatusError {
  const what = whatIsForbidden(attributes)
  const why = reason === '' ? what : `${what}: ${reason}`
  if (!attributes.isResourceRequest) {
    return new StatusError('Forbidden', `forbidden: ${why}`, { details: {} })
  }
  const { group, resource: plural, name } = attributes
  return forbidden({ group, plural }, name, why)
}
