/**
 * DefaultPreemption: which pods of lower priority have to go so that a pod fits, with the least harm (upstream:
 * plugins/defaultpreemption, framework/preemption). Pure but for the first node that it tries; the scheduler evicts.
 */
import type { PodDisruptionBudget } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { VictimsByNode } from '../extender.ts'
import { addRejection, newDiagnosis, nodesAvailable } from '../fit-error.ts'
import { checksOf, rejectionBeside } from '../find-node.ts'
import type { FoundRejection } from '../find-node.ts'
import type {
  Eviction,
  FailedAttempt,
  Handle,
  PluginWith,
  PostFilterResult,
  Rejection,
} from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'
import { withPods } from '../snapshot.ts'
import { splitByBudgets } from './disruption-budgets.ts'

/** An eviction that would let the pod fit. */
export interface PreemptionCandidate extends Eviction {
  /** How many of the victims a budget protects. */
  readonly violations: number
}

type Arguments = PluginArguments['DefaultPreemption']
type Budgets = readonly PodDisruptionBudget[]

const notHelpful = 'Preemption is not helpful for scheduling'
const noVictims: Rejection = {
  reasons: ['No preemption victims found for incoming pod'],
  resolvable: false,
}

function startOf({ pod }: PodInfo): string {
  return pod.status?.startTime ?? pod.metadata.creationTimestamp ?? ''
}

