/**
 * What one look at a StatefulSet asks for, stage by stage (upstream: stateful_set_control.go updateStatefulSet). Pure.
 *
 * Ordered management does the first thing that is to be done and waits for its effect; parallel management does everything
 * at once, but rolls out one pod at a time like the other.
 */
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts'
import { share } from '../deployment/replica-math.ts'
import { availableInMs, isReady, isTerminal } from '../pod-state.ts'
import type { OwnerKinds } from './claim-owners.ts'
import { deletesWhenScaled, hasFormerOwner, isOwnershipRight } from './claim-owners.ts'
import type { IdentityKeys } from './identity.ts'
import {
  claimsFor,
  hasIdentity,
  hasStorage,
  isInRange,
  ordinalOf,
  podNameOf,
  podRevision,
  replicasOf,
  startOrdinal,
} from './identity.ts'

export type Step =
  /** Creates the pod of the ordinal, its claims before it. */
  | { readonly act: 'create'; readonly ordinal: number }
  /** Creates claims that a pending pod waits for, and sets their owners. */
  | { readonly act: 'claims'; readonly ordinal: number; readonly pod: Pod }
  /** Puts identity, storage and owners of claims right. */
  | { readonly act: 'repair'; readonly ordinal: number; readonly pod: Pod }
  /** Sets the owners of the claims of a pod that is scaled away. */
  | { readonly act: 'retain'; readonly ordinal: number; readonly pod: Pod }
  | { readonly act: 'delete'; readonly ordinal: number; readonly pod: Pod }

export interface Plan {
  /** A stage starts when the one before it went well; the steps of one stage do not depend on each other. */
  readonly stages: readonly (readonly Step[])[]
  /** The deletions of the last stage make room for pods of the new revision. */
  readonly replaced: number
}

export interface PlanFacts {
  readonly set: StatefulSet
  /** The set's own pods. */
  readonly pods: readonly Pod[]
  readonly claim: (name: string) => PersistentVolumeClaim | undefined
  /** Name of the revision to update to. */
  readonly updateRevision: string
  readonly keys: IdentityKeys
  readonly kinds: OwnerKinds
  readonly nowMs: number
  /** The gate MaxUnavailableStatefulSet. */
  readonly honorsMaxUnavailable: boolean
}

/** A pod that is there, or is to be. */
interface Replica {
  readonly ordinal: number
  readonly pod: Pod | undefined
}

interface Member extends Replica {
  readonly pod: Pod
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isReady(pod)
}

function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined
}

function isHealthy({ pod }: Replica): boolean {
  return pod !== undefined && isRunningAndReady(pod) && !isTerminating(pod)
}

function isAvailable({ set, nowMs }: PlanFacts, pod: Pod): boolean {
  return availableInMs(pod, set.spec?.minReadySeconds ?? 0, nowMs) === 0
}

/** Those that the set wants, by ordinal, and those that it has too many, highest ordinal first. */
function partition({ set, pods }: PlanFacts): { wanted: Replica[]; condemned: Member[] } {
  const byOrdinal = new Map<number, Pod>()
  const condemned: Member[] = []
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod)
    if (ordinal === undefined) continue
    if (isInRange(set, ordinal)) byOrdinal.set(ordinal, pod)
    else condemned.push({ ordinal, pod })
  }
  const start = startOrdinal(set)
  const wanted = Array.from({ length: replicasOf(set) }, (_, index) => ({
    ordinal: start + index,
    pod: byOrdinal.get(start + index),
  }))
  return { wanted, condemned: condemned.toSorted((a, b) => b.ordinal - a.ordinal) }
}

/** A claim of a pod that was scaled away waits for the garbage collector: the pod must not come back with its data. */
function hasStaleClaim({ set, claim, kinds }: PlanFacts, ordinal: number): boolean {
  if (!deletesWhenScaled(set)) return false
  const pod = { metadata: { name: podNameOf(set, ordinal) } }
  return claimsFor(set, ordinal).some(({ metadata: { name = '' } }) => {
    const found = claim(name)
    return found !== undefined && hasFormerOwner(found, pod, kinds.pods)
  })
}

function hasRightOwners({ set, claim, kinds }: PlanFacts, ordinal: number, pod: Pod): boolean {
  return claimsFor(set, ordinal).every(({ metadata: { name = '' } }) => {
    const found = claim(name)
    return found === undefined || isOwnershipRight(found, { set, pod, kinds })
  })
}

