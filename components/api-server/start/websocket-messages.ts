/**
 * websocket-messages: watches and logs over a WebSocket (RFC 6455), one message per event. The request passes the same chain
 * as any other; only its answer is sent as messages.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Dialect } from '../../api/dialect.ts'
import { ConnectionCutError } from '../../component-base/http.ts'
import { refuseUpgrade } from '../../component-base/http1-exchange.ts'
import { drainOf } from '../../component-base/http2-exchange.ts'
import { bearerProtocolPrefix } from '../authn/bearer-token.ts'
import type { ResponseSink } from '../request/request.ts'
import type { ServeUpgrade, WebSocketOptions } from './websocket-upgrade.ts'

/** The server drops the messages of clients. */
const mostReceivedBytes = 64 * 1024

/** The status code of a normal close. */
const normalClosure = 1000

/** The first protocol that is no credential. A client that offers protocols expects one of them. */
function chooseProtocol(offered: ReadonlySet<string>, dialect: Dialect): string | false {
  const prefix = bearerProtocolPrefix(dialect)
  return [...offered].find((name) => !name.startsWith(prefix)) ?? false
}

function sinkOf(ws: WebSocket, socket: Duplex, from: { isText: boolean; signal: AbortSignal }) {
  const sink: ResponseSink = {
    write: (chunk) => {
      if (ws.readyState !== ws.OPEN) return false
      ws.send(chunk, { binary: !from.isText })
      return !socket.writableNeedDrain
    },
    drained: () => drainOf(socket),
    get buffered() {
      return ws.bufferedAmount
    },
    signal: from.signal,
  }
  return sink
}

/** Answers upgrade requests. */
export function createWebSocketUpgrade(options: WebSocketOptions): ServeUpgrade {
  const { handle, dialect, log } = options
  /** The protocol that the answer chose. A watch accepts any. */
  const agreed = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: mostReceivedBytes,
    perMessageDeflate: false,
    handleProtocols: (offered, incoming) =>
      agreed.get(incoming) ?? chooseProtocol(offered, dialect),
  })
  return async (http, { incoming, socket, head }) => {
    const answer = await handle(http)
    const { status, headers, body } = answer
    if (status !== 101 || Buffer.isBuffer(body)) {
      refuseUpgrade(socket, answer)
      return
    }
    const { 'content-type': type, 'sec-websocket-protocol': protocol, ...others } = headers
    const isText = type === 'application/json' || type === 'text/plain'
    if (protocol !== undefined) agreed.set(incoming, String(protocol))
    const sayHeaders = (lines: string[]): void => {
      for (const [name, value] of Object.entries(others)) {
        lines.push(`${name}: ${[value].flat().join(', ')}`)
      }
    }
    server.once('headers', sayHeaders)
    server.handleUpgrade(incoming, socket, head, (ws) => {
      ws.on('error', (error) => log.debug('WebSocket failed', { error }))
      body(sinkOf(ws, socket, { isText, signal: http.signal }))
        .catch((error: unknown) => {
          if (error instanceof ConnectionCutError) ws.terminate()
          else if (!http.signal.aborted) log.error('WebSocket cut short', { error })
        })
        .finally(() => ws.close(normalClosure))
    })
    server.off('headers', sayHeaders)
  }
}
