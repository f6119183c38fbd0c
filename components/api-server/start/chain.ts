/** chain: the filters of every request, in visit order, and the function that joins them. */
import type { Audit } from '../audit/audit.ts'
import { meetFaults, sendAnswers } from '../faults/fault-filters.ts'
import { auditAnswer, auditRequest } from '../filters/audit.ts'
import { authenticate } from '../filters/authenticate.ts'
import { authorize } from '../filters/authorize.ts'
import { tellTime } from '../filters/cluster-time.ts'
import { compress } from '../filters/compress.ts'
import { decorate } from '../filters/decorate.ts'
import { goaway } from '../filters/goaway.ts'
import { impersonate } from '../filters/impersonate.ts'
import { maxInFlight } from '../filters/max-in-flight.ts'
import { priorityAndFairness } from '../filters/priority-and-fairness.ts'
import type { RequestJournal } from '../filters/request-journal.ts'
import { recheck } from '../filters/recheck.ts'
import { recover } from '../filters/recover.ts'
import { storageVersionPrecondition } from '../filters/storage-version-precondition.ts'
import { timeout } from '../filters/timeout.ts'
import type { InFlight } from '../filters/turn-away.ts'
import { countUnderWay } from '../filters/under-way.ts'
import type { AuthenticateRequest } from '../authn/union.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { DeniedRequests } from '../filters/denied-requests.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { Parts } from '../handlers/parts.ts'
import { asOwnUser } from '../registry/local-client.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { PendingStorageVersions } from '../request/pending-storage-versions.ts'
import type { Filter, Next } from '../request/request.ts'
import type { UnderWay } from '../../component-base/under-way.ts'

/** The first filter is visited first; `last` is the router. */
export function compose(filters: readonly Filter[], last: Next): Next {
  return filters.reduceRight<Next>((next, filter) => (context) => filter(context, next), last)
}

function underWayOf(underWay: UnderWay | undefined): Filter[] {
  return underWay === undefined ? [] : [countUnderWay(underWay)]
}

/** The filters in visit order. */
export function filtersOf(options: {
  server: ApiServerOptions
  parts: Parts
  audit: Audit | undefined
  authenticateRequest: AuthenticateRequest
  authorizer: Authorizer
  /** The same two, without metrics. */
  uncounted: { authenticateRequest: AuthenticateRequest; authorizer: Authorizer }
  denied: DeniedRequests
  journal: RequestJournal
  measure: Filter
  underWay: UnderWay | undefined
  /** Undefined: max-in-flight limits requests instead. */
  flowControl: FlowControl | undefined
  /** Undefined: StorageVersions are not written. */
  pendingVersions: PendingStorageVersions | undefined
  inFlight: InFlight
}): Filter[] {
  const { server, parts, audit, authenticateRequest, authorizer, denied, journal, measure } =
    options
  const { uncounted, flowControl, pendingVersions } = options
  const { dialect, clock, log } = parts
  return [
    ...underWayOf(options.underWay),
    tellTime(clock),
    // Outside of what records answers: a write whose answer is lost is recorded as what it was.
    sendAnswers(parts.faults, clock, options.underWay),
    journal.filter,
    ...(audit === undefined ? [] : [auditAnswer(audit)]),
    measure,
    ...(server['goaway-chance'] === 0
      ? []
      : [goaway(server['goaway-chance'], () => clock.random())]),
    compress,
    decorate,
    ...(server['shutdown-send-retry-after'] ? [options.inFlight.filter] : []),
    recover(log),
    timeout(clock, server['request-timeout']),
    authenticate(authenticateRequest, log, denied),
    ...(audit === undefined ? [] : [auditRequest(audit)]),
    impersonate(authorizer, denied, dialect),
    // Before flow control and authorization, as if the server were out of reach or out of order: what a fault delays takes no seat, and
    // what it rejects says nothing about rights. Behind impersonation, so that rules see the user that rights are checked for.
    meetFaults,
    flowControl === undefined
      ? maxInFlight({
          reading: server['max-requests-inflight'],
          mutating: server['max-mutating-requests-inflight'],
        })
      : priorityAndFairness(flowControl),
    authorize(authorizer, denied),
    recheck(uncounted.authenticateRequest, uncounted.authorizer, clock),
    ...(pendingVersions === undefined ? [] : [storageVersionPrecondition(pendingVersions)]),
  ]
}

/** The filters of the server's own requests, which need no authentication and have no limit. */
export function ownFiltersOf(options: {
  parts: Parts
  audit: Audit | undefined
  authorizer: Authorizer
  denied: DeniedRequests
  journal: RequestJournal
  measure: Filter
  underWay: UnderWay | undefined
}): Filter[] {
  const { parts, audit, authorizer, denied, journal, measure, underWay } = options
  const { log } = parts
  return [
    ...underWayOf(underWay),
    journal.filter,
    ...(audit === undefined ? [] : [auditAnswer(audit)]),
    measure,
    recover(log),
    asOwnUser,
    ...(audit === undefined ? [] : [auditRequest(audit)]),
    authorize(authorizer, denied),
  ]
}
