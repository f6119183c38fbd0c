/** Audit policy: the audit level of each request; the first matching rule decides (upstream: audit/policy/checker.go). */
import type { AuditDecision, AuditLevel, AuditStage } from '../request/audit-record.ts'
import type { RequestInfo, UserInfo } from '../request/request.ts'

export interface AuditResources {
  /** '' is the core group. */
  readonly group: string
  /** `pods`, `pods/log`, `*`, `pods/*`, every `status`; none is all. */
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
}

/** An empty list matches every request. */
export interface AuditRule {
  readonly level: AuditLevel
  readonly users: readonly string[]
  readonly userGroups: readonly string[]
  readonly verbs: readonly string[]
  readonly resources: readonly AuditResources[]
  readonly namespaces: readonly string[]
  readonly nonResourceURLs: readonly string[]
  readonly omitStages: readonly AuditStage[]
  /** Undefined: by the policy. */
  readonly omitManagedFields: boolean | undefined
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[]
  readonly omitStages: readonly AuditStage[]
  readonly omitManagedFields: boolean
}

/** The policy without a file: level Metadata at ResponseComplete, never a body. */
export const defaultAuditPolicy: AuditPolicy = {
  omitStages: ['RequestReceived'],
  omitManagedFields: false,
  rules: [
    {
      level: 'Metadata',
      users: [],
      userGroups: [],
      verbs: [],
      resources: [],
      namespaces: [],
      nonResourceURLs: [],
      omitStages: [],
      omitManagedFields: undefined,
    },
  ],
}

function pathFits(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))
}

function resourceFits(wanted: string, info: RequestInfo): boolean {
  const { plural, subresource } = info
  const combined = subresource === '' ? plural : `${plural}/${subresource}`
  if (wanted === '*' || wanted === combined) return true
  if (wanted.startsWith('*/')) return wanted.slice(2) === subresource
  return wanted.endsWith('/*') && wanted.slice(0, -2) === plural
}

function resourcesFit(wanted: AuditResources, info: RequestInfo): boolean {
  if (wanted.group !== info.group) return false
  if (wanted.resources.length === 0) return true
  const { resourceNames } = wanted
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false
  return wanted.resources.some((one) => resourceFits(one, info))
}

function fits(rule: AuditRule, user: UserInfo, info: RequestInfo): boolean {
  const { users, userGroups, verbs, resources, namespaces, nonResourceURLs } = rule
  if (users.length > 0 && !users.includes(user.name)) return false
  if (userGroups.length > 0 && !userGroups.some((group) => user.groups.includes(group))) {
    return false
  }
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false
  if (namespaces.length > 0 || resources.length > 0) {
    if (!info.isResourceRequest) return false
    if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false
    return resources.length === 0 || resources.some((one) => resourcesFit(one, info))
  }
  if (nonResourceURLs.length === 0) return true
  return !info.isResourceRequest && nonResourceURLs.some((one) => pathFits(one, info.path))
}

/** The policy as a function. A request that no rule matches is not recorded. */
export function createAuditPolicy(
  policy: AuditPolicy,
): (user: UserInfo, info: RequestInfo) => AuditDecision {
  const decided = policy.rules.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: new Set([...policy.omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields,
    },
  }))
  const none: AuditDecision = { level: 'None', omitStages: new Set(), omitManagedFields: false }
  return (user, info) => decided.find(({ rule }) => fits(rule, user, info))?.decision ?? none
}
