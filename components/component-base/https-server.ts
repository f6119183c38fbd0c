/**
 * The TLS listener of every serving process: HTTP/2 and, chosen by ALPN, HTTP/1.1, both handed to one handler. Client
 * certificates are asked for and passed on unverified; whoever authenticates must verify them.
 */
import type { IncomingMessage } from 'node:http'
import { constants, performServerHandshake } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type { Answer, HttpRequest, PeerCertificate } from './http.ts'
import { RequestAbortedError } from './http.ts'
import { answerUnreadable, Http1Request, sendHttp1 } from './http1-exchange.ts'
import { Http2Request, sendHttp2 } from './http2-exchange.ts'
import type { Connection } from './http2-exchange.ts'
import type { Log } from './log.ts'
import { createServer as createHttp1Server } from './node-http.ts'
import { createPeerReader } from './peer-certificate.ts'

/** PEM texts. `cert` starts with the server's own certificate. */
export interface ServerCertificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface HttpsServerLimits {
  /** A TLS handshake, an HTTP/1.1 head or an HTTP/2 preface that takes longer ends the connection; default 30 s. */
  readonly headersTimeoutMs: number
  /** A request body that takes longer is given up; default 60 s. */
  readonly bodyTimeoutMs: number
  /** A connection without any request for this long is closed; default 90 s, as upstream. */
  readonly idleTimeoutMs: number
  /** Total size of a request's headers; default 64 KiB. */
  readonly maxHeaderBytes: number
  /** Requests at once on one HTTP/2 connection; default 1000, as upstream. */
  readonly maxConcurrentStreams: number
  /** How long shutdown waits for requests in flight; default 10 s. */
  readonly drainMs: number
}

export interface HttpsServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly tls: ServerCertificate & {
    /** Authorities named to clients so that they choose a fitting certificate; PEM. It does not make them verified. */
    readonly clientCa?: string | Buffer
    /** Default TLSv1.2. */
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
    readonly ciphers?: string
  }
  /** A rejection is a bug of the handler: it is logged and answered with a bare 500. */
  readonly handler: (request: HttpRequest) => Promise<Answer>
  /** Takes over the connection of an HTTP/1.1 request that asks for another protocol. Without it such requests are plain ones. */
  readonly upgrade?: (
    request: HttpRequest,
    connection: {
      readonly incoming: IncomingMessage
      readonly socket: Duplex
      readonly head: Buffer
    },
  ) => void
  /** Which of those requests are handed to `upgrade`; the others are plain ones. Default: all. */
  readonly mayUpgrade?: (incoming: IncomingMessage) => boolean
  readonly limits?: Partial<HttpsServerLimits>
  readonly log: Log
}

export interface HttpsServer {
  /** Resolves when connections are accepted; rejects if they never will be. */
  readonly ready: Promise<{ readonly host: string; readonly port: number }>
  /**
   * Listens and serves until `signal` aborts, then accepts no more, tells clients to go away, waits for what is in flight
   * (at most `drainMs`) and cuts off the rest. Rejects with a clear message when it cannot listen.
   */
  run(signal: AbortSignal): Promise<void>
  /**
   * New connections get this certificate, and are named these authorities when given, from now on; open ones keep theirs. Throws
   * when they cannot be used; then nothing changes.
   */
  setCertificate(certificate: ServerCertificate & Pick<HttpsServerOptions['tls'], 'clientCa'>): void
  /** Open connections. */
  readonly connections: number
}

/** By ALPN, the preferred first. */
const spoken = ['h2', 'http/1.1']

const defaultLimits: HttpsServerLimits = {
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 90_000,
  maxHeaderBytes: 65_536,
  maxConcurrentStreams: 1000,
  drainMs: 10_000,
}

function connectionOf(
  socket: TLSSocket,
  bodyTimeoutMs: number,
  readPeer: (socket: TLSSocket) => PeerCertificate | undefined,
): Connection {
  let peer: PeerCertificate | undefined
  let isPeerRead = false
  return {
    remoteAddress: socket.remoteAddress ?? '',
    bodyTimeoutMs,
    get peer() {
      if (!isPeerRead) peer = readPeer(socket)
      isPeerRead = true
      return peer
    },
  }
}

type StreamArguments = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
]

