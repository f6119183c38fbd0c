/** Audit: what the filters need to record requests. */
import type { Clock } from '../../component-base/clock.ts'
import type { AuditDecision } from '../request/audit-record.ts'
import type { RequestInfo, UserInfo } from '../request/request.ts'
import type { AuditSink } from './sink.ts'

export interface Audit {
  readonly sink: AuditSink
  readonly decide: (user: UserInfo, info: RequestInfo) => AuditDecision
  readonly clock: Clock
}
