/** NodeAffinity: nodeSelector and required node affinity decide, preferred node affinity scores. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../api/generated/types.ts'
import type { FilterPlugin, Rejection, ScorePlugin } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'

const rejection: Rejection = {
  reasons: ["node(s) didn't match Pod's node affinity/selector"],
  resolvable: false,
}

function comparesWith(value: string | undefined, bound: string | undefined): number {
  const left = value !== undefined && /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN
  const right = bound !== undefined && /^[+-]?\d+$/.test(bound) ? Number(bound) : Number.NaN
  return left - right
}

function holds(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? []
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return comparesWith(value, values[0]) > 0
    case 'Lt':
      return comparesWith(value, values[0]) < 0
    default:
      return false
  }
}

/** One term: all of its expressions and fields hold. A term without any matches no node. */
export function matchesTerm(term: NodeSelectorTerm, node: NodeInfo): boolean {
  const expressions = term.matchExpressions ?? []
  const fields = term.matchFields ?? []
  if (expressions.length + fields.length === 0) return false
  return (
    expressions.every((requirement) => holds(requirement, node.labels[requirement.key])) &&
    fields.every((requirement) =>
      holds(requirement, requirement.key === 'metadata.name' ? node.name : undefined),
    )
  )
}

function requiredTerms({ pod }: PodInfo): readonly NodeSelectorTerm[] | undefined {
  const affinity = pod.spec?.affinity?.nodeAffinity
  return affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
}

/** True when nodeSelector and required node affinity allow the node. */
export function matchesNodeAffinity(info: PodInfo, node: NodeInfo): boolean {
  for (const [key, value] of Object.entries(info.pod.spec?.nodeSelector ?? {})) {
    if (node.labels[key] !== value) return false
  }
  const terms = requiredTerms(info)
  return terms === undefined || terms.some((term) => matchesTerm(term, node))
}

function namesIn(term: NodeSelectorTerm): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (const { key, operator, values } of term.matchFields ?? []) {
    if (key !== 'metadata.name' || operator !== 'In') continue
    const listed = new Set(values ?? [])
    names = names === undefined ? listed : names.intersection(listed)
  }
  return names
}

export const nodeAffinity: FilterPlugin = {
  name: 'NodeAffinity',
  forPod(pod) {
    const { nodeSelector } = pod.pod.spec ?? {}
    if (nodeSelector === undefined && requiredTerms(pod) === undefined) return undefined
    return (node) => (matchesNodeAffinity(pod, node) ? undefined : rejection)
  },
  candidates(pod) {
    const terms = requiredTerms(pod)
    if (terms === undefined || terms.length === 0) return undefined
    let all = new Set<string>()
    for (const term of terms) {
      const names = namesIn(term)
      if (names === undefined) return undefined
      all = all.union(names)
    }
    return all
  },
}

function preferredOf({ pod }: PodInfo) {
  const affinity = pod.spec?.affinity?.nodeAffinity
  return affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
}

export const preferredNodeAffinity: ScorePlugin = {
  name: 'NodeAffinity',
  weight: 2,
  normalize: 'max',
  forPod(pod) {
    const preferred = preferredOf(pod)
    if (preferred.length === 0) return undefined
    return (node) => {
      let sum = 0
      for (const { weight, preference } of preferred) {
        if (matchesTerm(preference, node)) sum += weight
      }
      return sum
    }
  },
}
