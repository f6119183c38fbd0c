/**
 * A StatefulSet identity (namespace and ordinal name) has one live pod at most. A pod lives from its creation until its agent
 * has reported its containers' end: a pod that is removed while they run is alive, and its successor is a second one.
 */
import type { Node, Pod } from '../../components/api/generated/types.ts'
import type { Change } from '../change.ts'
import { isOf, nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

interface Identified {
  readonly uid: string
  readonly text: string
  readonly revision: number
}

/** The set's uid and the ordinal; undefined for pods of anything else. */
function identityOf({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner?.kind !== 'StatefulSet') return undefined
  const { namespace = '', name = '' } = metadata
  const ordinal = /-(\d+)$/.exec(name)?.[1]
  return ordinal === undefined ? undefined : `${namespace}/${owner.name}-${ordinal}`
}

function runs({ status }: Pod): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false
  return (status?.containerStatuses ?? []).some(({ state }) => state?.running !== undefined)
}

const isOutOfService = ({ spec }: Node): boolean =>
  (spec?.taints ?? []).some(({ key }) => key.endsWith('/out-of-service'))

export function statefulIdentity(): Required<Pick<Rule, 'take'>> {
  const living = new Map<string, Map<string, Identified>>()
  const nodes = new Map<string, Node>()

  /** Whether the pod's containers may go on after its removal, and nobody has asked for that. */
  const outlives = (pod: Pod): boolean => {
    const node = nodes.get(pod.spec?.nodeName ?? '')
    const hasTime = pod.spec?.terminationGracePeriodSeconds !== 0
    return hasTime && runs(pod) && node !== undefined && !isOutOfService(node)
  }
  const takePod = (change: Change, identity: string): Finding[] => {
    const pod = change.object as Pod
    const uid = uidOf(pod)
    const pods = living.get(identity) ?? new Map<string, Identified>()
    living.set(identity, pods)
    const isOver =
      change.type === 'DELETED'
        ? !outlives(pod)
        : ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
    if (isOver) {
      pods.delete(uid)
      if (pods.size === 0) living.delete(identity)
      return []
    }
    if (pods.has(uid)) return []
    pods.set(uid, { uid, text: nameOf(change), revision: change.revision })
    const others = [...pods.values()].filter((other) => other.uid !== uid)
    // Told once; what follows is judged against the new pod.
    for (const other of others) pods.delete(other.uid)
    return others.map((other) =>
      findingOf(
        change,
        `${nameOf(change)} lives since revision ${change.revision} beside ${other.text} of revision ${other.revision}`,
        [String(other.revision)],
      ),
    )
  }
  const takeNode = ({ type, object }: Change): void => {
    const name = object.metadata.name ?? ''
    if (type !== 'DELETED') nodes.set(name, object as Node)
    else nodes.delete(name)
  }
  return {
    take: (change) => {
      if (isOf(change, 'nodes')) takeNode(change)
      if (!isOf(change, 'pods')) return []
      const identity = identityOf(change.object as Pod)
      return identity === undefined ? [] : takePod(change, identity)
    },
  }
}
