/**
 * JoinProgress: every step of a node's way into the cluster, for the log and, as status lines, for the process that started
 * this one. A failure names the step, the reason and what to do about it.
 */
import type { Log } from '../../component-base/log.ts'

export type JoinStep =
  /** Fetching the public cluster information from a server that is not trusted yet. */
  | 'discovery'
  /** The information is signed with the bootstrap token. */
  | 'signature'
  /** The authority in it is the one that was pinned. */
  | 'pin'
  /** The server shows a certificate of that authority. */
  | 'trust'
  /** The server accepts the token. */
  | 'token'
  /** The certificate signing request is made, approved and signed. */
  | 'csr'
  /** Key and certificate are on disk. */
  | 'certificate'
  | 'register'

export interface JoinReport {
  readonly step: JoinStep
  readonly state: 'running' | 'waiting' | 'done' | 'failed'
  readonly node?: string
  readonly reason?: string
  /** What the user can do about it. */
  readonly hint?: string
  /** The agent tries again by itself. */
  readonly retrying?: boolean
}

/** A step that failed, with what to do about it. */
export class JoinError extends Error {
  readonly step: JoinStep
  readonly hint: string
  /** True when the cause may go away by itself (a server that starts, a token that is made later). */
  readonly isTransient: boolean

  constructor(
    step: JoinStep,
    reason: string,
    more: { hint: string; isTransient?: boolean; cause?: unknown },
  ) {
    super(reason, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'JoinError'
    this.step = step
    this.hint = more.hint
    this.isTransient = more.isTransient ?? false
  }
}

export type ReportJoin = (report: JoinReport) => void

const stepOrder: readonly JoinStep[] = [
  'discovery',
  'signature',
  'pin',
  'trust',
  'token',
  'csr',
  'certificate',
  'register',
]

/**
 * Reports to the log and to `write`. A failure that repeats is reported once, without the steps that succeed again on the
 * way back to it.
 */
export function createJoinReporter(options: {
  log: Log
  node: string
  write: (report: JoinReport) => void
}): ReportJoin {
  const { log, node, write } = options
  let last = ''
  let trouble: JoinStep | undefined
  return (report) => {
    const whole = { node, ...report }
    const text = JSON.stringify(whole)
    const { state, step, ...rest } = report
    const isAgain =
      trouble !== undefined &&
      (state === 'running' ||
        (state === 'done' && stepOrder.indexOf(step) < stepOrder.indexOf(trouble)))
    if (text === last || isAgain) return
    last = text
    trouble = state === 'failed' || state === 'waiting' ? step : undefined
    if (state === 'failed') log.error(`join: ${step} failed`, rest)
    else log.info(`join: ${step} ${state}`, rest)
    write(whole)
  }
}
