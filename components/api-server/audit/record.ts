/** AuditRecord: the audit state of one request, and the Event of each of its stages. */
import { apiKey, type Dialect } from '../../api/dialect.ts'
import { microTimestamp } from '../../component-base/clock.ts'
import type { RequestContext, UserInfo } from '../request/request.ts'
import type { AuditRecord, AuditStage } from '../request/audit-record.ts'

/** The Event's responseStatus. */
export interface ResponseStatus {
  readonly code: number
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly details?: unknown
}

function userOf({ name, uid, groups, extra }: UserInfo): unknown {
  return { username: name, uid, groups, extra }
}

/** The source addresses: proxies in order, then the peer (upstream: utilnet.SourceIPs). */
function sourceIPs({ http }: RequestContext): string[] {
  const header = http.headers['x-forwarded-for']
  if (header === undefined) return [http.remoteAddress]
  const forwarded = String(header)
    .split(',')
    .map((one) => one.trim())
    .filter((one) => /^[0-9a-fA-F.:]+$/.test(one))
  return [...new Set([...forwarded, http.remoteAddress])]
}

function annotationsOf(context: RequestContext, dialect: Dialect): unknown {
  return Object.fromEntries(
    Object.entries(context.annotations).map(([name, value]) => {
      if (name.startsWith('/')) return [name.slice(1), value]
      const [subdomain = '', key = ''] = name.includes('/') ? name.split('/') : ['', name]
      return [apiKey(dialect, subdomain, key), value]
    }),
  )
}

function objectRefOf({ info, named }: RequestContext): unknown {
  return {
    resource: info.plural,
    ...named,
    ...(info.namespace === '' ? {} : { namespace: info.namespace }),
    ...(info.name === '' ? {} : { name: info.name }),
    ...(info.group === '' ? {} : { apiGroup: info.group }),
    apiVersion: info.version,
    ...(info.subresource === '' ? {} : { subresource: info.subresource }),
  }
}

/** One line of the log. */
export function eventLine(
  context: RequestContext,
  record: AuditRecord,
  more: {
    stage: AuditStage
    nowMs: number
    status?: ResponseStatus | undefined
    requestObject?: unknown
    responseObject?: unknown
  },
): string {
  const { info, user, http, dialect } = context
  const { stage, nowMs, status, requestObject, responseObject } = more
  const sender = record.sender ?? user
  const event = {
    kind: 'Event',
    apiVersion: `audit.${dialect.apiDomain}/v1`,
    level: record.decision?.level,
    auditID: context.id,
    stage,
    requestURI: http.url,
    verb: info.verb,
    user: userOf(sender),
    impersonatedUser: user === sender ? undefined : userOf(user),
    sourceIPs: sourceIPs(context),
    userAgent: http.headers['user-agent'],
    objectRef: info.isResourceRequest ? objectRefOf(context) : undefined,
    responseStatus: status === undefined ? undefined : { metadata: {}, ...status },
    requestObject,
    responseObject,
    requestReceivedTimestamp: microTimestamp(context.receivedAtMs),
    stageTimestamp: microTimestamp(nowMs),
    annotations: stage === 'RequestReceived' ? undefined : annotationsOf(context, dialect),
  }
  return `${JSON.stringify(event)}\n`
}

/** The same in upstream's older form, for people. */
export function legacyLine(line: string): string {
  const event = JSON.parse(line) as {
    auditID: string
    stage: string
    sourceIPs: string[]
    verb: string
    user: { username: string; groups?: string[] }
    impersonatedUser?: { username: string; groups?: string[] }
    objectRef?: { namespace?: string }
    requestURI: string
    responseStatus?: { code: number }
    stageTimestamp: string
  }
  const quoted = (texts: readonly string[] = []): string =>
    texts.length === 0 ? '"<none>"' : texts.map((text) => JSON.stringify(text)).join(',')
  const { user, impersonatedUser: as } = event
  const fields = {
    id: `"${event.auditID}"`,
    stage: `"${event.stage}"`,
    ip: `"${event.sourceIPs[0] ?? ''}"`,
    method: `"${event.verb}"`,
    user: JSON.stringify(user.username),
    groups: quoted(user.groups),
    as: as === undefined ? '"<self>"' : JSON.stringify(as.username),
    asgroups: as === undefined ? '"<lookup>"' : quoted(as.groups),
    namespace: `"${event.objectRef?.namespace ?? '<none>'}"`,
    uri: JSON.stringify(event.requestURI),
    response: `"${event.responseStatus?.code ?? '<deferred>'}"`,
  }
  const text = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
  return `${event.stageTimestamp} AUDIT: ${text.join(' ')}\n`
}
