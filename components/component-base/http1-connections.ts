/** The HTTP/1.1 connections of a listener: each request goes to the handler, and each upgrade to its own handler. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Answering } from './answering.ts'
import type { HttpRequest } from './http.ts'
import { answerUnreadable, Http1Request, sendHttp1 } from './http1-exchange.ts'
import type { Connection } from './http2-exchange.ts'
import type { HttpsServerLimits } from './https-limits.ts'
import { createServer } from './node-http.ts'

/** Takes over the connection of a request that asks for another protocol. */
export type UpgradeHandler = (
  request: HttpRequest,
  connection: {
    readonly incoming: IncomingMessage
    readonly socket: Duplex
    readonly head: Buffer
  },
) => void

export interface Http1Connections {
  /** Starts the check of slow heads and bodies, which only a listening server would run. */
  listening(): void
  /** Serves a connection whose TLS handshake has ended. */
  serve(socket: TLSSocket, connection: Connection): void
  /** Ends idle connections at once, and the others with their answer. */
  drain(): void
  close(): void
}

export interface Http1ConnectionsOptions {
  readonly limits: HttpsServerLimits
  readonly answering: Answering
  /** Without it requests for another protocol are plain ones. */
  readonly upgrade: UpgradeHandler | undefined
  /** Which requests for another protocol `upgrade` gets. */
  readonly mayUpgrade: (incoming: IncomingMessage) => boolean
}

interface State extends Http1ConnectionsOptions {
  readonly connections: WeakMap<object, Connection>
  /** Open connections, and whether each has a request being answered. */
  readonly isAnswering: Map<Duplex, boolean>
  isDraining: boolean
}

export function createHttp1Connections(options: Http1ConnectionsOptions): Http1Connections {
  const { limits, upgrade, mayUpgrade } = options
  const isAnswering = new Map<Duplex, boolean>()
  const state: State = { ...options, connections: new WeakMap(), isAnswering, isDraining: false }
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.ceil(limits.headersTimeoutMs / 4),
      shouldUpgradeCallback: (incoming) => upgrade !== undefined && mayUpgrade(incoming),
    },
    (message, response) => serveRequest(state, message, response),
  )
  refuseUnreadable(server, isAnswering)
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
    handOver(state, incoming, { socket, head }),
  )
  return {
    listening: () => void server.emit('listening'),
    serve: (socket, connection) => {
      state.connections.set(socket, connection)
      isAnswering.set(socket, false)
      socket.on('close', () => isAnswering.delete(socket))
      server.emit('connection', socket)
    },
    drain: () => {
      state.isDraining = true
      for (const [socket, isBusy] of isAnswering) if (!isBusy) socket.destroy()
    },
    close: () => void server.close(),
  }
}

function serveRequest(state: State, message: IncomingMessage, response: ServerResponse): void {
  const { connections, isAnswering, answering } = state
  const connection = connections.get(message.socket)
  if (connection === undefined) return
  const request = new Http1Request(message, connection)
  isAnswering.set(message.socket, true)
  if (state.isDraining) response.shouldKeepAlive = false
  response.on('error', () => {
    // A peer that has gone: 'close' follows.
  })
  response.on('close', () => {
    if (isAnswering.has(message.socket)) isAnswering.set(message.socket, false)
    if (!response.writableFinished) request.closed()
  })
  answering
    .answerTo(request)
    .then((answer) => sendHttp1(message, response, request, answer))
    .catch((error: unknown) => {
      answering.logCutShort(request, error)
      response.destroy()
    })
}

function refuseUnreadable(server: Server, isAnswering: ReadonlyMap<Duplex, boolean>): void {
  const unreadable = new WeakSet<Duplex>()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // The bytes after an unreadable request cannot be read either.
    if (unreadable.has(socket)) return
    unreadable.add(socket)
    if (isAnswering.get(socket) === true) socket.destroy()
    else answerUnreadable(socket, error)
  })
}

function handOver(
  { connections, isAnswering, upgrade }: State,
  incoming: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
): void {
  const connection = connections.get(socket)
  if (connection === undefined || upgrade === undefined) {
    socket.destroy()
    return
  }
  const request = new Http1Request(incoming, connection)
  isAnswering.set(socket, true)
  socket.on('error', () => {
    // 'close' follows.
  })
  socket.on('close', () => request.closed())
  upgrade(request, { incoming, socket, head })
}
