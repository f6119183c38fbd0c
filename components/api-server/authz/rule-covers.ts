/** Whether one set of rules grants everything another does (upstream: component-helpers auth/rbac/validation policy_comparator). */
import type { PolicyRule } from '../../api/generated/types.ts'

/** The most single grants that are compared one by one; real roles hold some hundreds. */
const mostGrants = 20_000

/** How many single grants a rule holds. */
function grantCount({ apiGroups, resources, resourceNames, ...rest }: PolicyRule): number {
  const { nonResourceURLs: paths = [], verbs } = rest
  const targets = (apiGroups?.length ?? 0) * (resources?.length ?? 0) * (resourceNames?.length || 1)
  return (targets + paths.length) * verbs.length
}

/** One verb on one resource (of one name, where names are given) or one path. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = []
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        const part = { apiGroups: [group], resources: [resource], verbs: [verb] }
        if (!rule.resourceNames?.length) parts.push(part)
        for (const name of rule.resourceNames ?? []) parts.push({ ...part, resourceNames: [name] })
      }
    }
  }
  for (const path of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [path], verbs: [verb] })
  }
  return parts
}

const hasAll = (owner: readonly string[] = [], wanted: readonly string[] = []): boolean =>
  wanted.every((item) => owner.includes(item))

const coversList = (owner: readonly string[] = [], wanted: readonly string[] = []): boolean =>
  owner.includes('*') || hasAll(owner, wanted)

function coversResource(owner: readonly string[] = [], wanted: readonly string[] = []): boolean {
  if (coversList(owner, wanted)) return true
  return wanted.every((resource) => {
    if (owner.includes(resource)) return true
    const slash = resource.indexOf('/')
    return slash >= 0 && owner.includes(`*/${resource.slice(slash + 1)}`)
  })
}

function isWithin(path: string, own: string): boolean {
  if (!own.endsWith('*')) return own === path
  let end = own.length
  while (own[end - 1] === '*') end -= 1
  return path.startsWith(own.slice(0, end))
}

function coversPath(owner: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return wanted.every((path) => owner.some((own) => isWithin(path, own)))
}

function covers(owner: PolicyRule, part: PolicyRule): boolean {
  const hasNames = (part.resourceNames?.length ?? 0) > 0
  return (
    coversList(owner.verbs, part.verbs) &&
    coversList(owner.apiGroups, part.apiGroups) &&
    coversResource(owner.resources, part.resources) &&
    coversPath(owner.nonResourceURLs, part.nonResourceURLs) &&
    (!owner.resourceNames?.length || (hasNames && hasAll(owner.resourceNames, part.resourceNames)))
  )
}

/**
 * The single grants of `wanted` that no rule of `owner` covers; empty when everything is covered. Rules beyond a great number
 * of grants count as one, which a single rule of `owner` has to cover.
 */
export function uncoveredRules(
  owner: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] {
  let left = mostGrants
  const isUncovered = (part: PolicyRule): boolean => !owner.some((rule) => covers(rule, part))
  return wanted.flatMap((rule) => {
    // Mostly one rule covers another whole, as when the server looks over its default roles.
    if (!isUncovered(rule)) return []
    left -= grantCount(rule)
    return (left < 0 ? [rule] : breakDown(rule)).filter(isUncovered)
  })
}

const quoted = (items: readonly string[]): string =>
  `[${items.map((item) => JSON.stringify(item)).join(' ')}]`

/** `{APIGroups:["a"], Resources:["b"], Verbs:["get" "list"]}`: how error messages show a rule. */
export function describeRule(rule: PolicyRule): string {
  const parts: [string, readonly string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ]
  const shown = parts.flatMap(([name, items]) =>
    items?.length ? [`${name}:${quoted(items)}`] : [],
  )
  return `{${shown.join(', ')}}`
}

/** Single grants on the same resource and name put together again, their verbs in order of appearance. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const compact = new Map<string, PolicyRule & { verbs: string[] }>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs?.length) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const same = compact.get(key)
    if (same === undefined) compact.set(key, { ...rule, verbs: [...rule.verbs] })
    else same.verbs.push(...rule.verbs.filter((verb) => !same.verbs.includes(verb)))
  }
  return [...others, ...compact.values()]
}
