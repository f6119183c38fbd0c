/** Whether the indexes that succeeded are enough (upstream: success_policy.go; KEP-3998). Pure. */
import type { JobSpec, SuccessPolicyRule } from '../../api/generated/types.ts'
import { indexCount, parseIntervals, sharedCount } from './index-intervals.ts'
import type { Intervals } from './index-intervals.ts'

/** Says which rule is met; undefined for none. */
export function metSuccessRule(spec: JobSpec, succeeded: Intervals): string | undefined {
  if (succeeded.length === 0) return undefined
  const rules = spec.successPolicy?.rules ?? []
  const index = rules.findIndex((rule) => isMet(rule, succeeded, spec.completions ?? 0))
  return index < 0 ? undefined : `Matched rules at index ${index}`
}

function isMet(rule: SuccessPolicyRule, succeeded: Intervals, completions: number): boolean {
  const { succeededIndexes, succeededCount } = rule
  if (succeededIndexes === undefined) {
    return succeededCount !== undefined && indexCount(succeeded) >= succeededCount
  }
  const required = parseIntervals(succeededIndexes, completions)
  if (required.length === 0) return false
  const met = sharedCount(required, succeeded)
  return met === indexCount(required) || (succeededCount !== undefined && met >= succeededCount)
}
