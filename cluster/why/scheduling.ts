/** Scheduling: why a pod has no node, from what the scheduler answered about it, else from what its conditions say. Pure. */
import type { Pod } from '../../components/api/generated/types.ts'
import type {
  ExplainedScore,
  FittingNode,
  PodExplanation,
  RefusedNode,
} from '../../components/api/pod-explanation.ts'
import { conditionOf, conditionsSeen, eventsSeen, nameOf, seen } from './evidence.ts'
import type { Evidence, Finding } from './finding.ts'
import { countText, listText, objectText, sentence } from './names.ts'
import type { Related } from './related.ts'
import { refusedNodes, schedulingAdvice } from './scheduling-advice.ts'

/** As many nodes that fit as are shown with their scores, the best first. */
const mostScored = 5

function scoreText({ plugin, score, weight }: ExplainedScore): string {
  return weight === 1 ? `${plugin} ${score}` : `${plugin} ${score} x ${weight}`
}

/** `cpu: needs 8, 3500m left`; only where it is one node, or the same on all. */
function shortageText(nodes: readonly RefusedNode[]): string {
  const texts = new Set(
    nodes.map(({ shortages = [] }) =>
      shortages
        .map(({ resource, requested, free }) => `${resource}: needs ${requested}, ${free} left`)
        .join(', '),
    ),
  )
  const [only = ''] = texts
  return texts.size === 1 && only !== '' ? ` (${only})` : ''
}

/** The refused nodes by the deciding plugin and its reasons, the largest group first. */
function refusalsSeen(pod: Pod, nodes: readonly RefusedNode[]): Evidence[] {
  const groups = new Map<string, RefusedNode[]>()
  for (const node of nodes) {
    const verdicts = [node, ...(node.others ?? [])]
    const text = verdicts
      .map(({ plugin, reasons }) => `${plugin}: ${reasons.join(', ')}`)
      .join('; ')
    groups.set(text, [...(groups.get(text) ?? []), node])
  }
  return [...groups]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([text, group]) => {
      const names = listText(group.map(({ node }) => node))
      const where = `${countText(group.length, 'node')} (${names})`
      return {
        source: 'scheduler',
        object: nameOf(pod),
        text: `${where}: ${text}${shortageText(group)}`,
      }
    })
}

function scoresSeen(pod: Pod, nodes: readonly FittingNode[]): Evidence[] {
  const best = nodes.toSorted((a, b) => b.total - a.total).slice(0, mostScored)
  return best.map(({ node, total, scores }) => ({
    source: 'scheduler',
    object: nameOf(pod),
    text: `${node} fits, with a score of ${total}: ${scores.map(scoreText).join(', ')}`,
  }))
}

function gatedFinding(gates: readonly string[], evidence: readonly Evidence[]): Finding {
  return {
    cause: 'SchedulingGated',
    message: `The pod waits for scheduling gates: ${gates.join(', ')}.`,
    evidence,
    next: [
      'let the owner of each gate remove it from spec.schedulingGates; the scheduler looks at the pod then',
    ],
  }
}

const gatesOf = ({ spec }: Pod): string[] => (spec?.schedulingGates ?? []).map(({ name }) => name)

/** A plugin keeps the pod out of the queue: its gates, or what it asks for and is not there yet. */
function notQueued(
  pod: Pod,
  { plugin, reasons }: NonNullable<PodExplanation['gatedBy']>,
  history: readonly Evidence[],
): Finding {
  const gates = gatesOf(pod)
  if (gates.length > 0) return gatedFinding(gates, history)
  const text = `${plugin}: ${reasons.join(', ')}`
  return {
    cause: 'NotQueued',
    message: sentence(`The scheduler does not try the pod yet: ${text}`),
    evidence: [{ source: 'scheduler', object: nameOf(pod), text }, ...history],
    next: [
      plugin === 'DynamicResources'
        ? `see the claims of the pod, and what makes them: kubectl get resourceclaims -n ${pod.metadata.namespace}`
        : `change what ${plugin} checks`,
    ],
  }
}

