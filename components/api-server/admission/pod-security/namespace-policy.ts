/** namespace-policy: validates the PodSecurity labels of namespaces, and warns of existing Pods that violate new ones. */
import type { Pod } from '../../../api/generated/types.ts'
import { resourcesOf } from '../../../api/resources.ts'
import { deepEqual } from '../../../machinery/objects/object.ts'
import { invalid } from '../../../machinery/objects/status-error.ts'
import { violations } from './evaluate.ts'
import {
  compareLevels,
  isSamePolicy,
  policyOf,
  policyText,
  shortPolicyText,
  type LevelVersion,
  type Policy,
} from './policy.ts'
import { note, type Review } from './review.ts'

/** How many Pods are checked when a namespace's policy changes (upstream: namespace_max_pods_to_check). */
const mostPods = 3000

/** Warnings about the namespace's Pods that violate its new policy. They keep running. */
function existingPods(
  { request, reader, dialect, annotations }: Review,
  policy: LevelVersion,
): string[] {
  const namespace = request.name
  const { pods } = resourcesOf(dialect)
  const byReason = new Map<string, { first: string; others: number }>()
  for (const pod of (reader.list(pods, namespace) as readonly Pod[]).slice(0, mostPods)) {
    if (pod.spec === undefined) continue
    const found = violations({ metadata: pod.metadata, spec: pod.spec, annotations }, policy)
    if (found.length === 0) continue
    const reason = found.map((one) => one.reason).join(', ')
    const known = byReason.get(reason)
    if (known === undefined) byReason.set(reason, { first: pod.metadata.name ?? '', others: 0 })
    else known.others += 1
  }
  if (byReason.size === 0) return []
  const lines = [...byReason].map(([reason, { first, others }]) => {
    if (others === 0) return `${first}: ${reason}`
    return `${first} (and ${others} other pod${others === 1 ? '' : 's'}): ${reason}`
  })
  const head = `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${policyText(policy)}"`
  return [head, ...lines.toSorted()]
}

/** A warning if the namespace sets a policy although it is exempt. */
function exemptionWarnings({ request, rules }: Review, policy: Policy): string[] {
  const { name } = request
  const asked = shortPolicyText(policy)
  if (!rules.namespaces.has(name) || asked === '') return []
  if (deepEqual(policy, rules.defaults)) return []
  return [
    `namespace "${name}" is exempt from Pod Security, and the policy (${asked}) will be ignored`,
  ]
}

function isRelaxed(enforce: LevelVersion, before: LevelVersion): boolean {
  return enforce.minor === before.minor && compareLevels(enforce.level, before.level) <= 0
}

/** Throws 422 for new invalid labels; adds warnings. */
export function validateNamespace(review: Review): void {
  const { request, rules, names, dialect } = review
  const { object, old, name, warnings, subresource } = request
  if (subresource !== '') return
  const { policy, errors } = policyOf(object?.metadata.labels, names, rules.defaults)
  const before = policyOf(old?.metadata.labels, names, rules.defaults)
  const isKnown = old !== undefined && deepEqual(errors, before.errors)
  if (errors.length > 0 && !isKnown) throw invalid(resourcesOf(dialect).namespaces, name, errors)
  if (old === undefined) {
    warnings.push(...exemptionWarnings(review, policy))
    return
  }
  const { enforce } = policy
  if (isSamePolicy(enforce, before.policy.enforce)) return
  if (enforce.level === 'privileged' || isRelaxed(enforce, before.policy.enforce)) return
  if (!rules.namespaces.has(name)) warnings.push(...existingPods(review, enforce))
  else {
    note(review, { exempt: 'namespace' })
    warnings.push(...exemptionWarnings(review, policy))
  }
}
