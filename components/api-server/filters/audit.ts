/** audit: one line per finished request, in upstream's Event form at level Metadata. Bodies, tokens and headers are never in it. */
import { apiKey, type Dialect } from '../../api/dialect.ts'
import { microTimestamp, type Clock } from '../../component-base/clock.ts'
import type { Filter, RequestContext } from '../request.ts'

export interface AuditSink {
  write(line: string): void
}

function eventOf(
  context: RequestContext,
  more: { dialect: Dialect; code: number; finishedAtMs: number },
): unknown {
  const { info, user, http } = context
  const { dialect, code, finishedAtMs } = more
  const annotations = Object.fromEntries(
    Object.entries(context.annotations).map(([name, value]) => {
      const [subdomain = '', key = ''] = name.includes('/') ? name.split('/') : ['', name]
      return [apiKey(dialect, subdomain, key), value]
    }),
  )
  return {
    kind: 'Event',
    apiVersion: `audit.${dialect.apiDomain}/v1`,
    level: 'Metadata',
    auditID: context.id,
    stage: 'ResponseComplete',
    requestURI: http.url,
    verb: info.verb,
    user: { username: user.name, uid: user.uid, groups: user.groups, extra: user.extra },
    sourceIPs: [http.remoteAddress],
    userAgent: http.headers['user-agent'],
    ...(info.isResourceRequest
      ? {
          objectRef: {
            resource: info.plural,
            ...(info.namespace === '' ? {} : { namespace: info.namespace }),
            ...(info.name === '' ? {} : { name: info.name }),
            ...(info.group === '' ? {} : { apiGroup: info.group }),
            apiVersion: info.version,
            ...(info.subresource === '' ? {} : { subresource: info.subresource }),
          },
        }
      : {}),
    responseStatus: { metadata: {}, code },
    requestReceivedTimestamp: microTimestamp(context.receivedAtMs),
    stageTimestamp: microTimestamp(finishedAtMs),
    annotations,
  }
}

export function audit(sink: AuditSink, options: { dialect: Dialect; clock: Clock }): Filter {
  return async (context, next) => {
    const answer = await next(context)
    const finishedAtMs = options.clock.now()
    const event = eventOf(context, { dialect: options.dialect, code: answer.status, finishedAtMs })
    sink.write(`${JSON.stringify(event)}\n`)
    return answer
  }
}
