/**
 * PlacedTerms: the rules that placed pods have about others. Pods made from one template have the same rules, so few of them are
 * distinct: each is kept once, with how many pods on which node have it.
 */
import type { PodInfo } from './pod-info.ts'
import type { PodTerm } from './pod-term.ts'

export interface PlacedTerm {
  readonly term: PodTerm
  /** 0 for a required rule. */
  readonly weight: number
  /** How many pods have the rule, by name of node. */
  readonly byNode: ReadonlyMap<string, number>
}

/** The three sorts of rules that count against, or for, a pod that comes. */
const termSorts = ['requiredAntiAffinity', 'requiredAffinity', 'preferred'] as const
export type TermSort = (typeof termSorts)[number]

interface Entry extends PlacedTerm {
  readonly byNode: Map<string, number>
}

export class PlacedTerms {
  readonly #sorts: Readonly<Record<TermSort, Map<string, Entry>>> = {
    requiredAntiAffinity: new Map(),
    requiredAffinity: new Map(),
    preferred: new Map(),
  }

  get isEmpty(): boolean {
    return termSorts.every((sort) => this.#sorts[sort].size === 0)
  }

  of(sort: TermSort): Iterable<PlacedTerm> {
    return this.#sorts[sort].values()
  }

  /** A pod came to a node, or left it. */
  change({ terms }: PodInfo, at: { readonly nodeName: string; readonly sign: 1 | -1 }): void {
    for (const term of terms.requiredAntiAffinity) this.#change('requiredAntiAffinity', term, at)
    for (const term of terms.requiredAffinity) this.#change('requiredAffinity', term, at)
    for (const { term, weight } of terms.preferred) {
      this.#change('preferred', term, { ...at, weight })
    }
  }

  /** A copy in which one node has other pods. */
  withNode(nodeName: string, pods: Iterable<PodInfo>): PlacedTerms {
    const copy = new PlacedTerms()
    for (const sort of termSorts) {
      for (const [key, { term, weight, byNode }] of this.#sorts[sort]) {
        const others = new Map(byNode)
        others.delete(nodeName)
        if (others.size > 0) copy.#sorts[sort].set(key, { term, weight, byNode: others })
      }
    }
    for (const info of pods) copy.change(info, { nodeName, sign: 1 })
    return copy
  }

  #change(
    sort: TermSort,
    term: PodTerm,
    at: { readonly nodeName: string; readonly sign: 1 | -1; readonly weight?: number },
  ): void {
    const { nodeName, sign, weight = 0 } = at
    const entries = this.#sorts[sort]
    const key = `${weight} ${term.key}`
    let entry = entries.get(key)
    if (entry === undefined) {
      entry = { term, weight, byNode: new Map() }
      entries.set(key, entry)
    }
    const count = (entry.byNode.get(nodeName) ?? 0) + sign
    if (count === 0) entry.byNode.delete(nodeName)
    else entry.byNode.set(nodeName, count)
    if (entry.byNode.size === 0) entries.delete(key)
  }
}