const internalFault: Answer = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from('Internal Server Error\n'),
}

/** To a client that speaks HTTP without TLS, as upstream's listener answers it (Go: net/http Server.serve). */
const plainHttp =
  'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n'

/** The peer of a connection; unique among open ones. */
function nameOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ''} ${socket.remotePort ?? ''}`
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const why: Record<string, string> = {
    EADDRINUSE: 'the port is already in use',
    EACCES: 'permission denied',
    EADDRNOTAVAIL: 'this machine has no such address',
  }
  const reason = why[error.code ?? ''] ?? error.message
  return new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error })
}

/** A listener that does nothing until `run`. */
export function createHttpsServer(options: HttpsServerOptions): HttpsServer {
  const { host, port, tls, handler, upgrade, mayUpgrade = () => true, log } = options
  const limits = { ...defaultLimits, ...options.limits }
  const sockets = new Set<Socket>()
  /** Connections whose TLS handshake has not ended, by the name of their peer: TLS sockets do not say which one they are on. */
  const handshaking = new Map<string, Socket>()
  const connectionKey = new WeakMap<object, Connection>()
  /** HTTP/1.1 connections, and whether each has a request being answered. */
  const isAnswering = new Map<Duplex, boolean>()
  /** HTTP/2 sessions with what the sweep needs to know of them. */
  const sessions = new Map<
    ServerHttp2Session,
    { open: number; quietSince: number; isGreeted: boolean }
  >()
  const readPeer = createPeerReader()
  let isDraining = false

  const answerTo = async (request: HttpRequest): Promise<Answer> => {
    try {
      return await handler(request)
    } catch (error) {
      if (!(error instanceof RequestAbortedError)) log.error('request handler failed', { error })
      return internalFault
    }
  }
  const logCutShort = (request: HttpRequest, error: unknown): void => {
    if (error instanceof RequestAbortedError || request.signal.aborted) return
    log.error('answer cut short', { method: request.method, error })
  }

  const serveHttp2 = (socket: TLSSocket): void => {
    const connection = connectionOf(socket, limits.bodyTimeoutMs, readPeer)
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
    const state = { open: 0, quietSince: Date.now(), isGreeted: false }
    sessions.set(session, state)
    session.setLocalWindowSize(1_048_576)
    session.once('remoteSettings', () => {
      state.isGreeted = true
    })
    session.on('error', (error) => log.debug('connection failed', { error }))
    session.on('close', () => sessions.delete(session))
    session.on('stream', (...[stream, headers, , rawHeaders]: StreamArguments) => {
      const request = new Http2Request(stream, { headers, rawHeaders }, connection)
      state.open += 1
      // Without a listener a reset stream would end the process; what it means is told by 'close'.
      stream.on('error', () => {})
      stream.on('close', () => {
        state.open -= 1
        if (state.open === 0) state.quietSince = Date.now()
        request.closed()
      })
      answerTo(request)
        .then((answer) => sendHttp2(stream, request, answer))
        .catch((error: unknown) => {
          logCutShort(request, error)
          if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
        })
    })
    if (isDraining) session.close()
  }

  const http1 = createHttp1Server(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.ceil(limits.headersTimeoutMs / 4),
      shouldUpgradeCallback: (incoming) => upgrade !== undefined && mayUpgrade(incoming),
    },
    (message, response) => {
      const connection = connectionKey.get(message.socket)
      if (connection === undefined) return
      const request = new Http1Request(message, connection)
      isAnswering.set(message.socket, true)
      if (isDraining) response.shouldKeepAlive = false
      response.on('error', () => {
        // A peer that has gone is told by 'close'.
      })
      response.on('close', () => {
        if (isAnswering.has(message.socket)) isAnswering.set(message.socket, false)
        if (!response.writableFinished) request.closed()
      })
      answerTo(request)
        .then((answer) => sendHttp1(message, response, request, answer))
        .catch((error: unknown) => {
          logCutShort(request, error)
          response.destroy()
        })
    },
  )
  const unreadable = new WeakSet<Duplex>()
  http1.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Whatever follows cannot be read either.
    if (unreadable.has(socket)) return
    unreadable.add(socket)
    if (isAnswering.get(socket) === true) socket.destroy()
    else answerUnreadable(socket, error)
  })
  http1.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const connection = connectionKey.get(socket)
    if (connection === undefined || upgrade === undefined) {
      socket.destroy()
      return
    }
    const request = new Http1Request(incoming, connection)
    isAnswering.set(socket, true)
    socket.on('error', () => {
      // Told by 'close'.
    })
    socket.on('close', () => request.closed())
    upgrade(request, { incoming, socket, head })
  })

  const listener = createTlsServer({
    ...tls,
    // An explicit list, even an empty one, keeps Node from loading its own root certificates.
    ca: tls.clientCa ?? [],
    minVersion: tls.minVersion ?? 'TLSv1.2',
    // A list of names would be copied into Node's shared pool for each connection, which then keeps 64 KB of it.
    ALPNCallback: ({ protocols }) => spoken.find((protocol) => protocols.includes(protocol)),
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.headersTimeoutMs,
    noDelay: true,
  })
  listener.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    sockets.add(socket)
    handshaking.set(name, socket)
    socket.on('close', () => {
      sockets.delete(socket)
      if (handshaking.get(name) === socket) handshaking.delete(name)
    })
    if (isDraining) socket.destroy()
  })
  listener.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug('TLS handshake failed', { error })
    if (error.code === 'ERR_SSL_HTTP_REQUEST') handshaking.get(nameOf(socket))?.write(plainHttp)
    socket.destroy()
  })
  listener.on('secureConnection', (socket: TLSSocket) => {
    handshaking.delete(nameOf(socket))
    socket.on('error', () => {
      // Told by 'close'.
    })
    if (socket.alpnProtocol === 'h2') {
      serveHttp2(socket)
      return
    }
    connectionKey.set(socket, connectionOf(socket, limits.bodyTimeoutMs, readPeer))
    isAnswering.set(socket, false)
    socket.on('close', () => isAnswering.delete(socket))
    http1.emit('connection', socket)
  })

  const sweep = (): void => {
    const now = Date.now()
    for (const [session, state] of sessions) {
      const quietMs = now - state.quietSince
      if (!state.isGreeted && quietMs > limits.headersTimeoutMs) session.destroy()
      else if (state.open === 0 && quietMs > limits.idleTimeoutMs) session.close()
    }
  }

  const drain = async (): Promise<void> => {
    isDraining = true
    const closed = new Promise<void>((resolve) => {
      listener.close(() => resolve())
    })
    // Who has not asked for anything yet, be it slowly, waits for nothing.
    for (const socket of handshaking.values()) socket.destroy()
    for (const session of sessions.keys()) session.close()
    for (const [socket, isBusy] of isAnswering) if (!isBusy) socket.destroy()
    const cutOff = setTimeout(() => {
      for (const session of sessions.keys()) session.destroy()
      for (const socket of sockets) socket.destroy()
    }, limits.drainMs)
    await closed
    clearTimeout(cutOff)
    http1.close()
  }

  const {
    promise: ready,
    resolve: nowReady,
    reject: neverReady,
  } = Promise.withResolvers<{
    host: string
    port: number
  }>()
  // Whoever runs the server gets the same rejection from `run`.
  ready.catch(() => {})

  return {
    ready,
    run: async (signal) => {
      try {
        signal.throwIfAborted()
        await new Promise<void>((resolve, reject) => {
          listener.once('error', (error) => reject(listenError(error, host, port)))
          listener.listen({ host, port, backlog: 1024 }, resolve)
        })
      } catch (error) {
        neverReady(error)
        throw error
      }
      listener.on('error', (error) => log.error('listener failed', { error }))
      // Starts the check of slow heads and bodies, which only a listening server would run.
      http1.emit('listening')
      const sweeper = setInterval(sweep, Math.ceil(limits.headersTimeoutMs / 4))
      nowReady({ host, port: (listener.address() as AddressInfo).port })
      if (!signal.aborted) {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      clearInterval(sweeper)
      await drain()
    },
    setCertificate: ({ cert, key, clientCa = tls.clientCa }) => {
      listener.setSecureContext({
        ...tls,
        cert,
        key,
        ca: clientCa ?? [],
        minVersion: tls.minVersion ?? 'TLSv1.2',
      })
    },
    get connections() {
      return sockets.size
    },
  }
}
