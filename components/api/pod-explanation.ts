/**
 * PodExplanation: what the scheduler answers at `/explain/pods/NAMESPACE/NAME` on its own listener, and `skiff why` shows. Stable:
 * fields are added, never changed.
 */

/** One plugin's score of a node, 0 to 100, and how often it counts. */
export interface ExplainedScore {
  readonly plugin: string
  readonly score: number
  readonly weight: number
}

/** A resource of which a node has too little left, in quantities. */
export interface ExplainedShortage {
  readonly resource: string
  readonly requested: string
  /** What is left on the node; it may be negative. */
  readonly free: string
}

export interface RefusedNode {
  readonly node: string
  readonly fits: false
  /** The plugin that decides, with upstream's reasons. */
  readonly plugin: string
  readonly reasons: readonly string[]
  /** True when the pod might fit if pods were evicted. */
  readonly resolvable: boolean
  /** Plugins that would reject the node too if that one did not; absent without any. */
  readonly others?: readonly { readonly plugin: string; readonly reasons: readonly string[] }[]
  /** Absent when the node has room enough. */
  readonly shortages?: readonly ExplainedShortage[]
}

export interface FittingNode {
  readonly node: string
  readonly fits: true
  readonly scores: readonly ExplainedScore[]
  readonly total: number
}

export type ExplainedNode = RefusedNode | FittingNode

export interface PodExplanation {
  /** The scheduler that the pod is addressed to. */
  readonly schedulerName: string
  /** The names that this scheduler answers to, when the pod's is not among them; nothing else is looked at then. */
  readonly profiles?: readonly string[]
  /** The plugin that keeps the pod out of the queue, with its reasons; nothing else is looked at then. */
  readonly gatedBy?: { readonly plugin: string; readonly reasons: readonly string[] }
  readonly nodes: readonly ExplainedNode[]
  /** The node that an attempt would choose. */
  readonly chosen?: string
  /** The message that an attempt would report; absent when a node fits. */
  readonly message?: string
  /** The eviction that would let the pod fit. */
  readonly preemption?: {
    readonly node: string
    /** `namespace/name`, the most important first. */
    readonly victims: readonly string[]
  }
}
