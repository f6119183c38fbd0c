/** Listener: the console's HTTP server. It routes requests that the guard admits; everything else gets 403. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { StartError } from '../../components/component-base/component.ts'
import type { Asset } from './assets.ts'
import { forwardPrefix } from './forward.ts'
import type { ForwardUpgrade } from './forward-upgrade.ts'
import type { Guard } from './guard.ts'
import { labPrefix } from './lab/lab.ts'
import { lessonsPrefix } from './lessons/lesson-requests.ts'
import type { LinkKeys } from './links.ts'
import { securityHeaders } from './security-headers.ts'
import type { Sessions } from './sessions.ts'

/** Messages of the page are small. */
const mostMessageBytes = 64 * 1024
const mostPages = 50

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export interface ListenerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly guard: Guard
  readonly links: LinkKeys
  readonly sessions: Sessions
  readonly assets: ReadonlyMap<string, Asset>
  /** Answer what is below their prefixes; the guard has admitted the page. */
  readonly forward: Handler
  readonly lab: Handler
  readonly lessons: Handler
  readonly onPage: (socket: WebSocket) => void
  /** Takes over upgrades below the prefix of forwarded requests; the guard has admitted them. */
  readonly forwardUpgrade: ForwardUpgrade
}

export interface Listener {
  readonly port: number
  /** Ends all connections. */
  close(): Promise<void>
}

function refuse(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' })
  response.end(text)
}

function refuseUpgrade(socket: Duplex, text: string): void {
  socket.end(
    `HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n${text}`,
  )
}

/** `/open?key=...`: a session for a link. */
function openSession(response: ServerResponse, key: string, options: ListenerOptions): void {
  if (!options.links.redeem(key)) {
    refuse(
      response,
      403,
      'this link was used, is too old, or is not of this console: skiff console prints a new one\n',
    )
    return
  }
  response.writeHead(303, { location: '/', 'set-cookie': options.sessions.begin() }).end()
}

/** What answers the page alone, by the prefix of its path; undefined for the page's own files. */
function handlerFor(url: string, options: ListenerOptions): Handler | undefined {
  if (url.startsWith(forwardPrefix)) return options.forward
  if (url.startsWith(labPrefix)) return options.lab
  return url.startsWith(lessonsPrefix) ? options.lessons : undefined
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenerOptions,
): Promise<void> {
  const { guard, assets } = options
  const { method = '', url = '' } = request
  const { pathname, searchParams } = new URL(url, 'http://console')
  if (pathname === '/open') {
    const refusal = guard.addressed(request)
    if (refusal === undefined) openSession(response, searchParams.get('key') ?? '', options)
    else refuse(response, 403, refusal)
    return
  }
  const handler = handlerFor(url, options)
  const refusal = handler === undefined ? guard.admitted(request) : guard.fromPage(request)
  if (refusal !== undefined) {
    refuse(response, 403, refusal)
    return
  }
  if (handler !== undefined) {
    await handler(request, response)
    return
  }
  const asset = assets.get(pathname)
  if (asset === undefined) refuse(response, 404, 'not found\n')
  else if (method !== 'GET') refuse(response, 405, 'method not allowed\n')
  else response.writeHead(200, { 'content-type': asset.type }).end(asset.body)
}

/** Rejects with a StartError when it cannot listen. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { host, port, guard } = options
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    route(request, response, options).catch(() => response.destroy())
  })
  const sockets = new WebSocketServer({ noServer: true, maxPayload: mostMessageBytes })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    const isForward = request.url?.startsWith(forwardPrefix) === true
    const isKnown = request.url === '/live' || isForward
    const refusal = isKnown ? guard.fromPage(request) : 'not found\n'
    if (refusal === undefined && isForward) {
      const why = options.forwardUpgrade(request, socket, head)
      if (why !== undefined) refuseUpgrade(socket, why)
      return
    }
    if (refusal !== undefined || sockets.clients.size >= mostPages) {
      refuseUpgrade(socket, refusal ?? 'too many pages are open\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, options.onPage)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      const text = taken
        ? `port ${port} is in use: choose another with --port, or pass --port 0`
        : `cannot listen at ${host}:${port}: ${error.message}`
      reject(new StartError(text, error))
    })
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
