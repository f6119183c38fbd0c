/** PodDisruptionBudgets that allow no eviction. */
import type { PodDisruptionBudget } from '../../../components/api/generated/types.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  matchesLabels,
} from '../../../components/machinery/selectors/label-selector.ts'
import { conditionOf, conditionsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { countText, sentence } from '../names.ts'
import { podsFindings, unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'

/** The controller cannot count the pods, mostly for lack of a controller with a scale. */
function uncountedFinding(budget: PodDisruptionBudget, evidence: Evidence[]): Finding | undefined {
  const allowed = conditionOf(budget, 'DisruptionAllowed')
  if (allowed?.reason !== 'SyncFailed') return undefined
  return {
    cause: 'SyncFailed',
    message: sentence(
      `The pods of the budget cannot be counted${allowed.message ? `: ${allowed.message}` : ''}`,
    ),
    evidence,
    next: [
      'correct what the condition names; for pods without a controller that can be scaled, give minAvailable as a number',
    ],
  }
}

function explainBudget(budget: PodDisruptionBudget, related: Related): Finding[] {
  const { status } = budget
  const selector = labelSelectorFrom(budget.spec?.selector)
  const pods = related.pods.filter(({ metadata }) => matchesLabels(selector, metadata.labels))
  const evidence = [
    seen(
      budget,
      `${status?.currentHealthy ?? 0} of ${status?.expectedPods ?? 0} pods are healthy, ${status?.desiredHealthy ?? 0} have to be`,
    ),
    ...conditionsSeen(budget, 'DisruptionAllowed'),
    ...warningsSeen(related, budget),
  ]
  const uncounted = uncountedFinding(budget, evidence) ?? unseenFinding(budget, 'disruption')
  if (uncounted !== undefined) return [uncounted]
  if ((status?.disruptionsAllowed ?? 0) > 0) return []
  if (pods.length === 0 && (status?.expectedPods ?? 0) === 0) {
    return [
      {
        cause: 'SelectorMatchesNothing',
        message: `The selector ${formatLabelSelector(selector) || '(everything)'} matches no pod, so the budget protects nothing.`,
        evidence,
        next: ['correct spec.selector, or the labels of the pods'],
      },
    ]
  }
  return [tightFinding(budget, evidence), ...podsFindings(pods, related)]
}

function tightFinding({ status }: PodDisruptionBudget, evidence: Evidence[]): Finding {
  const { desiredHealthy = 0, expectedPods = 0, currentHealthy = 0 } = status ?? {}
  const isTight = desiredHealthy >= expectedPods
  return {
    cause: 'NoDisruptionAllowed',
    message: isTight
      ? `The budget wants all of ${countText(expectedPods, 'pod')} healthy, so none may ever be evicted.`
      : `${currentHealthy} pods are healthy and ${desiredHealthy} have to be, so none may be evicted now.`,
    evidence,
    next: [
      isTight
        ? 'lower minAvailable, raise maxUnavailable, or run more pods'
        : 'wait until more pods are healthy, or see the findings about them below',
    ],
  }
}

export const podDisruptionBudget = defineExplainer<PodDisruptionBudget>({
  needs: ({ metadata: { namespace = '' }, spec }) => [
    // Without a selector it selects nothing.
    ...(spec?.selector === undefined
      ? []
      : [
          {
            of: 'pods' as const,
            namespace,
            labelSelector: formatLabelSelector(labelSelectorFrom(spec.selector)),
          },
        ]),
    { of: 'events', namespace },
    { of: 'nodes' },
  ],
  explain: explainBudget,
  state: ({ status }) =>
    `${countText(status?.disruptionsAllowed ?? 0, 'disruption')} allowed, ${status?.currentHealthy ?? 0} of ${status?.expectedPods ?? 0} pods healthy`,
})
