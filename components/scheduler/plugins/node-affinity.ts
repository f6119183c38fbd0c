/**
 * NodeAffinity: nodeSelector and required node affinity decide, preferred node affinity scores; the affinity that the profile
 * adds counts for every pod (upstream: plugins/nodeaffinity).
 */
import type {
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
} from '../../api/generated/types.ts'
import { registered } from '../cluster-event.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { PluginWith, Rejection } from '../plugin.ts'
import { normalizeByHighest, scoreEach } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeLabels } from '../snapshot.ts'
import { nodeLabels } from '../snapshot.ts'

const rejection: Rejection = {
  reasons: ["node(s) didn't match Pod's node affinity/selector"],
  resolvable: false,
}
const enforced: Rejection = {
  reasons: ["node(s) didn't match scheduler-enforced node affinity"],
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
export function matchesTerm(term: NodeSelectorTerm, node: NodeLabels): boolean {
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
  return requiredOf(pod.spec?.affinity?.nodeAffinity)
}

/** Whether nodeSelector or required node affinity rule any node out. */
export function hasNodeAffinity(info: PodInfo): boolean {
  return info.pod.spec?.nodeSelector !== undefined || requiredTerms(info) !== undefined
}

/** True when nodeSelector and required node affinity allow the node. */
export function matchesNodeAffinity(info: PodInfo, node: NodeLabels): boolean {
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

function candidatesOf(pod: PodInfo): ReadonlySet<string> | undefined {
  const terms = requiredTerms(pod)
  if (terms === undefined || terms.length === 0) return undefined
  let all = new Set<string>()
  for (const term of terms) {
    const names = namesIn(term)
    if (names === undefined) return undefined
    all = all.union(names)
  }
  return all
}

function requiredOf(affinity: NodeAffinity | undefined): readonly NodeSelectorTerm[] | undefined {
  return affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
}

function preferredOf(affinity: NodeAffinity | undefined) {
  return affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
}

/** With the affinity that the profile adds to that of every pod. */
export function nodeAffinity({ addedAffinity }: PluginArguments['NodeAffinity'] = {}): PluginWith<
  'filter' | 'candidates' | 'score'
> {
  const added = requiredOf(addedAffinity)
  const matchesAdded = (node: NodeLabels): boolean =>
    added === undefined || added.some((term) => matchesTerm(term, node))
  return {
    name: 'NodeAffinity',
    events: [
      registered('Node', ['Add', 'UpdateNodeLabel'], (pod, { old, now }) => {
        if (now === undefined) return false
        const matches = (labels: NodeLabels): boolean =>
          matchesAdded(labels) && matchesNodeAffinity(pod, labels)
        return matches(nodeLabels(now)) && (old === undefined || !matches(nodeLabels(old)))
      }),
    ],
    filter(pod) {
      if (!hasNodeAffinity(pod) && added === undefined) return undefined
      return (node) => {
        if (!matchesAdded(node)) return enforced
        return matchesNodeAffinity(pod, node) ? undefined : rejection
      }
    },
    candidates: candidatesOf,
    score(pod, nodes) {
      const preferred = [
        ...preferredOf(addedAffinity),
        ...preferredOf(pod.pod.spec?.affinity?.nodeAffinity),
      ]
      if (preferred.length === 0) return undefined
      const sums = scoreEach(nodes, (node) => {
        let sum = 0
        for (const { weight, preference } of preferred) {
          if (matchesTerm(preference, node)) sum += weight
        }
        return sum
      })
      return normalizeByHighest(sums)
    },
  }
}
