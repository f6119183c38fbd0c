/** Findings: the answer of `skiff why` about an object, and the shape of its JSON. Stable: fields are added, never changed. */
import type { PodExplanation } from '../../components/api/pod-explanation.ts'

export interface ObjectName {
  readonly apiVersion?: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** Something that was seen, and on which object. */
export interface Evidence {
  readonly source: 'object' | 'condition' | 'event' | 'scheduler'
  readonly object: ObjectName
  readonly text: string
  /** When it last changed or happened. */
  readonly time?: string
  /** How often an event happened, when more than once. */
  readonly count?: number
}

/** One thing that is not as it should be. */
export interface Finding {
  /** Stable, for scripts: `Unschedulable`, `CrashLoopBackOff`. */
  readonly cause: string
  /** One sentence for people. */
  readonly message: string
  readonly evidence: readonly Evidence[]
  /** What to do, the most promising first; a command stands after a colon. */
  readonly next: readonly string[]
}

export interface ObjectAnswer {
  readonly object: ObjectName & { readonly uid?: string }
  /** Whether nothing was found. */
  readonly isFine: boolean
  /** The object's state in a few words, such as `Running and Ready since 2026-11-22T10:00:00Z`. */
  readonly state: string
  /** The most important first. */
  readonly findings: readonly Finding[]
  /** The controlling owners, the nearest first. */
  readonly owners: readonly ObjectName[]
  /** What the scheduler answered, for a pod that waits for a node. */
  readonly scheduling?: PodExplanation
  /** What could not be read, and why; findings may be missing. */
  readonly notRead: readonly string[]
}

/** Objects that wait for the same reason. */
export interface PendingGroup extends Finding {
  readonly objects: readonly ObjectName[]
}

export interface PendingAnswer {
  /** Whether nothing is pending; false when the pods could not be read. */
  readonly isFine: boolean
  /** The largest group first. */
  readonly groups: readonly PendingGroup[]
  readonly notRead: readonly string[]
}
