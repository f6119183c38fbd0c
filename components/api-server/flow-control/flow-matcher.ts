/** flow-matcher: which FlowSchema a request belongs to (upstream: apiserver pkg/util/flowcontrol/rule.go). */
import type {
  FlowSchema,
  FlowcontrolSubject,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from '../../api/generated/types.ts'
import type { RequestContext, RequestInfo, UserInfo } from '../request/request.ts'

const every = '*'
const accountPrefix = 'system:serviceaccount:'

type Asked = Pick<RequestContext, 'user' | 'info'>
type Matches = (asked: Asked) => boolean

const holds = (list: readonly string[] | undefined, one: string): boolean =>
  list !== undefined && (list.includes(one) || list.includes(every))

function subjectMatches(
  { group, user, serviceAccount }: FlowcontrolSubject,
  who: UserInfo,
): boolean {
  if (user !== undefined) return user.name === every || user.name === who.name
  if (group !== undefined) return group.name === every || who.groups.includes(group.name)
  if (serviceAccount === undefined) return false
  const { namespace, name } = serviceAccount
  if (!who.name.startsWith(accountPrefix)) return false
  const account = `${accountPrefix}${namespace}:`
  return name === every ? who.name.startsWith(account) : who.name === account + name
}

function resourceMatches(rule: ResourcePolicyRule, info: RequestInfo): boolean {
  const { plural, subresource, namespace } = info
  const resource = subresource === '' ? plural : `${plural}/${subresource}`
  return (
    holds(rule.verbs, info.verb) &&
    holds(rule.apiGroups, info.group) &&
    holds(rule.resources, resource) &&
    (namespace === '' ? rule.clusterScope === true : holds(rule.namespaces, namespace))
  )
}

function pathMatches(rule: NonResourcePolicyRule, { verb, path }: RequestInfo): boolean {
  if (!holds(rule.verbs, verb)) return false
  for (const url of rule.nonResourceURLs ?? []) {
    if (url === every || url === path) return true
    if (url.endsWith('/*') && path.startsWith(url.slice(0, -1))) return true
  }
  return false
}

/** Loops, here and below: every request is matched against many rules, and closures for it would be most of its garbage. */
function hasSubject(subjects: readonly FlowcontrolSubject[], who: UserInfo): boolean {
  for (const subject of subjects) if (subjectMatches(subject, who)) return true
  return false
}

function ruleMatches(rule: PolicyRulesWithSubjects, { user, info }: Asked): boolean {
  if (rule.subjects === undefined || !hasSubject(rule.subjects, user)) return false
  if (info.isResourceRequest) {
    for (const one of rule.resourceRules ?? []) if (resourceMatches(one, info)) return true
  } else {
    for (const one of rule.nonResourceRules ?? []) if (pathMatches(one, info)) return true
  }
  return false
}

/** Whether requests belong to the schema. */
export function matcherOf(schema: FlowSchema): Matches {
  const rules = schema.spec?.rules ?? []
  return (asked) => {
    for (const rule of rules) if (ruleMatches(rule, asked)) return true
    return false
  }
}

/** Schemas in matching order: the first that matches classifies the request. */
export function inPrecedence(schemas: readonly FlowSchema[]): FlowSchema[] {
  return schemas.toSorted((a, b) => {
    const byNumber = (a.spec?.matchingPrecedence ?? 0) - (b.spec?.matchingPrecedence ?? 0)
    if (byNumber !== 0) return byNumber
    return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
  })
}

/** The request's flow distinguisher. */
export function distinguisherOf(schema: FlowSchema, { user, info }: Asked): string {
  switch (schema.spec?.distinguisherMethod?.type) {
    case 'ByUser':
      return user.name
    case 'ByNamespace':
      return info.namespace
    default:
      return ''
  }
}
