/** The part of extenders in the choice of a node (upstream: schedule_one.go, findNodesThatPassExtenders, prioritizeNodes). */
import type { Log } from '../component-base/log.ts'
import type { Extender } from './extender.ts'
import { addRejection } from './fit-error.ts'
import type { Feasible } from './find-node.ts'
import { chooseNode, totalScores } from './find-node.ts'
import type { ClusterView } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { NodeInfo } from './snapshot.ts'

/** What a pod waits for when an extender rejected nodes: any event, since no plugin of this name registers any. */
const extenderName = 'Extender'

/** The nodes that every interested extender leaves; the diagnosis learns why of the others. Rejects when one that may not fail fails. */
export async function filterByExtenders(
  extenders: readonly Extender[],
  { pod, log }: { readonly pod: PodInfo; readonly log: Log },
  { nodes, diagnosis }: Feasible,
): Promise<NodeInfo[]> {
  let left = nodes
  for (const extender of extenders) {
    if (left.length === 0) break
    if (!extender.filters || !extender.isInterested(pod)) continue
    try {
      const { nodes: kept, failed, unresolvable } = await extender.filter(pod, left)
      for (const [nodeName, reason] of unresolvable) {
        const rejection = { reasons: [reason], resolvable: false }
        addRejection(diagnosis, { plugin: extenderName, rejection, nodeName })
      }
      for (const [nodeName, reason] of failed) {
        if (unresolvable.has(nodeName)) continue
        const rejection = { reasons: [reason], resolvable: true }
        addRejection(diagnosis, { plugin: extenderName, rejection, nodeName })
      }
      if (kept.length < left.length) diagnosis.rejectedBy.add(extenderName)
      left = kept
    } catch (error) {
      if (!extender.isIgnorable) throw error
      log.warn('an extender failed and was skipped', { extender: extender.name, error })
    }
  }
  return left
}

/** The best node by the scores of plugins and extenders; an extender that fails adds nothing. */
export async function chooseWithExtenders(
  extenders: readonly Extender[],
  about: {
    readonly profile: Profile
    readonly pod: PodInfo
    readonly view: ClusterView
    readonly log: Log
    /** Counts the extenders that are being asked. */
    readonly during?: <T>(run: () => Promise<T>) => Promise<T>
  },
  nodes: readonly NodeInfo[],
): Promise<NodeInfo> {
  const { profile, pod, view, log, during = (run) => run() } = about
  if (nodes.length === 1) return nodes[0] as NodeInfo
  const totals = totalScores(profile, { pod, nodes, view })
  const interested = extenders.filter((each) => each.prioritizes && each.isInterested(pod))
  const scores = await Promise.all(
    interested.map(async (extender) => {
      try {
        return await during(() => extender.prioritize(pod, nodes))
      } catch (error) {
        log.warn('the scores of an extender were left out', { extender: extender.name, error })
        return new Map<string, number>()
      }
    }),
  )
  const sums = totals.map((total, index) => {
    const { name } = nodes[index] as NodeInfo
    return scores.reduce((sum, added) => sum + (added.get(name) ?? 0), total)
  })
  return chooseNode(nodes, sums)
}
