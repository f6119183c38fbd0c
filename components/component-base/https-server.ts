/**
 * The TLS listener of every serving process: HTTP/2 and, chosen by ALPN, HTTP/1.1, both handed to one handler. Client
 * certificates are requested and passed on unverified; the authenticator must verify them.
 */
import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Server, TLSSocket } from 'node:tls'
import { aborted } from './aborted.ts'
import { createAnswering } from './answering.ts'
import type { RequestHandler } from './answering.ts'
import type { PeerCertificate } from './http.ts'
import { createHttp1Connections } from './http1-connections.ts'
import type { UpgradeHandler } from './http1-connections.ts'
import type { Connection } from './http2-exchange.ts'
import { createHttp2Sessions } from './http2-sessions.ts'
import { defaultLimits } from './https-limits.ts'
import type { HttpsServerLimits } from './https-limits.ts'
import type { Log } from './log.ts'
import type { Suspension } from './suspension.ts'
import type { UnderWay } from './under-way.ts'
import { createPeerReader } from './peer-certificate.ts'

/** PEM texts. `cert` starts with the server's own certificate. */
export interface ServerCertificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
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
  readonly handler: RequestHandler
  /** Takes over the connection of an HTTP/1.1 request that asks for another protocol. Without it such requests are plain ones. */
  readonly upgrade?: UpgradeHandler
  /** Which of those requests `upgrade` gets; the others are plain ones. Default: all. */
  readonly mayUpgrade?: (incoming: IncomingMessage) => boolean
  readonly limits?: Partial<HttpsServerLimits>
  /** Of a component that shares its process. */
  readonly suspension?: Suspension | undefined
  /** Counts the start and the end of the listener, which others wait for. */
  readonly underWay?: UnderWay | undefined
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

/** To a client that speaks HTTP without TLS, as upstream's listener answers it (Go: net/http Server.serve). */
const plainHttp =
  'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n'

/** The peer of a connection; unique among open ones. */
function nameOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ''} ${socket.remotePort ?? ''}`
}

/** While the component is paused, requests wait for it. */
function inTurn(handler: RequestHandler, suspension: Suspension | undefined): RequestHandler {
  if (suspension === undefined) return handler
  return async (request) => {
    await suspension.turn()
    return await handler(request)
  }
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

type Address = { readonly host: string; readonly port: number }

/** A listener that does nothing until `run`. */
export function createHttpsServer(options: HttpsServerOptions): HttpsServer {
  const { host, tls, upgrade, mayUpgrade = () => true, suspension, log } = options
  const handler = inTurn(options.handler, suspension)
  const limits = { ...defaultLimits, ...options.limits }
  const answering = createAnswering(handler, log)
  const http2 = createHttp2Sessions({ limits, answering, log })
  const http1 = createHttp1Connections({ limits, answering, upgrade, mayUpgrade })
  const listener = createListener(tls, limits)
  const sockets = createSocketTracker(listener, log)
  const readPeer = createPeerReader()
  listener.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => {
      // 'close' follows.
    })
    const connection = connectionOf(socket, limits.bodyTimeoutMs, readPeer)
    if (socket.alpnProtocol === 'h2') http2.serve(socket, connection)
    else http1.serve(socket, connection)
  })
  const { drain, cutAll } = endsOf(listener, { sockets, http1, http2, drainMs: limits.drainMs })
  const { promise: ready, resolve, reject } = Promise.withResolvers<Address>()
  // `run` rejects with the same error.
  ready.catch(() => {})
  return {
    ready,
    run: async (signal) => {
      try {
        signal.throwIfAborted()
        suspension?.killed.throwIfAborted()
        suspension?.killed.addEventListener('abort', cutAll, { once: true })
        const listening = options.underWay?.beginOnMachine()
        await listen(listener, options).finally(listening)
      } catch (error) {
        reject(error)
        throw error
      }
      listener.on('error', (error) => log.error('listener failed', { error }))
      http1.listening()
      const sweeper = setInterval(http2.sweep, Math.ceil(limits.headersTimeoutMs / 4))
      resolve({ host, port: (listener.address() as AddressInfo).port })
      await aborted(signal)
      clearInterval(sweeper)
      const ended = options.underWay?.beginOnMachine()
      await drain()
      ended?.()
    },
    setCertificate: ({ cert, key, clientCa = tls.clientCa }) => {
      const minVersion = tls.minVersion ?? 'TLSv1.2'
      listener.setSecureContext({ ...tls, cert, key, ca: clientCa ?? [], minVersion })
    },
    get connections() {
      return sockets.count
    },
  }
}

interface Connections {
  readonly sockets: ReturnType<typeof createSocketTracker>
  readonly http1: ReturnType<typeof createHttp1Connections>
  readonly http2: ReturnType<typeof createHttp2Sessions>
  readonly drainMs: number
}

/** How a listener ends: with what is in flight, or at once. */
function endsOf(listener: Server, { sockets, http1, http2, drainMs }: Connections) {
  const drain = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      listener.close(() => resolve())
    })
    sockets.drain()
    http2.drain()
    http1.drain()
    const cutOff = setTimeout(() => {
      http2.cutOff()
      sockets.cutOff()
    }, drainMs)
    await closed
    clearTimeout(cutOff)
    http1.close()
  }
  const cutAll = (): void => {
    listener.close()
    sockets.drain()
    sockets.cutOff()
    http2.cutOff()
  }
  return { drain, cutAll }
}

function createListener(tls: HttpsServerOptions['tls'], limits: HttpsServerLimits): Server {
  return createTlsServer({
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
}

function listen(listener: Server, { host, port }: HttpsServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once('error', (error) => reject(listenError(error, host, port)))
    listener.listen({ host, port, backlog: 1024 }, resolve)
  })
}

/** Follows the listener's TCP connections, and answers those whose TLS handshake fails. */
function createSocketTracker(listener: Server, log: Log) {
  const sockets = new Set<Socket>()
  /** Connections whose TLS handshake has not ended, by the name of their peer: a TLS socket does not reveal its TCP socket. */
  const handshaking = new Map<string, Socket>()
  let isDraining = false
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
  listener.on('secureConnection', (socket: TLSSocket) => handshaking.delete(nameOf(socket)))
  listener.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug('TLS handshake failed', { error })
    if (error.code === 'ERR_SSL_HTTP_REQUEST') handshaking.get(nameOf(socket))?.write(plainHttp)
    socket.destroy()
  })
  return {
    /** Ends the connections that still shake hands, and every new one. */
    drain: (): void => {
      isDraining = true
      for (const socket of handshaking.values()) socket.destroy()
    },
    cutOff: (): void => {
      for (const socket of sockets) socket.destroy()
    },
    get count() {
      return sockets.size
    },
  }
}
