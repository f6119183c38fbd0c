/**
 * Plugin: one scheduling plugin and the extension points it takes part in, named as upstream names them (framework/interface.go).
 * Decisions (pre-enqueue, filter, score, post-filter) are pure functions of (pod, cluster, node). Only what a plugin reserves
 * may be kept in memory, and only preBind, bind and unreserve do I/O. There is no Permit: no plugin here waits.
 */
import type { Dialect } from '../api/dialect.ts'
import type { Client } from '../client/client.ts'
import type { InformerFactory } from '../client/informer.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import type { RegisteredEvent } from './cluster-event.ts'
import type { Extender } from './extender.ts'
import type { Diagnosis } from './fit-error.ts'
import type { PlacedTerm, TermSort } from './placed-terms.ts'
import type { PodGroup } from './pod-counts.ts'
import type { PodInfo } from './pod-info.ts'
import type { CompileSelector } from './plugins/dynamic-resources/request-plan.ts'
import type { Namespaces } from './pod-term.ts'
import type { QueuedPod } from './scheduling-queue.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'

/** The cluster as one decision sees it. */
export interface ClusterView extends Namespaces {
  readonly nodes: readonly NodeInfo[]
  node(name: string): NodeInfo | undefined
  /** How many nodes have the image of that name. */
  nodesWithImage(name: string): number
  /** How many pods of the group are on a node. */
  podsOf(group: PodGroup): (node: NodeInfo) => number
  /** The rules that placed pods have about others, each once. */
  termsOf(sort: TermSort): Iterable<PlacedTerm>
}

/** Why a node cannot take a pod, in upstream's words: they are what users see and search for. */
export interface Rejection {
  readonly reasons: readonly string[]
  /** False when removing pods from the node could not help (upstream: UnschedulableAndUnresolvable). */
  readonly resolvable: boolean
}

/** Undefined when the node can take the pod as far as one plugin is concerned. */
export type NodeCheck = (node: NodeInfo) => Rejection | undefined

/** What a plugin set aside for a pod on its node. */
export interface Reservation {
  /** Writes what must be there before the pod is bound, and waits until it is. Rejects when that fails. */
  preBind?(signal: AbortSignal): Promise<void>
  /** Gives back what was set aside: the pod is not bound after all. Called at most once. */
  unreserve(): void
}

export interface Plugin {
  /** Upstream's name; configuration, messages and requeueing use it. */
  readonly name: string
  /** Events that may undo a rejection of this plugin; without any, every event does. */
  readonly events?: readonly RegisteredEvent[]
  /** QueueSort: negative when `a` is tried before `b`. */
  compare?(a: QueuedPod, b: QueuedPod): number
  /** Undefined when the pod may enter the active part of the queue. */
  preEnqueue?(pod: PodInfo): Rejection | undefined
  /**
   * PreFilter and Filter. What holds for this pod everywhere is worked out here, once. Undefined: nothing to check for this pod.
   * A Rejection: no node can take the pod.
   */
  filter?(pod: PodInfo, view: ClusterView): NodeCheck | Rejection | undefined
  /**
   * PreFilterResult: the only nodes that could pass, when the pod itself names them; undefined means all. Nodes outside are not
   * looked at one by one.
   */
  candidates?(pod: PodInfo): ReadonlySet<string> | undefined
  /** Looks for a way to let a rejected pod fit after all; without one the next plugin is asked. Undefined: not of this pod's matter. */
  postFilter?(attempt: FailedAttempt): Promise<PostFilterResult | undefined>
  /** PreScore, Score and NormalizeScore: 0 to 100 for each of these nodes, in their order. Undefined: no preference. */
  score?(pod: PodInfo, nodes: readonly NodeInfo[], view: ClusterView): ArrayLike<number> | undefined
  /** Sets aside what the pod needs on the node it was given. Undefined: nothing. A Rejection: the pod cannot go there after all. */
  reserve?(pod: PodInfo, node: NodeInfo): Reservation | Rejection | undefined
  /** Tells the API server the pod's node. Rejects when that fails. */
  bind?(pod: PodInfo, nodeName: string): Promise<void>
}

/** A pod that no node took. */
export interface FailedAttempt {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly filters: readonly PluginWith<'filter'>[]
  readonly diagnosis: Diagnosis
  /** Change nothing, and tell what a real attempt would. */
  readonly dryRun?: boolean
}

/** Pods that leave a node so that another fits there. */
export interface Eviction {
  readonly nodeName: string
  /** The most important first; never empty. */
  readonly victims: readonly PodInfo[]
}

export type PostFilterResult =
  | { readonly ok: true; readonly eviction: Eviction }
  /** The tail of the pod's message. `keepsNomination`: the node that it was nominated to before stays. */
  | {
      readonly ok: false
      readonly message: string
      readonly keepsNomination: boolean
      /** False: no pod was looked at that could be preempted. */
      readonly isPreemption?: boolean
    }

/** A plugin that takes part in one extension point. */
export type PluginWith<Point extends keyof Plugin> = Plugin & Required<Pick<Plugin, Point>>

/** What the allocation of devices needs besides objects. */
export interface DeviceSupport {
  readonly compile: CompileSelector
  /** The gate DRAAdminAccess. */
  readonly allowsAdminAccess: boolean
}

/** What plugins are made with (upstream: framework.Handle). */
export interface Handle {
  readonly dialect: Dialect
  readonly client: Client
  /** Caches of other kinds. An informer that is asked for while plugins are made is filled before the first decision. */
  readonly informers: Pick<InformerFactory, 'informer'>
  readonly namespaces: Namespaces
  readonly extenders: readonly Extender[]
  /** Undefined while the gate DynamicResourceAllocation is off. */
  readonly devices?: DeviceSupport | undefined
  readonly clock: Clock
  readonly log: Log
}

/** One score for each node, in their order. */
export function scoreEach(
  nodes: readonly NodeInfo[],
  score: (node: NodeInfo) => number,
): Float64Array {
  const scores = new Float64Array(nodes.length)
  for (let index = 0; index < nodes.length; index++) scores[index] = score(nodes[index] as NodeInfo)
  return scores
}

/** Brings raw scores to 0..100 in place: the highest gets 100, or, reversed, 0 (upstream: helper.DefaultNormalizeScore). */
export function normalizeByHighest(scores: Float64Array, isReversed = false): Float64Array {
  let highest = 0
  for (const score of scores) if (score > highest) highest = score
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index] as number
    const share = highest === 0 ? 0 : Math.trunc((score * 100) / highest)
    scores[index] = isReversed ? 100 - share : share
  }
  return scores
}