/** More important: higher priority, then longer running. */
function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  const [left, right] = [startOf(a), startOf(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** The victims on one node, or why evicting there does not help. */
export function victimsOn(
  node: NodeInfo,
  { pod, snapshot, filters }: FailedAttempt,
  budgets: Budgets,
): PreemptionCandidate | Rejection {
  const lower = [...node.pods.values()].filter((other) => other.priority < pod.priority)
  if (lower.length === 0) return noVictims
  const trial = withPods(node, { removed: lower })
  // Rules between pods depend on who is where, so they are worked out anew for every trial.
  const rejected = (): FoundRejection | undefined => {
    const checks = checksOf(filters, pod, snapshot.withNode(trial))
    return rejectionBeside(filters, pod, { node: trial, snapshot, checks })
  }
  const why = rejected()
  if (why !== undefined) return why.rejection
  // The protected and the most important stay first, as long as the pod still fits beside them.
  const { violating, others } = splitByBudgets(lower.toSorted(byImportance), budgets)
  const victims: PodInfo[] = []
  const reprieve = (candidates: readonly PodInfo[]): number => {
    const before = victims.length
    for (const other of candidates) {
      trial.count(other, 1)
      if (rejected() === undefined) continue
      trial.count(other, -1)
      victims.push(other)
    }
    return victims.length - before
  }
  const violations = reprieve(violating)
  reprieve(others)
  if (victims.length === 0) {
    return {
      reasons: [`expected at least one victim pod on node "${node.name}"`],
      resolvable: true,
    }
  }
  return { nodeName: node.name, victims: victims.toSorted(byImportance), violations }
}

/** The earliest start of the victims of the highest priority. */
function earliestStart({ victims }: Eviction): string {
  const highest = victims[0]?.priority
  const starts = victims.filter(({ priority }) => priority === highest).map(startOf)
  return starts.toSorted()[0] ?? ''
}

/** Negative when `a` does less harm: upstream's order of choice. */
function byHarm(a: PreemptionCandidate, b: PreemptionCandidate): number {
  const highest = ({ victims }: Eviction): number => victims[0]?.priority ?? -Infinity
  const sum = ({ victims }: Eviction): number =>
    victims.reduce((total, { priority }) => total + priority + 2 ** 31, 0)
  const startsLater = (): number => {
    const [left, right] = [earliestStart(a), earliestStart(b)]
    return left > right ? -1 : left < right ? 1 : 0
  }
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.victims.length - b.victims.length ||
    startsLater()
  )
}

/** The candidate that does the least harm; the first of equals. */
export function selectCandidate(
  candidates: readonly PreemptionCandidate[],
): PreemptionCandidate | undefined {
  return candidates.toSorted(byHarm)[0]
}

/** How many candidates are enough. */
function enoughCandidates(nodeCount: number, args: Arguments): number {
  const share = Math.trunc((nodeCount * args.minCandidateNodesPercentage) / 100)
  return Math.min(Math.max(share, args.minCandidateNodesAbsolute), nodeCount)
}

/** Why the pod may not preempt others at all now; undefined when it may. */
function ineligible({ pod, snapshot, diagnosis }: FailedAttempt): string | undefined {
  if (pod.pod.spec?.preemptionPolicy === 'Never')
    return 'not eligible due to preemptionPolicy=Never.'
  const nominated = snapshot.node(pod.pod.status?.nominatedNodeName ?? '')
  // A node that eviction cannot help any more is no reason to wait.
  if (nominated === undefined || !diagnosis.resolvable.includes(nominated.name)) return undefined
  for (const other of nominated.pods.values()) {
    if (other.priority < pod.priority && isBeingPreempted(other)) {
      return 'not eligible due to a terminating pod on the nominated node.'
    }
  }
  return undefined
}

function isBeingPreempted({ pod }: PodInfo): boolean {
  if (pod.metadata.deletionTimestamp === undefined) return false
  const condition = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  return condition?.status === 'True' && condition.reason === 'PreemptionByScheduler'
}

/** Evictions that would let the pod fit, from the node at `offset` on, until there are enough; and why the other nodes offer none. */
export function findCandidates(
  attempt: FailedAttempt,
  about: { readonly args: Arguments; readonly budgets: Budgets; readonly offset: number },
): { readonly candidates: PreemptionCandidate[]; readonly message: string } {
  const { snapshot, diagnosis } = attempt
  const nodes = diagnosis.resolvable.flatMap((name) => snapshot.node(name) ?? [])
  const enough = enoughCandidates(nodes.length, about.args)
  const candidates: PreemptionCandidate[] = []
  const rejected = newDiagnosis(diagnosis.nodeCount)
  let [seen, isHarmless] = [0, false]
  while (seen < nodes.length && !(isHarmless && candidates.length >= enough)) {
    const node = nodes[(about.offset + seen) % nodes.length] as NodeInfo
    seen += 1
    const found = victimsOn(node, attempt, about.budgets)
    if ('reasons' in found) {
      addRejection(rejected, { plugin: '', rejection: found, nodeName: node.name })
      continue
    }
    candidates.push(found)
    isHarmless ||= found.violations === 0
  }
  const hopeless = diagnosis.nodeCount - nodes.length
  if (hopeless > 0) {
    const rejection = { reasons: [notHelpful], resolvable: false }
    addRejection(rejected, { plugin: '', rejection, count: hopeless })
  }
  return { candidates, message: nodesAvailable(diagnosis.nodeCount, rejected.reasons) }
}

/** The candidates that the extenders leave, with the victims that they name. */
async function askExtenders(
  { extenders, log }: Pick<Handle, 'extenders' | 'log'>,
  { pod, snapshot }: FailedAttempt,
  candidates: readonly PreemptionCandidate[],
): Promise<readonly PreemptionCandidate[]> {
  let left: VictimsByNode = new Map(candidates.map((each) => [each.nodeName, each]))
  for (const extender of extenders) {
    if (left.size === 0) break
    if (!extender.preempts || !extender.isInterested(pod)) continue
    try {
      const answered = await extender.preempt(pod, left, (name) => snapshot.node(name))
      const empty = [...answered].find(([, { victims }]) => victims.length === 0)
      if (empty !== undefined && !extender.isIgnorable) {
        throw new Error(`expected at least one victim pod on node "${empty[0]}"`)
      }
      left = new Map([...answered].filter(([, { victims }]) => victims.length > 0))
    } catch (error) {
      if (!extender.isIgnorable) throw error
      log.warn('an extender failed and was skipped', { extender: extender.name, error })
    }
  }
  return [...left].map(([nodeName, { victims, violations }]) => ({
    nodeName,
    victims: victims.toSorted(byImportance),
    violations,
  }))
}

export function defaultPreemption(
  handle: Pick<Handle, 'dialect' | 'informers' | 'extenders' | 'clock' | 'log'>,
  args: Arguments,
): PluginWith<'postFilter'> {
  const { clock } = handle
  const budgets = handle.informers.informer<PodDisruptionBudget>(
    resourcesOf(handle.dialect).podDisruptionBudgets,
  )
  return {
    name: 'DefaultPreemption',
    async postFilter(attempt): Promise<PostFilterResult> {
      const reason = ineligible(attempt)
      if (reason !== undefined) {
        return { ok: false, message: `preemption: ${reason}`, keepsNomination: true }
      }
      const offset = Math.trunc(clock.random() * attempt.diagnosis.resolvable.length)
      const found = findCandidates(attempt, { args, budgets: budgets.list(), offset })
      const left = await askExtenders(handle, attempt, found.candidates)
      const best = selectCandidate(left)
      if (best !== undefined) return { ok: true, eviction: best }
      if (found.candidates.length > 0) {
        const message = 'preemption: no candidate node for preemption'
        return { ok: false, message, keepsNomination: true }
      }
      return { ok: false, message: `preemption: ${found.message}`, keepsNomination: false }
    },
  }
}
