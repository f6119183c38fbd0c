/** What page and console say to each other below `/lab/`, over HTTP. Errors are Statuses. */
import type { ScenarioResult, StepResult } from '../../scenarios/engine/scenario-result.ts'
import type { TimeRow } from './live.ts'

/** `POST /lab/components/NAME/ACTION`. `add` and `remove` are for nodes. */
export const componentActions = [
  'kill',
  'pause',
  'resume',
  'restart',
  'stop',
  'start',
  'add',
  'remove',
] as const
export type ComponentAction = (typeof componentActions)[number]

/**
 * `POST /lab/time`, answered with a TimeAnswer when it is done. `by` and `speed` are texts as `skiff time` takes them. An advance stops where it
 * is when the page closes the request.
 */
export type TimeCall =
  | { readonly call: 'pause' | 'resume' | 'step' | 'settle' }
  | { readonly call: 'speed'; readonly speed: string }
  | { readonly call: 'advance'; readonly by: string }

export interface TimeAnswer {
  /** The cluster's time when the call came. */
  readonly fromMs: number
  readonly row: TimeRow
}

/**
 * `POST /lab/faults` adds a fault, a FaultSpec, and answers with its FaultRow; the Status of an invalid one has a cause for each field.
 * `DELETE /lab/faults/NAME` heals one and `DELETE /lab/faults` all; both answer with the FaultRows of those that were healed.
 */

/**
 * `GET /lab/saved` answers with the cluster as a file for `skiff up --from`, at the resourceVersion of this header; `?secrets=false` leaves out
 * the data of Secrets. An answer that is cut off is no file.
 */
export const savedRevisionHeader = 'skiff-revision'

/** `GET /lab/scenarios`: the scenarios that ship with Skiff. */
export interface ScenarioRow {
  readonly name: string
  readonly description: string
  /** Titles. */
  readonly steps: readonly string[]
}

/**
 * A line of `POST /lab/scenarios/NAME`, which runs one until it ends or the page closes the request. `?on=this` runs it on the shown
 * cluster, otherwise it has a new one.
 */
export type ScenarioLine =
  /** A run begins, for a scenario with a matrix one for each combination: `web[replicas=1]`. What follows is of this run. */
  | { readonly run: string }
  | { readonly step: StepResult }
  | { readonly result: ScenarioResult }
  /** It did not come to an end. */
  | { readonly error: string }

/** A CertificateSigningRequest, shortened. */
export interface SlimCsr {
  readonly name: string
  readonly user: string
  readonly signer: string
  /** From the subject `system:node:NAME`; absent for other subjects. */
  readonly node?: string
  readonly createdMs: number
  /** `type` is Approved, Denied or Failed. */
  readonly verdict?:
    { readonly type: string; readonly text: string; readonly atMs: number } | undefined
  readonly hasCertificate: boolean
  /** End of the issued certificate. */
  readonly expiresMs?: number
}

/** A bootstrap token without its secret. */
export interface SlimToken {
  readonly id: string
  readonly description: string
  /** `authentication`, `signing`. */
  readonly usages: readonly string[]
  /** Absent: it never expires. */
  readonly expiresMs?: number
}

/** `GET /lab/join`, with the viewer's rights. */
export interface JoinFacts {
  readonly tokens: readonly SlimToken[]
  readonly csrs: readonly SlimCsr[]
  /** One line for each of the two that the viewer may not read. */
  readonly notRead: readonly string[]
}
