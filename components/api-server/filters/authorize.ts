/** authorize: asks the authorizers in order; no approval is a 403 that says who may not do what. */
import {
  exactFieldMatch,
  fieldReviewRequirements,
  parseFieldSelector,
} from '../../machinery/field-selector.ts'
import { parseLabelSelector, reviewRequirements } from '../../machinery/label-selector.ts'
import { isStatusError } from '../../machinery/status-error.ts'
import { refusalOf } from '../admission/refusal.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { forbiddenError } from '../authz/forbidden.ts'
import type { DeniedRequests } from '../explain/denied-requests.ts'
import { asStatusError } from '../respond.ts'
import type { AuthorizationAttributes, Filter, RequestContext } from '../request.ts'

const selecting = new Set(['list', 'watch', 'deletecollection'])

/** A selector that does not parse counts as none: the handler refuses it, and an authorizer must not widen for it. */
function parsed<T>(parse: () => readonly T[]): readonly T[] {
  try {
    return parse()
  } catch (error) {
    if (isStatusError(error)) return []
    throw error
  }
}

/** A request as authorizers see it. */
export function attributesOf(context: RequestContext): AuthorizationAttributes {
  const { info, user } = context
  const attributes: AuthorizationAttributes = {
    user,
    verb: info.verb,
    isResourceRequest: info.isResourceRequest,
    group: info.group,
    version: info.version,
    resource: info.plural,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  }
  if (!info.isResourceRequest || !selecting.has(info.verb)) return attributes
  const fields = info.query.get('fieldSelector') ?? ''
  const labels = info.query.get('labelSelector') ?? ''
  if (fields === '' && labels === '') return attributes
  const byField = fields === '' ? [] : parsed(() => parseFieldSelector(fields))
  // Rules that name resources hold for lists and watches of that one object too, not for deletecollection (upstream: requestinfo.go).
  const isRead = info.verb !== 'deletecollection'
  const selected = isRead ? exactFieldMatch(byField, 'metadata.name') : undefined
  const name = info.name || (selected ?? '')
  return { ...attributes, name, ...selectorsOf(fields, labels) }
}

/** Selectors as authorizers see them; '' is none. */
export function selectorsOf(
  fields: string,
  labels: string,
): Pick<AuthorizationAttributes, 'fieldSelector' | 'labelSelector'> {
  return {
    ...(fields === ''
      ? {}
      : { fieldSelector: fieldReviewRequirements(parsed(() => parseFieldSelector(fields))) }),
    ...(labels === ''
      ? {}
      : { labelSelector: reviewRequirements(parsed(() => parseLabelSelector(labels))) }),
  }
}

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
