/** smallest-role: the smallest role that allows a request, and its binding, ready to apply. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { PolicyRule } from '../../api/generated/types.ts'
import { subjectOf } from '../../api/rbac-subject.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthorizationAttributes } from '../request/request.ts'

const longestName = 200

/** The rule that allows exactly this request. */
function ruleFor(asked: AuthorizationAttributes): PolicyRule {
  const { verb, group, resource, subresource, name, path } = asked
  if (!asked.isResourceRequest) return { nonResourceURLs: [path], verbs: [verb] }
  return {
    apiGroups: [group],
    resources: [subresource === '' ? resource : `${resource}/${subresource}`],
    verbs: [verb],
    ...(name === '' ? {} : { resourceNames: [name] }),
  }
}

function readableName({ user, ...asked }: AuthorizationAttributes): string {
  const what = asked.isResourceRequest
    ? [asked.resource, asked.subresource, asked.name]
    : asked.path.split('/')
  return [user.name || (user.groups[0] ?? ''), asked.verb, ...what]
    .map((part) => part.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
    .join('-')
    .replaceAll(/-+/g, '-')
    .slice(0, longestName)
    .replaceAll(/^-|-$/g, '')
}

/**
 * A Role and its binding for a namespaced request, else a ClusterRole and its binding, under names that are free. Undefined
 * when no role can allow the request.
 */
export function smallestRole(
  asked: AuthorizationAttributes,
  from: { readonly reader: ObjectReader; readonly dialect: Dialect },
): KubeObject[] | undefined {
  const { reader, dialect } = from
  const { user, namespace } = asked
  // A rule for a path that ends in a star would allow every path below.
  const hasRule =
    asked.verb !== '' &&
    (asked.isResourceRequest
      ? asked.resource !== ''
      : asked.path.startsWith('/') && !asked.path.endsWith('*'))
  if (!hasRule || (user.name === '' && user.groups.length === 0)) return undefined
  const { roles, roleBindings, clusterRoles, clusterRoleBindings } = resourcesOf(dialect)
  const isLocal = asked.isResourceRequest && namespace !== ''
  const [role, binding] = isLocal ? [roles, roleBindings] : [clusterRoles, clusterRoleBindings]
  const place = isLocal ? namespace : ''
  const wanted = readableName(asked) || 'allowed'
  let name = wanted
  for (let at = 2; ; at += 1) {
    const isFree = [role, binding].every((one) => reader.get(one, place, name) === undefined)
    if (isFree) break
    name = `${wanted}-${at}`
  }
  const metadata = isLocal ? { name, namespace } : { name }
  const group = apiGroup(dialect, 'rbac.authorization')
  return [
    { apiVersion: apiVersionOf(role), kind: role.kind, metadata, rules: [ruleFor(asked)] },
    {
      apiVersion: apiVersionOf(binding),
      kind: binding.kind,
      metadata,
      roleRef: { apiGroup: group, kind: role.kind, name },
      subjects: [subjectOf(user, dialect)],
    },
  ]
}
