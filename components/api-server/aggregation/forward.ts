/**
 * forward: sends a request to the extension API server of its group version, and streams the answer back unchanged (upstream:
 * handler_proxy.go).
 */
import type { IncomingMessage } from 'node:http'
import type { Dialect } from '../../api/dialect.ts'
import { RequestAbortedError } from '../../component-base/http.ts'
import type { Log } from '../../component-base/log.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'
import { maxBodyBytes } from '../codec/decode-body.ts'
import { protocolsWithoutToken } from '../authn/bearer-token.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import { answerText, type ForwardedAnswer } from '../codec/respond.ts'
import { acceptedTypes } from './accepted-types.ts'
import type { RemoteApiService } from './api-service-table.ts'
import {
  authorityOf,
  ExtensionUnreachableError,
  type ExtensionConnections,
  type Place,
  type Upgraded,
} from './extension-connections.ts'
import { identityHeaders } from './identity-headers.ts'
import { forwardable } from '../egress/forwardable-headers.ts'
import { asksForUpgrade, join, type TunnelAnswer } from '../egress/tunnel.ts'

export interface ForwardOptions {
  readonly connections: ExtensionConnections
  readonly dialect: Dialect
  /** Whether extension API servers get the uids of users. */
  readonly withUid: boolean
  readonly rejectsRedirects: boolean
  /** Aborts when the server begins to shut down. */
  readonly stopping: AbortSignal
  readonly log: Log
}

const unavailable = (): Answer => answerText(503, 'service unavailable\n')

/** The other server must read the path that was authorized: throws 400 for segments that change when they are decoded. */
function checkPath(path: string): void {
  const isOdd = path.split('/').some((segment) => {
    const text = segment.replaceAll(/%2e/gi, '.')
    return /%2f/i.test(segment) || text === '.' || text === '..'
  })
  if (isOdd) throw badRequest(`invalid path for an aggregated API: ${JSON.stringify(path)}`)
}

function headersOf(context: RequestContext, place: Place, options: ForwardOptions) {
  const { http, info, user, id } = context
  const {
    accept: _,
    'sec-websocket-protocol': __,
    'x-forwarded-for': ___,
    ...headers
  } = forwardable(http.headers)
  const protocols = protocolsWithoutToken(http, options.dialect)
  const accept = info.isResourceRequest
    ? acceptedTypes(http.headers['accept'], options.dialect)
    : http.headers['accept']
  const forwardedFor = [http.headers['x-forwarded-for'] ?? [], http.remoteAddress].flat()
  return {
    ...headers,
    ...(accept === undefined ? {} : { accept }),
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
    host: authorityOf(place),
    'Audit-ID': id,
    'X-Forwarded-For': forwardedFor.join(', '),
    'X-Forwarded-Uri': info.path,
    'X-Forwarded-Host': authorityOf(place),
    'X-Forwarded-Proto': 'https',
    ...identityHeaders(user, options.withUid),
  }
}

async function pass(from: IncomingMessage, sink: ResponseSink, over: AbortSignal): Promise<void> {
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      if (!sink.write(chunk)) await sink.drained()
    }
  } catch (error) {
    if (over.aborted) return
    // Not a fault of this server. The client sees a truncated answer.
    throw new RequestAbortedError((error as Error).message)
  }
}

function answerOf(
  context: RequestContext,
  incoming: IncomingMessage,
  more: { rejectsRedirects: boolean; over: AbortSignal },
): Answer {
  const { statusCode: status = 502, headers } = incoming
  if (more.rejectsRedirects && status >= 300 && status < 400 && headers.location !== undefined) {
    incoming.destroy()
    const text = 'the backend attempted to redirect this request, which is not permitted'
    return answerText(502, text)
  }
  const kept = Object.entries(forwardable(headers)).filter(
    ([name]) => !name.startsWith('access-control-'),
  )
  const answer = { status, headers: Object.fromEntries(kept), isFormed: true, isForwarded: true }
  if (context.http.method === 'HEAD' || status === 204 || status === 304) {
    incoming.resume()
    return { ...answer, body: Buffer.alloc(0) } as ForwardedAnswer
  }
  return { ...answer, body: (sink) => pass(incoming, sink, more.over) } as ForwardedAnswer
}

const noBody = Buffer.alloc(0)

function tunnelTo(
  { headers }: IncomingMessage,
  upgraded: Upgraded,
  stopping: AbortSignal,
): TunnelAnswer & ForwardedAnswer {
  return {
    status: 101,
    headers: {
      ...forwardable(headers),
      connection: 'Upgrade',
      upgrade: String(headers.upgrade),
    },
    body: noBody,
    isFormed: true,
    isForwarded: true,
    tunnel: (socket, head) => join({ socket, head }, upgraded, stopping),
  }
}

/** Throws a StatusError for a fault of the client. Every fault of the extension API server is an answer. */
export async function forwardRequest(
  context: RequestContext,
  remote: RemoteApiService,
  options: ForwardOptions,
): Promise<Answer> {
  const { connections, stopping, rejectsRedirects, log } = options
  const { http, info } = context
  checkPath(info.path)
  if (!remote.isAvailable) return unavailable()
  let place: Place
  try {
    place = connections.placeOf(remote)
  } catch (error) {
    log.warn('an aggregated API has no place', { apiService: remote.name, error })
    return unavailable()
  }
  const isUpgrade = asksForUpgrade(http)
  const headers = {
    ...headersOf(context, place, options),
    ...(isUpgrade ? { connection: 'Upgrade', upgrade: String(http.headers['upgrade']) } : {}),
  }
  const body = isUpgrade ? noBody : await http.body(maxBodyBytes)
  const ends = isLongRunning(context) ? [stopping, ...(context.lost ? [context.lost] : [])] : []
  const over = AbortSignal.any(ends)
  try {
    const incoming = await connections.send(remote, {
      place,
      ask: {
        method: http.method,
        path: http.url,
        headers: {
          ...headers,
          ...(body.length === 0 && !hasBody(http.headers)
            ? {}
            : { 'content-length': String(body.length) }),
        },
        body,
        signal: AbortSignal.any([http.signal, over]),
      },
    })
    if (incoming.upgraded !== undefined) return tunnelTo(incoming, incoming.upgraded, stopping)
    return answerOf(context, incoming, { rejectsRedirects, over })
  } catch (error) {
    if (!(error instanceof ExtensionUnreachableError)) throw error
    return answerText(503, `error trying to reach service: ${error.message}\n`)
  }
}

function hasBody(headers: RequestContext['http']['headers']): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}
