/**
 * forwardUpgrade: passes the WebSocket of a shell on to the API server, with the viewer's credential, and back. Only `exec` and `attach` of
 * pods, in the protocol v5.channel.k8s.io (KEP-4006). A refusal of the API server becomes a message of the error channel, since
 * browsers show no page what a failed upgrade answered.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer, type RawData } from 'ws'
import type { RestClient } from '../../components/client/rest-client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { forwardPrefix } from './forward.ts'

const protocol = 'v5.channel.k8s.io'
const errorChannel = 3
/** A reader that is behind by more stops the other side. */
const mostWaitingBytes = 1024 * 1024
const mostMessageBytes = 1024 * 1024
const mostStreams = 50
/** An API server that does not answer the upgrade in time. */
const handshakeTimeoutMs = 30_000
/** Of the text of a refusal. */
const mostRefusalBytes = 16 * 1024

/** Returns why the request is refused, undefined when the socket was taken over. The caller's guard has admitted it. */
export type ForwardUpgrade = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => string | undefined

const streamPath = /^\/api\/v1\/namespaces\/[^/?]+\/pods\/[^/?]+\/(exec|attach)(\?|$)/

/** Sends what one side says to the other; the first pauses while the second is behind. */
function pipe(from: WebSocket, to: WebSocket): void {
  from.on('message', (data: RawData, isBinary: boolean) => {
    if (to.readyState !== WebSocket.OPEN) return
    to.send(data as Buffer, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < mostWaitingBytes) from.resume()
    })
    if (to.bufferedAmount >= mostWaitingBytes) from.pause()
  })
}

/** Codes that an endpoint may send; the others only describe how a connection was lost. */
function closeWith(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState !== WebSocket.OPEN) return
  const isSendable = code === 1000 || (code >= 1007 && code <= 1011) || code >= 3000
  socket.close(isSendable ? code : 1000, reason)
}

function refuse(page: WebSocket, status: object): void {
  // It reads the goodbye of the page.
  page.resume()
  if (page.readyState !== WebSocket.OPEN) return
  page.send(Buffer.concat([Buffer.from([errorChannel]), Buffer.from(JSON.stringify(status))]))
  page.close(1000)
}

const failure = (message: string, code = 502): object => {
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {} }
  return { ...head, status: 'Failure', message, code }
}

/** The Status of a refused upgrade. */
async function refusalOf(answer: IncomingMessage): Promise<object> {
  const { statusCode = 502 } = answer
  let text = ''
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    text += chunk.toString('utf8')
    if (text.length > mostRefusalBytes) break
  }
  try {
    const status: unknown = JSON.parse(text)
    if (typeof status === 'object' && status !== null) return status
  } catch {
    // The text says it.
  }
  return failure(text.trim().slice(0, 500) || `the server answered ${statusCode}`, statusCode)
}

async function connect(rest: RestClient, path: string, page: WebSocket): Promise<void> {
  const { tls, headers } = await rest.dialing()
  if (page.readyState !== WebSocket.OPEN) return
  const server = rest.server.replace(/\/$/, '').replace(/^http/, 'ws')
  const remote = new WebSocket(`${server}${path}`, [protocol], {
    ...tls,
    headers: { ...headers },
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: mostMessageBytes,
    perMessageDeflate: false,
  })
  remote.on('unexpected-response', (request, answer) => {
    refusalOf(answer)
      .then((status) => refuse(page, status))
      .catch((error: unknown) => refuse(page, failure(messageOf(error))))
      .finally(() => request.destroy())
  })
  remote.on('error', (error) => refuse(page, failure(messageOf(error))))
  // What the page says before the other side is there waits in its socket.
  remote.on('open', () => {
    pipe(page, remote)
    pipe(remote, page)
    page.resume()
  })
  // Whoever was paused reads on, to see the other's goodbye.
  remote.on('close', (code, reason) => {
    page.resume()
    closeWith(page, code, reason.toString())
  })
  page.on('close', () => {
    remote.resume()
    if (remote.readyState === WebSocket.CONNECTING) remote.terminate()
    else closeWith(remote, 1000, '')
  })
}

export function createForwardUpgrade(rest: RestClient): {
  readonly forward: ForwardUpgrade
  /** Ends all streams. */
  close(): void
} {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: mostMessageBytes,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
  })
  return {
    forward: (request, socket, head) => {
      const path = (request.url ?? '').slice(forwardPrefix.length - 1)
      const offered = request.headers['sec-websocket-protocol'] ?? ''
      if (!streamPath.test(path)) return 'only exec and attach of pods can be forwarded\n'
      if (!offered.split(/, */).includes(protocol)) return `only ${protocol} can be forwarded\n`
      if (sockets.clients.size >= mostStreams) return 'too many shells are open\n'
      sockets.handleUpgrade(request, socket, head, (page) => {
        page.on('error', () => page.terminate())
        page.pause()
        connect(rest, path, page).catch((error: unknown) => refuse(page, failure(messageOf(error))))
      })
      return undefined
    },
    close: () => {
      for (const page of sockets.clients) page.terminate()
      sockets.close()
    },
  }
}
