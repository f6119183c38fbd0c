/** Evaluates a Pod against a level of the pod security standards, by the rules of a release. */
import { baselineChecks } from './baseline-checks.ts'
import type { Check, CheckedPod, Violation } from './check.ts'
import type { LevelVersion } from './policy.ts'
import { restrictedChecks } from './restricted-checks.ts'

function checksOf({ level, minor }: LevelVersion): readonly Check[] {
  if (level === 'privileged') return []
  const isThere = ({ from }: Check) => from <= minor
  if (level === 'baseline') return baselineChecks.filter(isThere)
  const more = restrictedChecks.filter(isThere)
  const overridden = new Set(more.map(({ overrides }) => overrides))
  return [...baselineChecks.filter((one) => isThere(one) && !overridden.has(one.id)), ...more]
}

export function violations(pod: CheckedPod, policy: LevelVersion): Violation[] {
  return checksOf(policy)
    .map(({ run }) => run(pod, policy.minor))
    .filter((violation) => violation !== undefined)
}

/** `privileged (container "c" must not set ...), hostPort`. */
export function violationText(found: readonly Violation[]): string {
  return found
    .map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`))
    .join(', ')
}
