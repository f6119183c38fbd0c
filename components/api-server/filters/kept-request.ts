/**
 * KeptRequest: an answered request as the request journal holds it: one flat object that keeps nothing of the connection alive.
 * `recordOf` makes the RequestRecord that clients see.
 */
import { causeHeader, type RequestRecord } from '../../api/request-record.ts'
import { parseCause } from '../../api/request-cause.ts'
import {
  cutText,
  readingOf,
  selectorsOf,
  type RecordedReading,
  type RecordedSelectors,
} from '../request/recorded.ts'
import type { RequestContext } from '../request/request.ts'

export interface KeptRequest {
  readonly seq: number
  readonly id: string
  readonly atMs: number
  readonly durationMs: number
  readonly user: string
  readonly impersonator: string | undefined
  readonly userAgent: string
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly path: string
  readonly selectors: RecordedSelectors
  readonly reading: RecordedReading
  readonly isApply: boolean
  readonly status: number
  readonly authenticator: string | undefined
  /** As audit records have it: `allow`, `forbid`. */
  readonly decision: string | undefined
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly revisions: readonly number[]
  readonly isDryRun: boolean
  readonly sentVersion: string | undefined
  readonly isOwned: boolean | undefined
  readonly isStatusIgnored: boolean
  readonly cause: string | undefined
  /** The ids of the faults that it met. */
  readonly fault: string | undefined
  /** It may have changed what is stored. */
  readonly isWrite: boolean
  /** An estimate of what it holds. */
  readonly bytes: number
}

/** An object with this many fields, its id and its short texts. */
const emptyBytes = 500
const none: readonly number[] = Object.freeze([])

function headerOf({ http }: RequestContext, name: string): string | undefined {
  const value = http.headers[name]
  return typeof value === 'string' ? cutText(value) : undefined
}

const cutMaybe = (text: string | undefined): string | undefined => text && cutText(text)

/** The name of what a create made is in its answer; everything else has it in its path. */
function nameOf({ info, made }: RequestContext): string {
  if (info.name !== '' || made === undefined || info.verb !== 'create') return cutText(info.name)
  return made.key.slice(made.key.indexOf('/') + 1)
}

function isApply(context: RequestContext): boolean {
  if (context.info.verb !== 'patch') return false
  return headerOf(context, 'content-type')?.startsWith('application/apply-patch+') === true
}

/** The record of a request that was answered at `nowMs`. */
export function keptRequest(
  context: RequestContext,
  {
    seq,
    status,
    nowMs,
    isWrite,
  }: Pick<KeptRequest, 'seq' | 'status' | 'isWrite'> & { nowMs: number },
): KeptRequest {
  const { info, user, annotations, made, receivedAtMs } = context
  const userAgent = headerOf(context, 'user-agent') ?? ''
  const reason = cutMaybe(annotations['authorization/reason'])
  const message = status >= 400 ? cutMaybe(context.failure) : undefined
  const cause = headerOf(context, causeHeader)
  const fault = cutMaybe(context.faults?.fired.join(', '))
  const path = cutText(info.path)
  const revisions = made?.revisions ?? none
  return {
    seq,
    id: context.id,
    atMs: receivedAtMs,
    durationMs: nowMs - receivedAtMs,
    user: cutText(user.name),
    impersonator: cutMaybe(context.impersonator),
    userAgent,
    verb: info.verb,
    group: cutText(info.group),
    resource: cutText(info.plural),
    subresource: cutText(info.subresource),
    namespace: cutText(info.namespace),
    name: nameOf(context),
    path,
    selectors: selectorsOf(info),
    reading: readingOf(info),
    isApply: isApply(context),
    status,
    authenticator: context.authenticator,
    decision: annotations['authorization/decision'],
    reason,
    message,
    revisions,
    sentVersion: cutMaybe(context.sentVersion),
    isOwned: context.isOwned,
    isStatusIgnored: context.isStatusIgnored === true,
    isDryRun: context.isDryRun ?? (info.query.size > 0 && info.query.get('dryRun') === 'All'),
    cause,
    fault,
    isWrite,
    bytes:
      emptyBytes +
      2 * path.length +
      userAgent.length +
      (reason?.length ?? 0) +
      (message?.length ?? 0) +
      (cause?.length ?? 0) +
      (fault?.length ?? 0) +
      8 * revisions.length,
  }
}

/** What clients see of it. */
export function recordOf(kept: KeptRequest): RequestRecord {
  const {
    bytes: _,
    isWrite: __,
    selectors,
    reading,
    sentVersion,
    isOwned,
    isStatusIgnored,
    revisions,
    cause: text,
    isDryRun,
    isApply: applies,
    ...rest
  } = kept
  const { impersonator, authenticator, decision, reason, message, fault, ...always } = rest
  const cause = text === undefined ? undefined : parseCause(text)
  const newest = revisions.at(-1)
  return {
    ...always,
    ...(impersonator === undefined ? {} : { impersonator }),
    ...selectors,
    ...reading,
    ...(applies ? { isApply: true } : {}),
    ...(authenticator === undefined ? {} : { authenticator }),
    ...(decision === undefined ? {} : { decision: decision === 'allow' ? 'allow' : 'deny' }),
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    ...(newest === undefined ? {} : { revision: String(newest) }),
    ...(revisions.length < 2 ? {} : { revisions: revisions.map(String) }),
    ...(isDryRun ? { dryRun: true } : {}),
    ...(sentVersion === undefined ? {} : { sentVersion }),
    ...(isOwned === undefined ? {} : { isOwned }),
    ...(isStatusIgnored ? { isStatusIgnored: true } : {}),
    ...(cause === undefined ? {} : { cause }),
    ...(fault ? { fault } : {}),
  }
}