function answeredFinding(pod: Pod, explanation: PodExplanation, related: Related): Finding {
  const { schedulerName, profiles, gatedBy, nodes, chosen, preemption } = explanation
  const history = historyOf(pod, related)
  if (profiles !== undefined) return unknownScheduler(pod, schedulerName, profiles)
  if (gatedBy !== undefined) return notQueued(pod, gatedBy, history)
  const fitting = nodes.filter((one) => one.fits)
  const refused = refusedNodes(nodes)
  const evidence = [...scoresSeen(pod, fitting), ...refusalsSeen(pod, refused), ...history]
  if (chosen !== undefined) {
    return {
      cause: 'NotTriedAgain',
      message: `The pod fits on ${chosen} now; the scheduler has not tried it again yet.`,
      evidence,
      next: [
        'wait: the scheduler tries a pod again after a change that may help, at the latest after 5 minutes',
      ],
    }
  }
  const next = schedulingAdvice(pod, explanation, related)
  const none =
    nodes.length === 0
      ? 'There are no nodes.'
      : `None of ${countText(nodes.length, 'node')} can take the pod.`
  const evicted =
    preemption === undefined
      ? ''
      : ` Preemption would evict ${listText(preemption.victims)} from ${preemption.node}.`
  return {
    cause: 'Unschedulable',
    message: `${none}${evicted}`,
    evidence,
    next,
  }
}

/** What the scheduler reported before; the pod itself when it reported nothing. */
function historyOf(pod: Pod, related: Related): Evidence[] {
  const reported = [
    ...conditionsSeen(pod, 'PodScheduled'),
    ...eventsSeen(related, pod, ['FailedScheduling']),
  ]
  return reported.length > 0 ? reported : [seen(pod, 'spec.nodeName is empty')]
}

function unknownScheduler(pod: Pod, schedulerName: string, profiles: readonly string[]): Finding {
  return {
    cause: 'UnknownScheduler',
    message: `The pod is for the scheduler "${schedulerName}", and no scheduler of that name takes pods here.`,
    evidence: [
      {
        source: 'scheduler',
        object: nameOf(pod),
        text: `the scheduler takes pods for ${profiles.join(', ')}`,
      },
    ],
    next: [
      `create the pod anew with schedulerName: ${profiles[0] ?? 'default-scheduler'}, run a scheduler of that name, or add a profile for it`,
    ],
  }
}

/** Without the scheduler's answer: what it reported before. */
function reportedFinding(pod: Pod, related: Related): Finding {
  const condition = conditionOf(pod, 'PodScheduled')
  const evidence = historyOf(pod, related)
  const gates = gatesOf(pod)
  if (gates.length > 0) return gatedFinding(gates, evidence)
  if (condition?.status === 'False') {
    return {
      cause: condition.reason || 'Unschedulable',
      message: sentence(
        `No node can take the pod${condition.message ? `: ${condition.message}` : ''}`,
      ),
      evidence,
      next: [`ask the scheduler about it: skiff why ${objectText(pod)}`],
    }
  }
  const schedulerName = pod.spec?.schedulerName || 'default-scheduler'
  return {
    cause: 'NotYetScheduled',
    message: `The scheduler "${schedulerName}" has not reported anything about the pod.`,
    evidence,
    next: ['check that a scheduler of that name runs: skiff status'],
  }
}

/** Why a pod without a node has none. */
export function schedulingFinding(pod: Pod, related: Related): Finding {
  const { scheduler } = related
  if (scheduler?.kind === 'answered') return answeredFinding(pod, scheduler.explanation, related)
  const reported = reportedFinding(pod, related)
  if (scheduler?.kind !== 'silent' || reported.cause === 'SchedulingGated') return reported
  const { evidence } = reported
  return {
    cause: 'SchedulerNotRunning',
    message: `The scheduler does not answer: ${scheduler.why}. No pod gets a node until it does.`,
    evidence,
    next: [
      'see its state: skiff status',
      'restart it: skiff restart scheduler',
      'read its log: skiff logs scheduler',
    ],
  }
}
