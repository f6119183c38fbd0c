/** What an embedded cluster is made of. */
import type { Stage } from '../components/stage-runner/stage.ts'
import type { ExtraFlags, Program } from '../cluster/plan/cluster-config.ts'

export interface EmbeddedNode {
  readonly name: string
  readonly flags: Readonly<Record<string, string>>
}

export interface EmbeddedClusterOptions {
  readonly nodes: readonly EmbeddedNode[]
  /** Beside the API server. */
  readonly components: readonly Program[]
  readonly extraFlags: ExtraFlags
  /** Stages of kwok that it plays; undefined: none. */
  readonly stages?: readonly Stage[] | undefined
  /** 0: any free one. */
  readonly port: number
  readonly seed: number
  /** Undefined: now. */
  readonly startAtMs: number | undefined
  /** Absolute path of a saved cluster to begin with. */
  readonly initialState: string | undefined
  /** A component that ends by itself starts again, as under a supervisor. Default: it is reported, and stays ended, unless a fault took its lease. */
  readonly restarts?: boolean | undefined
  /**
   * Time stands still but for its own timers, from the start, and each message between two parts takes up to `latencyMs` of it, drawn from
   * the seed: the order of events follows from the seed alone.
   */
  readonly simulation?: { readonly latencyMs: number } | undefined
  /** A folder on disk for the checkpoints of containers, with which the gate is on. Undefined: agents take none. */
  readonly folder?: string | undefined
}
