/** Compiled RBAC rules: which requests one role allows (upstream: plugin/pkg/auth/authorizer/rbac RuleAllows). */
import type { PolicyRule } from '../../api/generated/types.ts'
import type { AuthorizationAttributes } from '../request/request.ts'

const ALL = '*'

/** A request as rules match it; built once and matched against many roles. */
export interface RequestKey {
  readonly isResourceRequest: boolean
  readonly verb: string
  readonly group: string
  /** `pods` or `pods/log`. */
  readonly resource: string
  /** The sub-resource of any resource, as rules write it with a star; '' without a sub-resource. */
  readonly anySubresource: string
  readonly name: string
  readonly path: string
}

export function requestKey(attributes: AuthorizationAttributes): RequestKey {
  const { subresource, resource } = attributes
  const hasSubresource = subresource !== ''
  return {
    isResourceRequest: attributes.isResourceRequest,
    verb: attributes.verb,
    group: attributes.group,
    resource: hasSubresource ? `${resource}/${subresource}` : resource,
    anySubresource: hasSubresource ? `*/${subresource}` : '',
    name: attributes.name,
    path: attributes.path,
  }
}

/** A list that may hold the wildcard; undefined matches everything. */
type Matcher = readonly string[] | undefined

interface ResourceMatch {
  readonly verbs: Matcher
  readonly groups: Matcher
  readonly names: Matcher
}

interface PathMatch {
  readonly verbs: Matcher
  readonly path: string
  /** Set for a path that ends in `*`. */
  readonly prefix: string | undefined
}

function matcher(values: readonly string[] | undefined): Matcher {
  return values?.includes(ALL) ? undefined : (values ?? [])
}

function matches(list: Matcher, value: string): boolean {
  return list === undefined || list.includes(value)
}

function allowsResource(rules: readonly ResourceMatch[] | undefined, key: RequestKey): boolean {
  if (rules === undefined) return false
  for (const { verbs, groups, names } of rules) {
    if (matches(verbs, key.verb) && matches(groups, key.group) && matches(names, key.name))
      return true
  }
  return false
}

/** The rules of one role, found by resource. */
export interface CompiledRules {
  readonly rules: readonly PolicyRule[]
  allows(key: RequestKey): boolean
}

/** Fields that are missing match nothing; only an absent or empty `resourceNames` matches every name. */
export function compileRules(rules: readonly PolicyRule[]): CompiledRules {
  const byResource = new Map<string, ResourceMatch[]>()
  const paths: PathMatch[] = []
  for (const rule of rules) {
    const verbs = matcher(rule.verbs)
    const match: ResourceMatch = {
      verbs,
      groups: matcher(rule.apiGroups),
      names: rule.resourceNames?.length ? rule.resourceNames : undefined,
    }
    for (const resource of new Set(rule.resources)) {
      const list = byResource.get(resource)
      if (list === undefined) byResource.set(resource, [match])
      else list.push(match)
    }
    for (const path of rule.nonResourceURLs ?? []) {
      const prefix = path.endsWith(ALL) ? path.replace(/\*+$/, '') : undefined
      paths.push({ verbs, path, prefix })
    }
  }
  const everything = byResource.get(ALL)
  return {
    rules,
    allows(key) {
      if (!key.isResourceRequest) {
        return paths.some(
          ({ verbs, path, prefix }) =>
            (path === key.path || (prefix !== undefined && key.path.startsWith(prefix))) &&
            matches(verbs, key.verb),
        )
      }
      return (
        allowsResource(everything, key) ||
        allowsResource(byResource.get(key.resource), key) ||
        (key.anySubresource !== '' && allowsResource(byResource.get(key.anySubresource), key))
      )
    },
  }
}
