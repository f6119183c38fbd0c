/** The pods of a workload: which are not ready and why, and why some were not created. Pure. */
import type { Pod } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { controllerOf } from '../../components/machinery/objects/object.ts'
import {
  labelSelectorFrom,
  matchesLabels,
} from '../../components/machinery/selectors/label-selector.ts'
import { conditionOf, eventsAbout, eventsSeen, seen, timeOf, type AnyObject } from './evidence.ts'
import type { Evidence, Finding } from './finding.ts'
import { podFindings } from './kinds/pod.ts'
import { countText, listText, objectText } from './names.ts'
import { quotasWithoutRoom } from './quota-room.ts'
import type { Related } from './related.ts'
import { terminatingFindings } from './terminating.ts'

/** Of so many pods with the same trouble the evidence is shown; the others are counted. */
const mostPods = 2

export function podsOf(owner: AnyObject, { pods }: Related): Pod[] {
  return pods.filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid)
}

const isDone = ({ status }: Pod): boolean => status?.phase === 'Succeeded'

/** Pods that neither are ready nor have succeeded. */
export function troubledPods(pods: readonly Pod[]): Pod[] {
  return pods.filter((pod) => !isDone(pod) && conditionOf(pod, 'Ready')?.status !== 'True')
}

function findingsOf(pod: Pod, related: Related): Finding[] {
  return pod.metadata.deletionTimestamp === undefined
    ? podFindings(pod, related)
    : terminatingFindings(pod, related)
}

/** Leads on to one of the pods, unless a step does so already. */
function withMore(next: readonly string[], command: string): string[] {
  return next.some((step) => step.endsWith(command)) ? [...next] : [...next, `see more: ${command}`]
}

/** What is wrong with the pods, one finding for each cause, the most frequent first. */
export function podsFindings(pods: readonly Pod[], related: Related): Finding[] {
  const groups = new Map<string, { pods: Pod[]; findings: Finding[] }>()
  for (const pod of troubledPods(pods)) {
    for (const finding of findingsOf(pod, related)) {
      const group = groups.get(finding.cause) ?? { pods: [], findings: [] }
      group.pods.push(pod)
      group.findings.push(finding)
      groups.set(finding.cause, group)
    }
  }
  const sorted = [...groups.values()].toSorted((a, b) => b.pods.length - a.pods.length)
  return sorted.map((group) => {
    const [first] = group.findings as [Finding]
    const [pod] = group.pods as [Pod]
    const names = group.pods.map(({ metadata }) => metadata.name ?? '')
    const all = countText(pods.length, 'pod')
    return {
      cause: first.cause,
      message: `${group.pods.length} of ${all} (${listText(names)}): ${first.message}`,
      evidence: group.findings.slice(0, mostPods).flatMap(({ evidence }) => evidence),
      next: withMore(first.next, `skiff why ${objectText(pod)}`),
    }
  })
}

/** The owner could not create pods; undefined without an event that says so. `related` holds the quotas of its namespace alone. */
export function creationFinding(owner: KubeObject, related: Related): Finding | undefined {
  const reasons = ['FailedCreate']
  const [newest] = eventsAbout(related, owner, reasons)
  const [success] = eventsAbout(related, owner, ['SuccessfulCreate'])
  if (newest === undefined) return undefined
  // What failed before works again.
  if (success !== undefined && Date.parse(timeOf(success)) > Date.parse(timeOf(newest)))
    return undefined
  const quotas = quotasWithoutRoom(owner['spec']?.template, related)
  return {
    cause: quotas.length > 0 ? 'QuotaFull' : 'PodsNotCreated',
    message: `${owner.kind} ${owner.metadata.name} could not create a pod: ${newest.message}`,
    evidence: [...eventsSeen(related, owner, reasons), ...quotas],
    next:
      quotas.length > 0
        ? [
            ...quotas.map(
              ({ object }) =>
                `raise the quota, or delete what uses it: skiff why quota ${object.name} -n ${object.namespace}`,
            ),
            // Webhooks and policies are asked before quotas: what they deny is denied whatever the quota says.
            'correct whatever else the event names; the controller tries again',
          ]
        : ['correct what the event names; the controller tries again'],
  }
}

/** Budgets that select some of the pods and allow no disruption: a drain of their nodes waits. */
export function budgetsSeen(pods: readonly Pod[], related: Related): Evidence[] {
  return related.podDisruptionBudgets.flatMap((budget) => {
    const selector = labelSelectorFrom(budget.spec?.selector)
    const selects = pods.some(({ metadata }) => matchesLabels(selector, metadata.labels))
    if (!selects || (budget.status?.disruptionsAllowed ?? 0) > 0) return []
    const text = 'allows no disruption now: evicting these pods, as a drain does, is denied'
    return [seen(budget, text)]
  })
}

/** The controller has not seen the newest specification. Without a name it is one that the cluster does not know. */
export function unseenFinding(object: KubeObject, controller?: string): Finding | undefined {
  const { generation = 0 } = object.metadata
  const observed = Number(object['status']?.observedGeneration ?? 0)
  if (observed >= generation) return undefined
  const who = controller === undefined ? 'controller of the kind' : `${controller} controller`
  return {
    cause: 'NotObserved',
    message: `The ${who} has not yet acted on generation ${generation} of the object.`,
    evidence: [seen(object, `status.observedGeneration is ${observed}`)],
    next: [
      controller === undefined
        ? `check that what acts on ${object.kind} objects runs, and what it logs`
        : 'check that the controller manager runs: skiff status',
    ],
  }
}
