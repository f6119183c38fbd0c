/**
 * A Job index has one pod at a time: two pods of one index, of which neither has ended or is being deleted, do its work twice. A pod that
 * is being deleted may run beside its successor (podReplacementPolicy TerminatingOrFailed).
 */
import type { Pod } from '../../components/api/generated/types.ts'
import { controllerOf } from '../../components/machinery/objects/object.ts'
import type { Change } from '../change.ts'
import { isOf, nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** `uid of the Job/index`; undefined for pods of anything else. */
function indexOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod)
  if (owner?.kind !== 'Job') return undefined
  const found = Object.entries(pod.metadata.annotations ?? {}).find(([name]) =>
    name.endsWith('/job-completion-index'),
  )
  return found === undefined ? undefined : `${owner.uid}/${found[1]}`
}

export function jobIndex(): Required<Pick<Rule, 'take'>> {
  const working = new Map<string, Map<string, Change>>()
  return {
    take: (change): Finding[] => {
      if (!isOf(change, 'pods')) return []
      const pod = change.object as Pod
      const index = indexOf(pod)
      if (index === undefined) return []
      const uid = uidOf(pod)
      const pods = working.get(index) ?? new Map<string, Change>()
      const hasEnded =
        change.type === 'DELETED' ||
        pod.metadata.deletionTimestamp !== undefined ||
        ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
      if (hasEnded) {
        pods.delete(uid)
        if (pods.size === 0) working.delete(index)
        return []
      }
      working.set(index, pods)
      const isKnown = pods.has(uid)
      pods.set(uid, change)
      if (isKnown) return []
      const others = [...pods.values()].filter(({ object }) => uidOf(object) !== uid)
      return others.map((other) => {
        const number = index.slice(index.lastIndexOf('/') + 1)
        const text = `${nameOf(change)} of revision ${change.revision} and ${nameOf(other)} of revision ${other.revision} both work on index ${number} of Job ${controllerOf(pod)?.name}`
        return findingOf(change, text, [String(other.revision)])
      })
    },
  }
}
