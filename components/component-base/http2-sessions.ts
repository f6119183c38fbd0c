/** The HTTP/2 connections of a listener: each request goes to the handler, and quiet connections are closed. */
import { constants, performServerHandshake } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Answering } from './answering.ts'
import { Http2Request, sendHttp2 } from './http2-exchange.ts'
import type { Connection } from './http2-exchange.ts'
import type { HttpsServerLimits } from './https-limits.ts'
import type { Log } from './log.ts'

export interface Http2Sessions {
  /** Serves a connection whose TLS handshake has ended. */
  serve(socket: TLSSocket, connection: Connection): void
  /** Closes the connections that sent no preface or no request for too long. */
  sweep(): void
  /** Sends GOAWAY to all clients, and to those that still connect. */
  drain(): void
  /** Cuts off the connections that are left. */
  cutOff(): void
}

export interface Http2SessionsOptions {
  readonly limits: HttpsServerLimits
  readonly answering: Answering
  readonly log: Log
}

interface SessionState {
  /** Requests being answered. */
  open: number
  quietSince: number
  /** The client's preface has come. */
  isGreeted: boolean
}

type StreamArguments = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
]

export function createHttp2Sessions(options: Http2SessionsOptions): Http2Sessions {
  const { limits, answering, log } = options
  const sessions = new Map<ServerHttp2Session, SessionState>()
  let isDraining = false
  return {
    serve: (socket, connection) => {
      const session = openSession(socket, limits)
      const state: SessionState = { open: 0, quietSince: Date.now(), isGreeted: false }
      sessions.set(session, state)
      session.once('remoteSettings', () => {
        state.isGreeted = true
      })
      session.on('error', (error) => log.debug('connection failed', { error }))
      session.on('close', () => sessions.delete(session))
      session.on('stream', (...[stream, headers, , rawHeaders]: StreamArguments) => {
        const request = new Http2Request(stream, { headers, rawHeaders }, connection)
        serveStream(stream, request, state, answering)
      })
      if (isDraining) session.close()
    },
    sweep: () => {
      const now = Date.now()
      for (const [session, state] of sessions) {
        const quietMs = now - state.quietSince
        if (!state.isGreeted && quietMs > limits.headersTimeoutMs) session.destroy()
        else if (state.open === 0 && quietMs > limits.idleTimeoutMs) session.close()
      }
    },
    drain: () => {
      isDraining = true
      for (const session of sessions.keys()) session.close()
    },
    cutOff: () => {
      for (const session of sessions.keys()) session.destroy()
    },
  }
}

function openSession(socket: TLSSocket, limits: HttpsServerLimits): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    maxHeaderListPairs: 256,
    maxSendHeaderBlockLength: limits.maxHeaderBytes,
    maxSessionMemory: 64,
    // Node's limit, 1,000 and then 33 a second, ends connections of clients that cancel many watches. Go's server has no such
    // limit (golang.org/x/net/http2), and a cancelled request costs no more here than one that is answered.
    streamResetBurst: 10_000,
    streamResetRate: 1000,
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      initialWindowSize: 262_144,
    },
  })
  session.setLocalWindowSize(1_048_576)
  return session
}

function serveStream(
  stream: ServerHttp2Stream,
  request: Http2Request,
  state: SessionState,
  answering: Answering,
): void {
  state.open += 1
  // Without a listener a reset stream would end the process; 'close' follows with the same news.
  stream.on('error', () => {})
  stream.on('close', () => {
    state.open -= 1
    if (state.open === 0) state.quietSince = Date.now()
    request.closed()
  })
  answering
    .answerTo(request)
    .then((answer) => sendHttp2(stream, request, answer))
    .catch((error: unknown) => {
      answering.logCutShort(request, error)
      if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    })
}
