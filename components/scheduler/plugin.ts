/** The interface of a scheduling plugin: pure functions of (pod, cluster, node); no plugin keeps state or does I/O. */
import type { PodInfo } from './pod-info.ts'
import type { NodeInfo } from './snapshot.ts'

/** The cluster as one decision sees it. */
export interface ClusterView {
  readonly nodes: readonly NodeInfo[]
  /** Undefined for a namespace that is not known. */
  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined
  /** How many placed pods have rules of required anti-affinity; zero spares the search. */
  readonly podsWithAntiAffinity: number
}

/** Why a node cannot take a pod, in upstream's words: they are what users see and search for. */
export interface Rejection {
  readonly reasons: readonly string[]
  /** False when removing pods from the node could not help (upstream: UnschedulableAndUnresolvable). */
  readonly resolvable: boolean
}

/** Undefined when the node can take the pod as far as one plugin is concerned. */
export type NodeCheck = (node: NodeInfo) => Rejection | undefined

export interface FilterPlugin {
  /** Upstream's plugin name; messages and requeueing use it. */
  readonly name: string
  /** What holds for this pod everywhere is worked out here, once. Undefined when the plugin has nothing to check for it. */
  forPod(pod: PodInfo, view: ClusterView): NodeCheck | undefined
  /**
   * The only nodes that could pass, when the pod itself names them; undefined means all. Nodes outside are not looked
   * at one by one.
   */
  candidates?(pod: PodInfo): ReadonlySet<string> | undefined
}

export interface ScorePlugin {
  readonly name: string
  readonly weight: number
  /** More is better (`reverse`: less is). Undefined when the plugin has no preference for this pod. */
  forPod(pod: PodInfo, view: ClusterView): ((node: NodeInfo) => number) | undefined
  /**
   * How raw scores become 0..100. `none`: they are already; `max`: the best non-negative one has 100; `reverse`: the
   * smallest non-negative one has the most; `range`: from the worst, 0, to the best, 100, whatever their signs.
   */
  readonly normalize: 'none' | 'max' | 'reverse' | 'range'
}

/** Changes of the cluster that may make a rejected pod fit. */
export const clusterChanges = [
  'node-added',
  'node-removed',
  'node-allocatable',
  'node-labels',
  'node-taints',
  'pod-removed',
  /** It is placed now, or was before and has other labels. */
  'pod-added',
] as const

export type ClusterChange = (typeof clusterChanges)[number]

/** Which changes can undo a plugin's rejection; an unlisted plugin is retried on every change. */
export const curedBy: Readonly<Record<string, readonly ClusterChange[]>> = {
  NodeUnschedulable: ['node-added', 'node-taints'],
  NodeName: ['node-added'],
  TaintToleration: ['node-added', 'node-taints'],
  NodeAffinity: ['node-added', 'node-labels'],
  NodePorts: ['node-added', 'pod-removed'],
  NodeResourcesFit: ['node-added', 'node-allocatable', 'pod-removed'],
  PodTopologySpread: ['node-added', 'node-removed', 'node-labels', 'pod-removed', 'pod-added'],
  InterPodAffinity: ['node-added', 'node-labels', 'pod-removed', 'pod-added'],
}
