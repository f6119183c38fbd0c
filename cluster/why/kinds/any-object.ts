/** Any other kind, custom resources first of all: conditions by the common conventions, and warnings. */
import { resourcesOf } from '../../../components/api/resources.ts'
import { kindActors } from '../../../components/api/kind-actors.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { apiVersionOf } from '../../../components/machinery/objects/resource.ts'
import { conditionSeen, conditionText, seen, warningsSeen, type AnyCondition } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import { unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'

/** Types that say that work goes on: neither value is trouble. */
const neutral = new Set(['Reconciling', 'Running'])

/** Types that are bad news when True; every other type is good news then (upstream: API conventions, typical status properties). */
const badWhenTrue =
  /(Failed|Failure|Failing|Error|Degraded|Stalled|Denied|Pressure|Unavailable|Violated|Violations|Suspended|Paused|NonStructuralSchema|Deprecated|Terminating|Resizing)$/

/** What of `status.conditions` is a condition. */
export function conditionsOf(object: KubeObject): AnyCondition[] {
  const conditions: unknown = object['status']?.conditions
  if (!Array.isArray(conditions)) return []
  return conditions.filter(
    (one): one is AnyCondition => typeof one?.type === 'string' && typeof one.status === 'string',
  )
}

/** Whether the condition says that something is not as it should be. */
export function isTrouble({ type, status }: AnyCondition): boolean {
  if (status === 'Unknown') return true
  if (neutral.has(type)) return false
  return badWhenTrue.test(type) ? status === 'True' : status === 'False'
}

function conditionFinding(object: KubeObject, condition: AnyCondition, related: Related): Finding {
  const { type, status, reason, message } = condition
  return {
    cause: reason || `${type}${status}`,
    message: sentence(conditionText({ type, status, ...(message ? { message } : {}) })),
    evidence: [conditionSeen(object, condition), ...warningsSeen(related, object)],
    next: ['correct what the condition names, or read the log of the controller that sets it'],
  }
}

/** What this release does not act on. */
function inertFinding(object: KubeObject, { dialect }: Related): Finding | undefined {
  const found = resourcesOf(dialect).all.find(
    (one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion,
  )
  const why = found === undefined ? undefined : kindActors.get(found.storagePrefix)?.missing
  if (why === undefined) return undefined
  return {
    cause: 'NothingActs',
    message: sentence(`No part of the cluster acts on this kind: ${why}`),
    evidence: [seen(object, 'is stored only')],
    next: ['run a controller for it'],
  }
}

function hasObservedGeneration(object: KubeObject): boolean {
  return typeof object['status']?.observedGeneration === 'number'
}

function explainAny(object: KubeObject, related: Related): Finding[] {
  const unseen = hasObservedGeneration(object) ? unseenFinding(object) : undefined
  const bad = conditionsOf(object).filter(isTrouble)
  const inert = inertFinding(object, related)
  return [
    ...(unseen === undefined ? [] : [unseen]),
    ...bad.map((condition) => conditionFinding(object, condition, related)),
    ...(inert === undefined ? [] : [inert]),
  ]
}

export const anyObject = defineExplainer<KubeObject>({
  needs: (object) => [eventsNeed(object)],
  explain: explainAny,
  state: (object) => {
    const conditions = conditionsOf(object)
    const good = conditions
      .filter((one) => !isTrouble(one))
      .map(({ type, status }) => `${type} is ${status}`)
    if (conditions.length > 0) return good.join(', ') || 'no condition is as it should be'
    const phase: unknown = object['status']?.phase
    if (typeof phase === 'string') return phase
    return `it exists since ${object.metadata.creationTimestamp ?? 'an unknown time'}, and has no conditions`
  },
})
