/**
 * GrpcClient: one connection to a gRPC server, for any number of calls at once. It never connects again: when the connection
 * is lost, its calls reject with UNAVAILABLE and the caller makes another client.
 */
import { connect as connectHttp2 } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls } from 'node:tls'
import type { Clock } from '../clock.ts'
import { messageOf } from '../log.ts'
import { GrpcCall } from './grpc-call.ts'
import type { GrpcCallOptions, GrpcStream, GrpcStreamOptions } from './grpc-call.ts'
import { grpcCode, GrpcError } from './grpc-error.ts'

/** A TCP port, or a Unix socket. */
export type GrpcAddress =
  { readonly host: string; readonly port: number } | { readonly path: string }

/** PEM texts. Without `ca`, the server's certificate must come from one of Node's authorities. */
export interface GrpcTls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** The name that the server's certificate must have; default: the address's host. */
  readonly serverName?: string
}

export interface GrpcClientOptions {
  readonly address: GrpcAddress
  readonly clock: Clock
  /** Absent: without TLS. */
  readonly tls?: GrpcTls
  /** The connection is lost when the server has not greeted by then; default 10 s. */
  readonly connectTimeoutMs?: number
  /** Sends a ping this often, and takes the connection for lost when none is answered in time. Default: no pings. */
  readonly keepAlive?: { readonly everyMs: number; readonly timeoutMs: number }
  /** Largest message of the server; default 4 MB. */
  readonly mostReceivedBytes?: number
  /** Largest message to the server; default 4 MB. */
  readonly mostSentBytes?: number
}

const defaultMostBytes = 4 * 1024 * 1024

export class GrpcClient {
  readonly #options: GrpcClientOptions
  readonly #socket: Socket
  readonly #session: ClientHttp2Session
  readonly #calls = new Set<GrpcCall>()
  readonly #greeting = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #isGreeted = false
  /** Why there is no connection any more. */
  #lost: GrpcError | undefined
  #stopTimer: () => void

