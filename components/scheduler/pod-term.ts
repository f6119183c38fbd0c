/** PodTerm: one rule of pod affinity, ready to be matched: which pods it speaks of, and over which topology. */
import type { Pod, PodAffinityTerm } from '../api/generated/types.ts'
import type { LabelSelector } from '../machinery/selectors/label-selector.ts'
import { labelSelectorFrom, matchesLabels } from '../machinery/selectors/label-selector.ts'
import type { ClusterView } from './plugin.ts'

export interface PodTerm {
  readonly topologyKey: string
  readonly selector: LabelSelector
  /** Named namespaces; pods in them are meant, besides those of `namespaceSelector`. */
  readonly namespaces: ReadonlySet<string>
  readonly namespaceSelector: LabelSelector | undefined
}

/** The terms of a pod; without any word on namespaces its own is meant. */
export function podTerms(pod: Pod, terms: readonly PodAffinityTerm[] | undefined): PodTerm[] {
  return (terms ?? []).map(({ topologyKey, labelSelector, namespaces, namespaceSelector }) => {
    const isSilent = (namespaces?.length ?? 0) === 0 && namespaceSelector === undefined
    return {
      topologyKey,
      selector: labelSelectorFrom(labelSelector),
      namespaces: new Set(isSilent ? [pod.metadata.namespace ?? ''] : namespaces),
      namespaceSelector:
        namespaceSelector === undefined ? undefined : labelSelectorFrom(namespaceSelector),
    }
  })
}

/** Whether the term speaks of this pod. */
export function matchesPod(term: PodTerm, pod: Pod, view: ClusterView): boolean {
  const { namespace = '', labels } = pod.metadata
  const isInNamespace =
    term.namespaces.has(namespace) ||
    (term.namespaceSelector !== undefined &&
      matchesLabels(term.namespaceSelector, view.namespaceLabels(namespace) ?? {}))
  return isInNamespace && matchesLabels(term.selector, labels)
}
