/** authorize: asks the authorizers in order. Without an approval the request gets a 403 that names the user and the action. */
import type { Authorizer } from '../authz/authorizer.ts'
import { asStatusError } from '../codec/respond.ts'
import { attributesOf } from '../request/attributes.ts'
import { forbiddenError } from '../request/forbidden.ts'
import { refusalOf } from '../request/refusal.ts'
import type { Filter } from '../request/request.ts'
import type { DeniedRequests } from './denied-requests.ts'

export function authorize(authorizer: Authorizer, denied: DeniedRequests): Filter {
  return async (context, next) => {
    const attributes = attributesOf(context)
    const result = authorizer.authorize(attributes)
    const { decision, reason } = result instanceof Promise ? await result : result
    context.annotations['authorization/decision'] = decision === 'allow' ? 'allow' : 'forbid'
    context.annotations['authorization/reason'] = reason
    if (decision !== 'allow') {
      denied.forbidden(context, attributes, reason)
      throw forbiddenError(attributes, reason)
    }
    try {
      return await next(context)
    } catch (error) {
      const by = refusalOf(error)
      if (by !== undefined) denied.refused(context, by, asStatusError(error))
      throw error
    }
  }
}
