/**
 * NodeAffinity: nodeSelector and required node affinity decide, preferred node affinity scores; the affinity that the profile
 * adds counts for every pod (upstream: plugins/nodeaffinity).
 */
import type { NodeAffinity, NodeSelectorTerm } from '../../api/generated/types.ts'
import {
  matchesNodeTerm,
  matchesRequiredNodes,
  requiredNodeTerms,
} from '../../api/node-selection.ts'
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

/** Whether nodeSelector or required node affinity rule any node out. */
export function hasNodeAffinity(info: PodInfo): boolean {
  return info.pod.spec?.nodeSelector !== undefined || requiredNodeTerms(info.pod.spec) !== undefined
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
  const terms = requiredNodeTerms(pod.pod.spec)
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
    added === undefined || added.some((term) => matchesNodeTerm(term, node))
  return {
    name: 'NodeAffinity',
    events: [
      registered('Node', ['Add', 'UpdateNodeLabel'], (pod, { old, now }) => {
        if (now === undefined) return false
        const matches = (labels: NodeLabels): boolean =>
          matchesAdded(labels) && matchesRequiredNodes(pod.pod.spec, labels)
        return matches(nodeLabels(now)) && (old === undefined || !matches(nodeLabels(old)))
      }),
    ],
    filter(pod) {
      if (!hasNodeAffinity(pod) && added === undefined) return undefined
      return (node) => {
        if (!matchesAdded(node)) return enforced
        return matchesRequiredNodes(pod.pod.spec, node) ? undefined : rejection
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
          if (matchesNodeTerm(preference, node)) sum += weight
        }
        return sum
      })
      return normalizeByHighest(sums)
    },
  }
}