function lacksClaims({ set, claim }: PlanFacts, ordinal: number): boolean {
  return claimsFor(set, ordinal).some(({ metadata: { name = '' } }) => {
    const found = claim(name)
    return found === undefined || found.metadata.deletionTimestamp !== undefined
  })
}

/** What one wanted replica needs, and whether ordered management has to wait for it. */
function stepsFor(facts: PlanFacts, { ordinal, pod }: Replica): { steps: Step[]; waits: boolean } {
  const { set, keys } = facts
  if (pod === undefined) {
    return hasStaleClaim(facts, ordinal)
      ? { steps: [], waits: true }
      : { steps: [{ act: 'create', ordinal }], waits: true }
  }
  // A pod that ended, however it ended, is made anew once it is gone.
  if (isTerminal(pod)) {
    return {
      steps: isTerminating(pod) ? [] : [{ act: 'delete', ordinal, pod }],
      waits: true,
    }
  }
  const steps: Step[] = []
  const isPending = (pod.status?.phase ?? 'Pending') === 'Pending'
  const isRight = hasRightOwners(facts, ordinal, pod)
  if (isPending && (lacksClaims(facts, ordinal) || !isRight))
    steps.push({ act: 'claims', ordinal, pod })
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel'
  const isUp = isRunningAndReady(pod) && isAvailable(facts, pod)
  if (isOrdered && (isTerminating(pod) || !isUp)) return { steps, waits: true }
  if (!hasIdentity(pod, keys) || !hasStorage(set, ordinal, pod) || (!isRight && steps.length === 0))
    steps.push({ act: 'repair', ordinal, pod })
  return { steps, waits: false }
}

function deletionOf({ ordinal, pod }: Member): Step {
  return { act: 'delete', ordinal, pod }
}

/** The pods to scale away now. Ordered management takes one, and only while all others are up. */
function scaledAway(
  facts: PlanFacts,
  condemned: readonly Member[],
  firstUnhealthy: Replica | undefined,
): Step[] {
  const isOrdered = facts.set.spec?.podManagementPolicy !== 'Parallel'
  const [next] = condemned
  if (!isOrdered) return condemned.filter(({ pod }) => !isTerminating(pod)).map(deletionOf)
  if (next === undefined || isTerminating(next.pod)) return []
  const isUp = isRunningAndReady(next.pod) && isAvailable(facts, next.pod)
  return isUp || next === firstUnhealthy ? [deletionOf(next)] : []
}

/** The pods to replace by ones of the new revision now, highest ordinal first, none below the partition. */
function toReplace(facts: PlanFacts, wanted: readonly Replica[]): Step[] {
  const { set, updateRevision, honorsMaxUnavailable } = facts
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  if (type === 'OnDelete') return []
  const descending = wanted.slice(rollingUpdate?.partition ?? 0).toReversed()
  const isOld = (replica: Replica): replica is Member => {
    const { pod } = replica
    if (pod === undefined || isTerminating(pod) || isTerminal(pod)) return false
    return podRevision(pod) !== updateRevision
  }
  if (honorsMaxUnavailable) {
    const most = share(rollingUpdate?.maxUnavailable ?? 1, wanted.length, Math.floor)
    const room = Math.max(1, most) - wanted.filter((replica) => !isHealthy(replica)).length
    return descending.filter(isOld).slice(0, Math.max(0, room)).map(deletionOf)
  }
  const next = descending.find((replica) => isOld(replica) || !isHealthy(replica))
  return next !== undefined && isOld(next) ? [deletionOf(next)] : []
}

export function planOf(facts: PlanFacts): Plan {
  const isOrdered = facts.set.spec?.podManagementPolicy !== 'Parallel'
  const { wanted, condemned } = partition(facts)
  const stages: Step[][] = []
  for (const replica of wanted) {
    const { steps, waits } = stepsFor(facts, replica)
    if (isOrdered) for (const step of steps) stages.push([step])
    else (stages[0] ??= []).push(...steps)
    if (isOrdered && waits) return { stages, replaced: 0 }
  }
  const firstUnhealthy =
    wanted.find((replica) => !isHealthy(replica)) ??
    condemned.findLast((replica) => !isHealthy(replica))
  stages.push(
    condemned.flatMap(({ ordinal, pod }): Step[] =>
      hasRightOwners(facts, ordinal, pod) ? [] : [{ act: 'retain', ordinal, pod }],
    ),
    scaledAway(facts, condemned, firstUnhealthy),
  )
  if (isOrdered && condemned.length > 0) return { stages, replaced: 0 }
  const replaced = toReplace(facts, wanted)
  return { stages: [...stages, replaced], replaced: replaced.length }
}