  constructor(options: GrpcClientOptions) {
    this.#options = options
    const { clock, connectTimeoutMs = 10_000, keepAlive } = options
    this.#socket = openSocket(options)
    this.#session = openSession(options, this.#socket)
    this.#greeting.promise.catch(() => {})
    this.#stopTimer = clock.after(connectTimeoutMs, () =>
      this.#lose(`did not greet within ${connectTimeoutMs} ms`),
    )
    this.#session.once('remoteSettings', () => {
      this.#isGreeted = true
      this.#stopTimer()
      this.#greeting.resolve()
      if (keepAlive !== undefined) this.#pingLater(keepAlive)
    })
    // A session whose socket failed may stay without an event of its own.
    for (const part of [this.#socket, this.#session]) {
      part.on('error', (error) => this.#lose('closed the connection', error))
      part.on('close', () => this.#lose('closed the connection'))
    }
  }

  /** The server's name for messages: `127.0.0.1:2379` or a path. */
  get address(): string {
    return addressText(this.#options.address)
  }

  /** New calls have a chance. False once the connection is lost or the server said goodbye. */
  get isOpen(): boolean {
    return this.#lost === undefined && !this.#session.closed
  }

  /** Resolves when there is no connection any more. */
  async gone(): Promise<void> {
    await this.#gone.promise
  }

  /** Resolves when the server has greeted; rejects with a GrpcError when the connection fails before. */
  async connected(): Promise<void> {
    await this.#greeting.promise
  }

  /** Sends one message and resolves with the answer, a view of the received bytes. Rejects with a GrpcError. */
  async unary(method: string, message: Buffer, options: GrpcCallOptions = {}): Promise<Buffer> {
    let answer: Buffer | undefined
    const onMessage = (received: Buffer): void => {
      if (answer !== undefined) {
        throw new GrpcError(grpcCode.internal, `${method} was answered with several messages`)
      }
      answer = received
    }
    const call = this.stream(method, { ...options, onMessage })
    call.end(message)
    await call.ended
    if (answer === undefined) {
      throw new GrpcError(grpcCode.internal, `${method} was answered without a message`)
    }
    return answer
  }

  /** Starts a call with any number of messages both ways. It never throws: failures reject the call's `ended`. */
  stream(method: string, options: GrpcStreamOptions): GrpcStream {
    const { clock, mostReceivedBytes, mostSentBytes } = this.#options
    if (options.signal?.aborted === true) return failedCall(options.signal.reason)
    if (!this.isOpen) return failedCall(this.#lost ?? this.#failure('is shutting down', true))
    try {
      const call = new GrpcCall(this.#session, {
        ...options,
        method,
        clock,
        mostReceivedBytes: mostReceivedBytes ?? defaultMostBytes,
        mostSentBytes: mostSentBytes ?? defaultMostBytes,
        onOver: (over) => this.#calls.delete(over),
      })
      this.#calls.add(call)
      return call
    } catch (error) {
      return failedCall(this.#failure('takes no calls', true, error))
    }
  }

  /** Takes no more calls; the connection closes when those under way have ended. Idempotent. */
  finish(): void {
    if (!this.#session.closed) this.#session.close()
  }

  /** Sends a ping now; the connection is lost when it is not answered in time. */
  probe(timeoutMs: number): void {
    if (this.#lost !== undefined || this.#session.destroyed) return
    const stopTimer = this.#options.clock.after(timeoutMs, () => this.#lose(unanswered(timeoutMs)))
    this.#session.ping(stopTimer)
  }

  /** Cuts the connection; calls reject with CANCELLED. Idempotent. */
  close(): void {
    this.#end(new GrpcError(grpcCode.cancelled, `the connection to ${this.address} was closed`))
  }

  #failure(what: string, isUnsent: boolean, cause?: unknown): GrpcError {
    const why = cause === undefined ? '' : `: ${messageOf(cause)}`
    return new GrpcError(grpcCode.unavailable, `${this.address} ${what}${why}`, { isUnsent, cause })
  }

  #lose(what: string, cause?: unknown): void {
    const isOutOfReach = !this.#isGreeted && cause !== undefined
    this.#end(this.#failure(isOutOfReach ? 'cannot be reached' : what, !this.#isGreeted, cause))
  }

  #end(error: GrpcError): void {
    if (this.#lost !== undefined) return
    this.#lost = new GrpcError(error.code, error.message, { isUnsent: true, cause: error.cause })
    this.#stopTimer()
    this.#greeting.reject(error)
    this.#gone.resolve()
    for (const call of [...this.#calls]) call.lose(error)
    this.#session.destroy()
    this.#socket.destroy()
  }

  #pingLater(keepAlive: { readonly everyMs: number; readonly timeoutMs: number }): void {
    const { everyMs, timeoutMs } = keepAlive
    const { clock } = this.#options
    this.#stopTimer = clock.after(everyMs, () => {
      if (this.#session.destroyed) return
      this.#stopTimer = clock.after(timeoutMs, () => this.#lose(unanswered(timeoutMs)))
      this.#session.ping((error) => {
        this.#stopTimer()
        if (error === null && this.#lost === undefined) this.#pingLater(keepAlive)
      })
    })
  }
}

const unanswered = (timeoutMs: number): string => `did not answer a ping within ${timeoutMs} ms`

function addressText(address: GrpcAddress): string {
  if ('path' in address) return address.path
  const { host, port } = address
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function openSocket({ address, tls }: GrpcClientOptions): Socket {
  if (tls === undefined) return connectTcp(address)
  const { serverName, ...files } = tls
  const name = serverName ?? ('host' in address ? address.host : 'localhost')
  return connectTls({
    ...address,
    ...files,
    ALPNProtocols: ['h2'],
    // A handshake names no IP addresses.
    servername: isIP(name) === 0 ? name : '',
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  })
}

function openSession({ address, tls }: GrpcClientOptions, socket: Socket): ClientHttp2Session {
  const authority = 'path' in address ? 'localhost' : addressText(address)
  const session = connectHttp2(`${tls === undefined ? 'http' : 'https'}://${authority}`, {
    createConnection: () => socket,
    maxSessionMemory: 256,
    settings: { enablePush: false, initialWindowSize: 1_048_576 },
  })
  session.once('connect', () => session.setLocalWindowSize(4_194_304))
  return session
}

function failedCall(error: unknown): GrpcStream {
  return { send: async () => {}, end: () => {}, ended: Promise.reject(error) }
}
