/** What a scheduling plugin is: pure functions of (pod, node, snapshot); no plugin keeps state or does I/O. */
import type { PodInfo } from './pod-info.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'

/** Why a node cannot take a pod, in upstream's words: they are what users see and search for. */
export interface Rejection {
  readonly reasons: readonly string[]
  /** False when removing pods from the node could not help (upstream: UnschedulableAndUnresolvable). */
  readonly resolvable: boolean
}

export interface FilterPlugin {
  /** Upstream's plugin name; messages and requeueing use it. */
  readonly name: string
  /** Undefined when the node can take the pod as far as this plugin is concerned. */
  filter(pod: PodInfo, node: NodeInfo, snapshot: Snapshot): Rejection | undefined
  /**
   * The only nodes that could pass, when the pod itself names them; undefined means all. Nodes outside are not looked
   * at one by one.
   */
  candidates?(pod: PodInfo): ReadonlySet<string> | undefined
}

export interface ScorePlugin {
  readonly name: string
  readonly weight: number
  /** False when the plugin has no preference for this pod; it is then skipped. */
  applies(pod: PodInfo, snapshot: Snapshot): boolean
  /** More is better, within 0..100 when `normalize` is `none`, any non-negative number otherwise. */
  score(pod: PodInfo, node: NodeInfo, snapshot: Snapshot): number
  /** `max` scales so that the best has 100; `reverse` so that the smallest raw value has the most. */
  readonly normalize: 'none' | 'max' | 'reverse'
}

/** What happened in the cluster, as far as it can make a rejected pod fit. */
export type ClusterChange =
  'node-added' | 'node-allocatable' | 'node-labels' | 'node-taints' | 'pod-removed'

/** Which changes can undo a plugin's rejection; an unlisted plugin is retried on every change. */
export const curedBy: Readonly<Record<string, readonly ClusterChange[]>> = {
  NodeUnschedulable: ['node-added', 'node-taints'],
  NodeName: ['node-added'],
  TaintToleration: ['node-added', 'node-taints'],
  NodeAffinity: ['node-added', 'node-labels'],
  NodePorts: ['node-added', 'pod-removed'],
  NodeResourcesFit: ['node-added', 'node-allocatable', 'pod-removed'],
}
