/** PodDisruptionBudgets that allow no eviction. */
import type { PodDisruptionBudget } from '../../../components/api/generated/types.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  matchesLabels,
} from '../../../components/machinery/selectors/label-selector.ts'
import { conditionsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { countText } from '../names.ts'
import { podsFindings, unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'

function explainBudget(given: PodDisruptionBudget, related: Related): Finding[] {
  const budget: PodDisruptionBudget = { ...given, kind: 'PodDisruptionBudget' }
  const unseen = unseenFinding(budget, 'disruption')
  if (unseen !== undefined) return [unseen]
  const status = budget.status
  if ((status?.disruptionsAllowed ?? 0) > 0) return []
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
  if (pods.length === 0) {
    return [
      {
        cause: 'SelectorMatchesNothing',
        message: `The selector ${formatLabelSelector(selector) || '(everything)'} matches no pod, so the budget protects nothing.`,
        evidence,
        next: ['correct spec.selector, or the labels of the pods'],
      },
    ]
  }
  const isTight = (status?.desiredHealthy ?? 0) >= (status?.expectedPods ?? 0)
  const trouble = podsFindings(pods, related)
  return [
    {
      cause: 'NoDisruptionAllowed',
      message: isTight
        ? `The budget wants all of ${countText(pods.length, 'pod')} healthy, so none may ever be evicted.`
        : `${status?.currentHealthy ?? 0} pods are healthy and ${status?.desiredHealthy ?? 0} have to be, so none may be evicted now.`,
      evidence,
      next: [
        isTight
          ? 'lower minAvailable, raise maxUnavailable, or run more pods'
          : 'wait until more pods are healthy, or see the findings about them below',
      ],
    },
    ...trouble,
  ]
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
