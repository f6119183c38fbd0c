/** attributes: a request as authorizers see it (upstream: apiserver pkg/endpoints/filters/authorization.go). */
import { isStatusError } from '../../machinery/objects/status-error.ts'
import {
  exactFieldMatch,
  fieldReviewRequirements,
  parseFieldSelector,
} from '../../machinery/selectors/field-selector.ts'
import { parseLabelSelector, reviewRequirements } from '../../machinery/selectors/label-selector.ts'
import type { AuthorizationAttributes, RequestContext } from './request.ts'

const selecting = new Set(['list', 'watch', 'deletecollection'])

/** Authorizers do not see an invalid selector: the handler rejects it, and it must not widen access. */
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
  // Rules with resource names also cover lists and watches of that one object, but not deletecollection (upstream: requestinfo.go).
  const isRead = info.verb !== 'deletecollection'
  const selected = isRead ? exactFieldMatch(byField, 'metadata.name') : undefined
  const name = info.name || (selected ?? '')
  return { ...attributes, name, ...selectorsOf(fields, labels) }
}

/** Selectors as authorizers see them; '' means no selector. */
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
