/** access-review: requests as SubjectAccessReviews and as match conditions see them (spec: "Webhook authorization contract"). */
import type { AuthorizationAttributes, SelectorRequirement } from '../request/request.ts'

function selectorOf(requirements: readonly SelectorRequirement[] | undefined) {
  if (requirements === undefined || requirements.length === 0) return undefined
  return {
    requirements: requirements.map(({ key, operator, values }) => ({
      key,
      operator,
      ...(values.length === 0 ? {} : { values }),
    })),
  }
}

/** Without empty fields, which JSON of upstream's types omits. */
function filled(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  )
}

/** The spec of the review that asks about a request. */
export function reviewSpecOf(
  asked: AuthorizationAttributes,
  options: { withSelectors: boolean },
): Record<string, unknown> {
  const { user } = asked
  const { withSelectors } = options
  return filled({
    resourceAttributes: asked.isResourceRequest
      ? filled({
          namespace: asked.namespace,
          verb: asked.verb,
          group: asked.group,
          version: asked.version,
          resource: asked.resource,
          subresource: asked.subresource,
          name: asked.name,
          fieldSelector: withSelectors ? selectorOf(asked.fieldSelector) : undefined,
          labelSelector: withSelectors ? selectorOf(asked.labelSelector) : undefined,
        })
      : undefined,
    nonResourceAttributes: asked.isResourceRequest
      ? undefined
      : filled({ path: asked.path, verb: asked.verb }),
    user: user.name,
    groups: user.groups.length === 0 ? undefined : user.groups,
    extra: user.extra,
    uid: user.uid,
  })
}

/** The variable `request` of match conditions: the spec of the review, with every plain field set. */
export function requestVariable(spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const resource = spec['resourceAttributes'] as Record<string, unknown> | undefined
  const empty = {
    namespace: '',
    verb: '',
    group: '',
    version: '',
    resource: '',
    subresource: '',
    name: '',
  }
  return {
    user: '',
    uid: '',
    groups: [],
    extra: {},
    ...spec,
    ...(resource === undefined ? {} : { resourceAttributes: { ...empty, ...resource } }),
  }
}

/** The spec in v1beta1, which spells `groups` as `group`. */
export function asBeta(spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { groups, ...rest } = spec
  return groups === undefined ? rest : { ...rest, group: groups }
}
