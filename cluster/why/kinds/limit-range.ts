/** LimitRanges that contradict another one of the namespace: admission holds objects to all of them. */
import type { LimitRange, LimitRangeItem } from '../../../components/api/generated/types.ts'
import { compareQuantities } from '../../../components/machinery/values/quantity.ts'
import { seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import type { Related } from '../related.ts'

/** One amount that is above another one's maximum. */
interface Conflict {
  readonly type: string
  readonly resource: string
  readonly field: 'min' | 'default'
  readonly amount: string
  readonly from: LimitRange
  readonly max: string
  readonly by: LimitRange
}

function conflictsOf(from: LimitRange, by: LimitRange): Conflict[] {
  const fields = ['min', 'default'] as const
  const between = (low: LimitRangeItem, high: LimitRangeItem): Conflict[] =>
    fields.flatMap((field) =>
      Object.entries(low[field] ?? {}).flatMap(([resource, amount]) => {
        const max = high.max?.[resource]
        if (max === undefined || compareQuantities(amount, max) <= 0) return []
        return [{ type: low.type, resource, field, amount, from, max, by }]
      }),
    )
  const highs = by.spec?.limits ?? []
  return (from.spec?.limits ?? []).flatMap((low) =>
    highs.filter(({ type }) => type === low.type).flatMap((high) => between(low, high)),
  )
}

function conflictFinding(conflict: Conflict): Finding {
  const { type, resource, field, amount, from, max, by } = conflict
  const [lower, upper] = [from.metadata.name, by.metadata.name]
  return {
    cause: field === 'min' ? 'MinimumAboveMaximum' : 'DefaultAboveMaximum',
    message:
      field === 'min'
        ? `No ${type} can be created: the minimum of ${resource} in ${lower} is ${amount}, the maximum in ${upper} is ${max}.`
        : `A ${type} that says no limit of ${resource} is rejected: the default in ${lower} is ${amount}, the maximum in ${upper} is ${max}.`,
    evidence: [
      seen(from, `${type}: ${field} of ${resource} is ${amount}`),
      seen(by, `${type}: max of ${resource} is ${max}`),
    ],
    next: [`lower ${field} in ${lower}, raise max in ${upper}, or delete one of them`],
  }
}

function explainRange(range: LimitRange, { limitRanges }: Related): Finding[] {
  const others = limitRanges.filter(({ metadata }) => metadata.uid !== range.metadata.uid)
  const conflicts = others.flatMap((other) => [
    ...conflictsOf(range, other),
    ...conflictsOf(other, range),
  ])
  return conflicts.map(conflictFinding)
}

/** `Container: min of cpu 100m, max of cpu 2`. */
function itemText(item: LimitRangeItem): string {
  const { type, ...amounts } = item
  const texts = Object.entries(amounts).flatMap(([field, list]) =>
    Object.entries(list as Record<string, string>).map(
      ([resource, amount]) => `${field} of ${resource} ${amount}`,
    ),
  )
  return `${type}: ${texts.join(', ')}`
}

export const limitRange = defineExplainer<LimitRange>({
  needs: ({ metadata: { namespace = '' } }) => [{ of: 'limitRanges', namespace }],
  explain: explainRange,
  state: ({ spec }) => (spec?.limits ?? []).map(itemText).join('; ') || 'it limits nothing',
})
