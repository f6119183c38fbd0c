/** Control protocol: what the command line and the supervisor say to each other, as JSON lines over a unix socket. */
import type { NodeConfig, Program } from './plan/cluster-config.ts'
import type { ClusterErrorKind } from './cluster-error.ts'
import type { ChaosReport } from './lab/chaos/chaos-report.ts'
import type { ChaosRequest } from './lab/chaos/chaos-request.ts'
import type { FaultStatus } from './lab/fault-spec.ts'
import type { TimeState } from './lab/lab.ts'
import type { TimeRequest } from './lab/time-request.ts'

export type ComponentState =
  /** Planned, not started yet. */
  | 'waiting'
  | 'starting'
  | 'ready'
  /** It was ready and runs, but it is frozen or blocked: it answers nothing. `sinceMs` is when that began. */
  | 'stuck'
  /** Stopped by SIGSTOP. */
  | 'paused'
  /** It ended by itself; the next start waits for its delay. */
  | 'backoff'
  | 'stopping'
  | 'stopped'
  /** Its first start failed; the supervisor does not retry. */
  | 'failed'

export interface ComponentStatus {
  readonly name: string
  readonly program: Program
  readonly state: ComponentState
  readonly pid?: number
  /** Starts after the first one. */
  readonly restarts: number
  /** When it entered this state, in milliseconds since the epoch. */
  readonly sinceMs: number
  /** What it said when it became ready: ports and the like. */
  readonly info?: Readonly<Record<string, unknown>>
  /** Why it is in this state, when there is something to say. */
  readonly message?: string
}

/** When a cluster ends without a command. */
export interface ClusterEnd {
  /** With this process. */
  readonly withPid?: number
  /** At this time, in milliseconds since the epoch. */
  readonly atMs?: number
}

export interface ClusterStatus {
  readonly components: readonly ComponentStatus[]
  /** Absent: only a command ends it. */
  readonly ends?: ClusterEnd
}

/** Method -> parameters and result. Those that take time send a ComponentStatus as event for each change meanwhile. */
export interface ControlMethods {
  /** Starts what is planned and not running. Fails with the reason of the first component that does not start. */
  start: {
    params: {
      /** File of a saved cluster that the API server's first run begins with. */
      initialState?: string
      /** File of a base image that it begins with. */
      baseImage?: string
    }
    result: Record<never, never>
  }
  status: { params: Record<never, never>; result: ClusterStatus }
  /** Sends events until the connection closes. */
  watch: { params: Record<never, never>; result: Record<never, never> }
  'add-node': { params: { node: NodeConfig }; result: Record<never, never> }
  /** Stops the node's process and forgets it; its Node object is not touched. */
  'remove-node': { params: { name: string }; result: Record<never, never> }
  'stop-component': { params: { name: string }; result: Record<never, never> }
  'start-component': { params: { name: string }; result: Record<never, never> }
  restart: { params: { name: string }; result: Record<never, never> }
  pause: { params: { name: string }; result: Record<never, never> }
  resume: { params: { name: string }; result: Record<never, never> }
  /** SIGKILL; resolves when the process is gone. It is started again as after any other crash. */
  kill: { params: { name: string }; result: Record<never, never> }
  /** The cluster's clock. An advance stops where it is when the connection closes. */
  time: { params: TimeRequest; result: TimeState }
  /** A FaultSpec; it is checked again. Resolves when it holds. */
  'fault-add': { params: { fault: unknown }; result: { readonly fault: FaultStatus } }
  'fault-list': {
    params: Record<never, never>
    result: { readonly faults: readonly FaultStatus[] }
  }
  /** The fault of that name, or all that are active. Gives those that were healed. */
  'fault-heal': {
    params: { name?: string }
    result: { readonly faults: readonly FaultStatus[] }
  }
  /** A mix of faults. One that is waited for ends when the connection closes. */
  chaos: { params: ChaosRequest; result: ChaosReport }
  /** Stops every component, then ends the supervisor. */
  shutdown: { params: Record<never, never>; result: Record<never, never> }
}

export type ControlMethod = keyof ControlMethods

export interface ControlRequest {
  readonly id: number
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

export interface ControlFault {
  readonly kind: ClusterErrorKind
  readonly message: string
  readonly hint?: string
  readonly details?: readonly string[]
  readonly systemCode?: string
}

export type ControlReply =
  | { readonly id: number; readonly event: ComponentStatus }
  | { readonly id: number; readonly result: Readonly<Record<string, unknown>> }
  | { readonly id: number; readonly fault: ControlFault }

/** How the supervisor answers each method. */
export type ControlHandlers = {
  readonly [M in ControlMethod]: (
    params: ControlMethods[M]['params'],
    connection: {
      readonly emit: (event: ComponentStatus) => void
      readonly signal: AbortSignal
    },
  ) => Promise<ControlMethods[M]['result']>
}
