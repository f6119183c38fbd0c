/** InterPodAffinity: pods that must, must not or would rather share a topology domain with certain other pods. */
import type { ClusterView, FilterPlugin, Rejection, ScorePlugin } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { PodTerm } from '../pod-term.ts'
import { matchesPod, podTerms } from '../pod-term.ts'
import type { NodeInfo } from '../snapshot.ts'

const because = (reason: string, resolvable: boolean): Rejection => ({
  reasons: [reason],
  resolvable,
})
const noAffinity = because("node(s) didn't match pod affinity rules", false)
const ownAntiAffinity = because("node(s) didn't match pod anti-affinity rules", true)
const othersAntiAffinity = because("node(s) didn't satisfy existing pods anti-affinity rules", true)

/** Topology domains, as `key=value`. */
type Domains = Set<string>

function domainOf({ topologyKey }: PodTerm, node: NodeInfo): string | undefined {
  const value = node.labels[topologyKey]
  return value === undefined ? undefined : `${topologyKey}=${value}`
}

function add(domains: Domains, term: PodTerm, node: NodeInfo): void {
  const domain = domainOf(term, node)
  if (domain !== undefined) domains.add(domain)
}

/** Where pods are whose own rules keep this one away. */
function domainsOfOthers(pod: PodInfo, view: ClusterView): Domains {
  const domains: Domains = new Set()
  if (view.podsWithAntiAffinity === 0) return domains
  for (const node of view.nodes) {
    if (node.podsWithAntiAffinity === 0) continue
    for (const other of node.pods.values()) {
      for (const term of other.requiredAntiAffinity) {
        if (matchesPod(term, pod.pod, view)) add(domains, term, node)
      }
    }
  }
  return domains
}

export const interPodAffinity: FilterPlugin = {
  name: 'InterPodAffinity',
  forPod(pod, view) {
    const { podAffinity } = pod.pod.spec?.affinity ?? {}
    const together = podTerms(pod.pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution)
    const apart = pod.requiredAntiAffinity
    const forbiddenByOthers = domainsOfOthers(pod, view)
    if (together.length + apart.length + forbiddenByOthers.size === 0) return undefined
    const forbidden: Domains = new Set()
    const wanted: Domains = new Set()
    if (together.length + apart.length > 0) {
      for (const node of view.nodes) {
        for (const { pod: other } of node.pods.values()) {
          for (const term of apart) if (matchesPod(term, other, view)) add(forbidden, term, node)
          // Only a pod that all terms speak of counts, as upstream.
          if (together.length > 0 && together.every((term) => matchesPod(term, other, view))) {
            for (const term of together) add(wanted, term, node)
          }
        }
      }
    }
    // The first pod of a group with affinity to itself has no pod to join yet.
    const isFirst = wanted.size === 0 && together.every((term) => matchesPod(term, pod.pod, view))
    return (node) => {
      for (const term of together) {
        const domain = domainOf(term, node)
        if (domain === undefined || !(isFirst || wanted.has(domain))) return noAffinity
      }
      const isIn = (domains: Domains, key: string, value: string): boolean =>
        domains.has(`${key}=${value}`)
      for (const { topologyKey } of apart) {
        const value = node.labels[topologyKey]
        if (value !== undefined && isIn(forbidden, topologyKey, value)) return ownAntiAffinity
      }
      if (forbiddenByOthers.size > 0) {
        for (const [key, value] of Object.entries(node.labels)) {
          if (isIn(forbiddenByOthers, key, value)) return othersAntiAffinity
        }
      }
      return undefined
    }
  },
}

/** Own preferences only: those that placed pods have about this one are not counted. */
export const preferredInterPodAffinity: ScorePlugin = {
  name: 'InterPodAffinity',
  weight: 2,
  normalize: 'range',
  forPod({ pod }, view) {
    const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {}
    const weighted = [
      { sign: 1, terms: podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [] },
      { sign: -1, terms: podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [] },
    ].flatMap(({ sign, terms }) =>
      terms.map(({ weight, podAffinityTerm }) => ({
        weight: sign * weight,
        term: podTerms(pod, [podAffinityTerm])[0] as PodTerm,
      })),
    )
    if (weighted.length === 0) return undefined
    const scores = new Map<string, number>()
    for (const node of view.nodes) {
      for (const { pod: other } of node.pods.values()) {
        for (const { weight, term } of weighted) {
          const domain = domainOf(term, node)
          if (domain === undefined || !matchesPod(term, other, view)) continue
          scores.set(domain, (scores.get(domain) ?? 0) + weight)
        }
      }
    }
    const keys = new Set(weighted.map(({ term }) => term.topologyKey))
    return (node) => {
      let sum = 0
      for (const key of keys) sum += scores.get(`${key}=${node.labels[key] ?? ''}`) ?? 0
      return sum
    }
  },
}
