/** Nodes that are not Ready, under pressure, or closed to new pods. */
import type { Node } from '../../../components/api/generated/types.ts'
import { conditionOf, conditionSeen, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import type { Related } from '../related.ts'

function readyFinding(node: Node, related: Related): Finding | undefined {
  const ready = conditionOf(node, 'Ready')
  if (ready?.status === 'True') return undefined
  const { name } = node.metadata
  const isSilent = ready === undefined || ready.status === 'Unknown'
  return {
    cause: isSilent ? 'NodeStatusUnknown' : 'NodeNotReady',
    message: sentence(
      isSilent
        ? `The agent of the node has not reported for a while: ${ready?.message || 'it never did'}`
        : `The agent reports that the node is not ready: ${ready.message || ready.reason || 'it does not say why'}`,
    ),
    evidence: [
      ...(ready === undefined ? [] : [conditionSeen(node, ready)]),
      ...eventsSeen(related, node, ['NodeNotReady', 'NodeNotSchedulable', 'Starting', 'Rebooted']),
    ],
    next: [
      ...(isSilent
        ? ['see whether its agent runs: skiff status', `start it: skiff restart ${name}`]
        : ['correct what the condition names']),
      `read the log of the agent: skiff logs ${name}`,
    ],
  }
}

/** What to do about conditions that are bad when True; others are of agents that the cluster does not know. */
const pressureAdvice: Readonly<Record<string, string>> = {
  MemoryPressure: 'let its pods use less, or move some to other nodes',
  DiskPressure: 'let its pods use less, or move some to other nodes',
  PIDPressure: 'let its pods use less, or move some to other nodes',
  NetworkUnavailable: 'check that the network plugin of the node runs',
}

function pressureFindings(node: Node): Finding[] {
  const conditions = node.status?.conditions ?? []
  const bad = conditions.filter(({ type, status }) => type !== 'Ready' && status === 'True')
  return bad.map((condition) => ({
    cause: condition.type,
    message: sentence(
      `The node reports ${condition.type}${condition.message ? `: ${condition.message}` : ''}`,
    ),
    evidence: [conditionSeen(node, condition)],
    next: [pressureAdvice[condition.type] ?? 'correct what the condition names'],
  }))
}

function cordonFinding(node: Node): Finding | undefined {
  if (node.spec?.unschedulable !== true) return undefined
  return {
    cause: 'Cordoned',
    message: 'The node is cordoned: it takes no new pods.',
    evidence: [seen(node, 'spec.unschedulable is true')],
    next: [`open it again: kubectl uncordon ${node.metadata.name}`],
  }
}

function explainNode(node: Node, related: Related): Finding[] {
  const found = [readyFinding(node, related), ...pressureFindings(node), cordonFinding(node)]
  return found.filter((one) => one !== undefined)
}

export const node = defineExplainer<Node>({
  needs: (object) => [eventsNeed(object)],
  explain: explainNode,
  state: (object) => {
    const ready = conditionOf(object, 'Ready')
    const taints = (object.spec?.taints ?? []).map(
      ({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`,
    )
    const tainted = taints.length === 0 ? '' : `, with the taints ${taints.join(', ')}`
    const word = ready?.status === 'True' ? 'Ready' : 'not Ready'
    return `${word} since ${ready?.lastTransitionTime ?? 'an unknown time'}${tainted}`
  },
})
