/** AuditRecord: the state of one request's audit; it is on the request's context only while records are kept. */
import type { UserInfo } from './request.ts'

export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type AuditLevel = (typeof auditLevels)[number]

export const auditStages = [
  'RequestReceived',
  'ResponseStarted',
  'ResponseComplete',
  'Panic',
] as const
export type AuditStage = (typeof auditStages)[number]

/** How much of one request the policy records. */
export interface AuditDecision {
  readonly level: AuditLevel
  readonly omitStages: ReadonlySet<AuditStage>
  readonly omitManagedFields: boolean
}

export interface AuditRecord {
  /** Undefined until the policy has been evaluated. */
  decision: AuditDecision | undefined
  /** The authenticated user, also when it impersonates another one. */
  sender: UserInfo | undefined
  /** The body as it was read, at level Request and above. */
  sent: Buffer | undefined
  /** An unexpected error, which answers 500. */
  panic: unknown
}

export function newAuditRecord(): AuditRecord {
  return { decision: undefined, sender: undefined, sent: undefined, panic: undefined }
}
