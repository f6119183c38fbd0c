/** PodTerm: one rule of pod affinity, ready to be matched: which pods it speaks of, and over which topology. */
import type { Pod, PodAffinityTerm } from '../api/generated/types.ts'
import type { LabelSelector } from '../machinery/selectors/label-selector.ts'
import { labelSelectorFrom, matchesLabels } from '../machinery/selectors/label-selector.ts'

export interface PodTerm {
  /** Equal for terms that say the same. */
  readonly key: string
  readonly topologyKey: string
  readonly selector: LabelSelector
  /** Named namespaces; pods in them are meant, besides those of `namespaceSelector`. */
  readonly namespaces: ReadonlySet<string>
  readonly namespaceSelector: LabelSelector | undefined
}

/** Terms of a pod; without any word on namespaces its own is meant. */
function podTerms(pod: Pod, terms: readonly PodAffinityTerm[] | undefined): PodTerm[] {
  return (terms ?? []).map(({ topologyKey, labelSelector, namespaces, namespaceSelector }) => {
    const isSilent = (namespaces?.length ?? 0) === 0 && namespaceSelector === undefined
    const named = isSilent ? [pod.metadata.namespace ?? ''] : (namespaces ?? [])
    return {
      key: JSON.stringify([topologyKey, labelSelector, named, namespaceSelector]),
      topologyKey,
      selector: labelSelectorFrom(labelSelector),
      namespaces: new Set(named),
      namespaceSelector:
        namespaceSelector === undefined ? undefined : labelSelectorFrom(namespaceSelector),
    }
  })
}

/** A preference of a pod; the weight is negative for anti-affinity. */
export interface WeightedTerm {
  readonly weight: number
  readonly term: PodTerm
}

/** The rules of one pod about others. */
export interface PodTerms {
  readonly requiredAffinity: readonly PodTerm[]
  readonly requiredAntiAffinity: readonly PodTerm[]
  readonly preferred: readonly WeightedTerm[]
  readonly isAny: boolean
}

const noTerms: PodTerms = {
  requiredAffinity: [],
  requiredAntiAffinity: [],
  preferred: [],
  isAny: false,
}

export function podTermsOf(pod: Pod): PodTerms {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {}
  if (podAffinity === undefined && podAntiAffinity === undefined) return noTerms
  const weighted = (rules: typeof podAffinity, sign: 1 | -1): WeightedTerm[] =>
    (rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(
      ({ weight, podAffinityTerm }) =>
        podTerms(pod, [podAffinityTerm]).map((term) => ({ weight: sign * weight, term })),
    )
  return {
    requiredAffinity: podTerms(pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAntiAffinity: podTerms(
      pod,
      podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ),
    preferred: [...weighted(podAffinity, 1), ...weighted(podAntiAffinity, -1)],
    isAny: true,
  }
}

/** Knows the labels of namespaces; undefined for a namespace that is not known. */
export interface Namespaces {
  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined
}

/** Whether the term speaks of this pod. */
export function matchesPod(term: PodTerm, pod: Pod, view: Namespaces): boolean {
  const { namespace = '', labels } = pod.metadata
  const isInNamespace =
    term.namespaces.has(namespace) ||
    (term.namespaceSelector !== undefined &&
      matchesLabels(term.namespaceSelector, view.namespaceLabels(namespace) ?? {}))
  return isInNamespace && matchesLabels(term.selector, labels)
}
