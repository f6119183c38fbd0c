/** websocket-upgrade: which requests go on as WebSockets, and their way to what serves them, loaded for the first of them. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dialect } from '../../api/dialect.ts'
import type { Log } from '../../component-base/log.ts'
import { parseRequestInfo } from '../request/request-info.ts'
import type { Answer, HttpRequest, RequestInfo } from '../request/request.ts'
import { isWebSocketRequest } from '../request/websocket-request.ts'

/** Whether another server answers a request, so that it is that server's to agree to another protocol. */
export type IsElsewhere = (info: RequestInfo) => boolean

const streams = new Set(['exec', 'attach', 'portforward'])

/** Whether a request asks for the streams of a pod, which go on as what its node agent agrees to. */
function isStreamOfPod({ group, plural, subresource }: RequestInfo): boolean {
  return group === '' && plural === 'pods' && streams.has(subresource)
}

/** Whether the answer is a stream that a WebSocket can carry as messages. */
function isMessages({ verb, group, plural, subresource }: RequestInfo): boolean {
  return verb === 'watch' || (group === '' && plural === 'pods' && subresource === 'log')
}

/**
 * Of what this server answers itself, watches and logs of pods go on as WebSockets, and streams of pods as their node's agent
 * agrees to; every other request is answered as if it had not asked.
 */
export function mayUpgrade(isElsewhere: IsElsewhere): (incoming: IncomingMessage) => boolean {
  return ({ method = '', url = '/', headers }) => {
    try {
      const info = parseRequestInfo(method, url)
      if (isElsewhere(info) || isStreamOfPod(info)) return true
      return method === 'GET' && isMessages(info) && isWebSocketRequest({ headers })
    } catch {
      // A broken target hears of it in an ordinary answer.
      return false
    }
  }
}

export interface WebSocketOptions {
  /**
   * The whole chain. A watch and a log are answered with status 101 and a body that writes one message at a time, and with the
   * protocol, when it matters which.
   */
  readonly handle: (http: HttpRequest) => Promise<Answer>
  readonly dialect: Dialect
  readonly log: Log
  readonly isElsewhere: IsElsewhere
}

interface Connection {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

/** Answers one request to upgrade its connection. */
export type ServeUpgrade = (http: HttpRequest, connection: Connection) => Promise<void>

/** What the listener hands such requests to. */
export function webSocketUpgrade(
  options: WebSocketOptions,
): (http: HttpRequest, connection: Connection) => void {
  let serving: Promise<ServeUpgrade> | undefined
  const serve: ServeUpgrade = async (http, connection) => {
    const info = parseRequestInfo(http.method, http.url)
    if (options.isElsewhere(info) || isStreamOfPod(info)) {
      const { serveTunnel } = await import('../egress/tunnel.ts')
      return await serveTunnel(http, connection, options)
    }
    serving ??= import('./websocket-messages.ts').then((module) =>
      module.createWebSocketUpgrade(options),
    )
    await (
      await serving
    )(http, connection)
  }
  return (http, connection) => {
    serve(http, connection).catch((error: unknown) => {
      options.log.error('upgrade failed', { error })
      connection.socket.destroy()
    })
  }
}
