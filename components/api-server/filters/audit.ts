/**
 * audit: writes the records of a request as the policy asks. Two filters: one around the whole chain, one after
 * authentication.
 */
import { internalError } from '../../machinery/objects/status-error.ts'
import { loggedObject } from '../audit/logged-object.ts'
import { eventLine, type ResponseStatus } from '../audit/record.ts'
import type { Audit } from '../audit/audit.ts'
import { newAuditRecord, type AuditRecord, type AuditStage } from '../request/audit-record.ts'
import type { Answer, Filter, RequestContext } from '../request/request.ts'
import { isLongRunning } from '../request/long-running.ts'

/** Longer streamed answers are not recorded (upstream: --audit-log-truncate-max-event-size). */
const mostKeptBytes = 10 * 1024 * 1024
const mostStatusBytes = 64 * 1024

const headerOf = (answer: Answer, name: string): string | undefined =>
  answer.headers[name] === undefined ? undefined : String(answer.headers[name])

function bodyOf(answer: Answer, bytes: Buffer, context: RequestContext): Promise<unknown> {
  return loggedObject(bytes, context, {
    contentType: headerOf(answer, 'content-type'),
    contentEncoding: headerOf(answer, 'content-encoding'),
    omitManagedFields: context.audit?.decision?.omitManagedFields ?? false,
  })
}

/** The fields of an answered Status; of any other answer only its code. */
async function statusOf(answer: Answer, context: RequestContext): Promise<ResponseStatus> {
  const { status: code, body } = answer
  const mayBeStatus = code >= 400 || context.info.verb.startsWith('delete')
  if (!mayBeStatus || typeof body === 'function' || body.length > mostStatusBytes) return { code }
  const value = ((await bodyOf(answer, body, context)) ?? {}) as Partial<ResponseStatus> & {
    kind?: unknown
  }
  if (value.kind !== 'Status') return { code }
  const { status, message, reason, details } = value
  return {
    ...(status && { status }),
    ...(message && { message }),
    ...(reason && { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  }
}

function panicStatus(panic: unknown): ResponseStatus {
  const message = `APIServer panic'd: ${panic instanceof Error ? panic.message : String(panic)}`
  return { status: 'Failure', reason: 'InternalError', message, code: 500 }
}

function wantsObjects(record: AuditRecord, context: RequestContext): boolean {
  const level = record.decision?.level
  return context.info.isResourceRequest && (level === 'Request' || level === 'RequestResponse')
}

/** Passes a stream on and keeps a copy. `kept` is undefined when the stream was too long. */
function tee(body: Exclude<Answer['body'], Buffer>): {
  body: Exclude<Answer['body'], Buffer>
  kept: () => Buffer | undefined
} {
  const chunks: Buffer[] = []
  let length = 0
  return {
    body: (sink) =>
      body({
        write: (chunk) => {
          length += chunk.length
          if (length <= mostKeptBytes) chunks.push(chunk)
          return sink.write(chunk)
        },
        drained: () => sink.drained(),
        get buffered() {
          return sink.buffered
        },
        signal: sink.signal,
      }),
    kept: () => (length <= mostKeptBytes ? Buffer.concat(chunks) : undefined),
  }
}

async function emit(
  { sink, clock }: Audit,
  context: RequestContext,
  more: { stage: AuditStage; status?: ResponseStatus; answered?: unknown },
): Promise<void> {
  const record = context.audit
  const { stage, status, answered } = more
  if (record?.decision === undefined || record.decision.omitStages.has(stage)) return
  const { http } = context
  const { omitManagedFields } = record.decision
  const isSent = record.sent !== undefined && stage !== 'RequestReceived'
  const requestObject = isSent
    ? await loggedObject(record.sent ?? Buffer.alloc(0), context, {
        contentType: http.headers['content-type']?.toString(),
        omitManagedFields,
      })
    : undefined
  const nowMs = clock.now()
  await sink.write(
    eventLine(context, record, { stage, nowMs, status, requestObject, responseObject: answered }),
  )
}

/** The outer filter: records the answer, or the start and the end of a stream. */
export function auditAnswer(audit: Audit): Filter {
  return async (context, next) => {
    const record = newAuditRecord()
    context.audit = record
    context.named = {}
    const answer = await next(context)
    // Rejected before authentication.
    record.decision ??= audit.decide(context.user, context.info)
    const { level } = record.decision
    if (level === 'None') return answer
    const status = await statusOf(answer, context)
    const last = (more: { status: ResponseStatus; answered?: unknown }): Promise<void> =>
      // The answer is final. A record that cannot be written no longer concerns the client.
      emit(audit, context, { stage: 'ResponseComplete', ...more }).catch(() => {})
    if (record.panic !== undefined) {
      await emit(audit, context, { stage: 'Panic', status: panicStatus(record.panic) }).catch(
        () => {},
      )
      return answer
    }
    const { body } = answer
    const isStream = isLongRunning(context)
    const isWanted = level === 'RequestResponse' && context.info.isResourceRequest
    if (typeof body !== 'function') {
      await last({ status, ...(isWanted && { answered: await bodyOf(answer, body, context) }) })
      return answer
    }
    // The body of an answer to HEAD is never read.
    if (context.http.method === 'HEAD' || !(isStream || isWanted)) {
      await last({ status })
      return answer
    }
    if (isStream) {
      await emit(audit, context, { stage: 'ResponseStarted', status }).catch(() => {})
    }
    const kept = isStream ? undefined : tee(body)
    return {
      ...answer,
      body: async (sink) => {
        try {
          await (kept?.body ?? body)(sink)
        } finally {
          const bytes = kept?.kept()
          if (kept !== undefined && bytes === undefined)
            context.annotations['audit/truncated'] = 'true'
          const answered = bytes === undefined ? undefined : await bodyOf(answer, bytes, context)
          await last({ status, answered })
        }
      },
    }
  }
}

/**
 * The inner filter: asks the policy, records that the request was received, and keeps its body where the policy asks for it.
 */
export function auditRequest(audit: Audit): Filter {
  return async (context, next) => {
    const record = context.audit
    if (record === undefined) return await next(context)
    record.sender = context.user
    record.decision = audit.decide(context.user, context.info)
    if (record.decision.level === 'None') return await next(context)
    if (wantsObjects(record, context)) {
      const { http } = context
      const read = http.body.bind(http)
      http.body = async (maxBytes) => (record.sent = await read(maxBytes))
    }
    try {
      await emit(audit, context, { stage: 'RequestReceived' })
    } catch (error) {
      throw internalError('the request cannot be audited, so it is not served', error)
    }
    return await next(context)
  }
}
