/** matchLabelKeys of pod affinities: on creation the server turns them into requirements on the Pod's own labels. */
import type { Pod, PodAffinityTerm } from '../../../../api/generated/types.ts'
import { getOwn } from '../../../../machinery/values/json-copy.ts'

/** Changes the Pod, which is a draft (upstream: registry/core/pod strategy mutatePodAffinity). */
export function expandLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata.labels ?? {}
  for (const affinity of [spec?.affinity?.podAffinity, spec?.affinity?.podAntiAffinity]) {
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    for (const term of required) expandTerm(term, labels)
    for (const { podAffinityTerm } of preferred) expandTerm(podAffinityTerm, labels)
  }
}

function expandTerm(term: PodAffinityTerm, labels: Readonly<Record<string, string>>): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term
  if (!labelSelector) return
  const addAll = (keys: readonly string[], operator: string) => {
    for (const key of keys) {
      const value = getOwn(labels, key)
      if (value === undefined) continue
      labelSelector.matchExpressions ??= []
      labelSelector.matchExpressions.push({ key, operator, values: [value] })
    }
  }
  addAll(matchLabelKeys, 'In')
  addAll(mismatchLabelKeys, 'NotIn')
}
