/** websocket-upgrade: decides which requests may upgrade, and loads what serves them with the first one. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dialect } from '../../api/dialect.ts'
import { ConnectionCutError } from '../../component-base/http.ts'
import type { Log } from '../../component-base/log.ts'
import { parseRequestInfo } from '../request/request-info.ts'
import type { Answer, HttpRequest, RequestInfo } from '../request/request.ts'
import { isWebSocketRequest } from '../request/websocket-request.ts'

/** Whether another server answers a request. That server then accepts or rejects the upgrade. */
export type IsElsewhere = (info: RequestInfo) => boolean

const streams = new Set(['exec', 'attach', 'portforward'])

/** Whether a request is for a stream of a pod. The node's agent chooses its protocol. */
function isStreamOfPod({ group, plural, subresource }: RequestInfo): boolean {
  return group === '' && plural === 'pods' && streams.has(subresource)
}

/** Whether the answer is a stream that a WebSocket can carry as messages. */
function isMessages({ verb, group, plural, subresource }: RequestInfo): boolean {
  return verb === 'watch' || (group === '' && plural === 'pods' && subresource === 'log')
}

/**
 * This server upgrades watches and logs of pods to WebSockets, and streams of pods to the protocol of their node agent. It
 * ignores the Upgrade header of every other request.
 */
export function mayUpgrade(isElsewhere: IsElsewhere): (incoming: IncomingMessage) => boolean {
  return ({ method = '', url = '/', headers }) => {
    try {
      const info = parseRequestInfo(method, url)
      if (isElsewhere(info) || isStreamOfPod(info)) return true
      return method === 'GET' && isMessages(info) && isWebSocketRequest({ headers })
    } catch {
      // The ordinary answer rejects an invalid target.
      return false
    }
  }
}

export interface WebSocketOptions {
  /**
   * The whole chain. It answers a watch or a log with status 101, a body that writes one message at a time, and the protocol
   * if the answer depends on it.
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

/** The handler of upgrades for the listener. */
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
      if (!(error instanceof ConnectionCutError)) options.log.error('upgrade failed', { error })
      connection.socket.destroy()
    })
  }
}
