/**
 * EtcdClient: calls to an etcd cluster over one connection at a time. When that is lost, or its member has no leader, the next
 * endpoint takes its place.
 */
import { createBackoff, type Backoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import { GrpcClient } from '../../component-base/grpc/grpc-client.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import type { EtcdEndpoint } from './etcd-endpoint.ts'
import {
  connectionFailure,
  EtcdUnreachableError,
  OutcomeUnknownError,
  type ConnectionFailure,
} from './etcd-failures.ts'
import {
  etcdMethod,
  readStatus,
  readToken,
  writeAuthenticate,
  type MemberStatus,
} from './etcd-messages.ts'

export interface EtcdUser {
  readonly name: string
  readonly password: string
}

export interface EtcdClientOptions {
  /** At least one; a function is asked for each call. */
  readonly endpoints: readonly EtcdEndpoint[] | (() => readonly EtcdEndpoint[])
  readonly user?: EtcdUser | undefined
  readonly clock: Clock
  /** How long a call may take, with all its attempts. */
  readonly requestTimeoutMs: number
  /** The largest answer; default 256 MiB. A range that is larger is asked for in smaller pages. */
  readonly mostAnswerBytes?: number | undefined
}

/** A connection to a member that has a leader, and what each call on it carries. */
export interface EtcdConnection {
  readonly grpc: GrpcClient
  readonly url: string
  readonly metadata: Readonly<Record<string, string>>
}

const connectTimeoutMs = 5000
/** For a member that did not answer a call: it may be slow, or gone. */
const probeTimeoutMs = 2000
/** Go's servers end connections that ping more often than every 5 s. */
const keepAlive = { everyMs: 30_000, timeoutMs: 10_000 }
const mostReceivedBytes = 256 * 1024 * 1024
/** etcd's own limit is lower, and its refusal says which. */
const mostSentBytes = 64 * 1024 * 1024
const oldestVersion = [3, 4] as const

export class EtcdClient {
  readonly #options: EtcdClientOptions
  readonly #stop = new AbortController()
  /** Every connection that there is. */
  readonly #open = new Set<GrpcClient>()
  #current: EtcdConnection | undefined
  #connecting: Promise<EtcdConnection> | undefined
  /** The endpoint to try next. */
  #next = 0

  constructor(options: EtcdClientOptions) {
    this.#options = options
  }

  /** The open connection, or a new one. Rejects with EtcdUnreachableError when no endpoint can be used now. */
  async connection(): Promise<EtcdConnection> {
    if (this.#current?.grpc.isOpen === true) return this.#current
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return await this.#connecting
  }

  /** The next call takes another connection, with a new login; calls under way go on. */
  leave(connection: EtcdConnection): void {
    if (this.#current === connection) this.#current = undefined
    connection.grpc.finish()
  }

  /**
   * Calls etcd until it answers. A lost call is repeated only when etcd cannot have done it or `isRepeatable`; otherwise it
   * rejects with OutcomeUnknownError. Rejects with EtcdUnreachableError when time runs out, and with etcd's own GrpcErrors.
   */
  async call(method: string, message: Buffer, isRepeatable: boolean): Promise<Buffer> {
    const { clock, requestTimeoutMs } = this.#options
    const endMs = clock.elapsed() + requestTimeoutMs
    let backoff: Backoff | undefined
    for (;;) {
      try {
        return await this.#attempt(method, message, endMs - clock.elapsed())
      } catch (error) {
        if (!isPassing(error)) throw error
        if (error instanceof GrpcError && !error.isUnsent && !isRepeatable && !isRefused(error)) {
          throw new OutcomeUnknownError(error)
        }
        backoff ??= createBackoff({ initialMs: 20, maxMs: 1000 }, () => clock.random())
        const waitMs = backoff.next()
        if (clock.elapsed() + waitMs >= endMs || this.#stop.signal.aborted) throw error
        await clock.sleep(waitMs, this.#stop.signal)
      }
    }
  }

  /** Calls under way reject. */
  close(): void {
    this.#stop.abort()
    for (const grpc of this.#open) grpc.close()
  }

  #endpoints(): readonly EtcdEndpoint[] {
    const { endpoints } = this.#options
    return typeof endpoints === 'function' ? endpoints() : endpoints
  }

  async #attempt(method: string, message: Buffer, leftMs: number): Promise<Buffer> {
    const { requestTimeoutMs } = this.#options
    const open = this.#current?.grpc.isOpen === true ? this.#current : undefined
    const connection = open ?? (await this.connection())
    const shareMs = this.#endpoints().length > 1 ? requestTimeoutMs / 2 : requestTimeoutMs
    const deadlineMs = Math.max(1, Math.min(leftMs, shareMs))
    try {
      const { metadata } = connection
      return await connection.grpc.unary(method, message, { metadata, deadlineMs })
    } catch (error) {
      if (isOutOfTime(error)) connection.grpc.probe(probeTimeoutMs)
      else if (isPassing(error)) this.leave(connection)
      throw error
    }
  }

  /** Tries every endpoint once. */
  async #connect(): Promise<EtcdConnection> {
    const failures: ConnectionFailure[] = []
    const endpoints = this.#endpoints()
    for (let tries = 0; tries < endpoints.length && !this.#stop.signal.aborted; tries += 1) {
      const endpoint = endpoints[this.#next % endpoints.length]
      this.#next += 1
      if (endpoint === undefined) break
      try {
        this.#current = await this.#connectTo(endpoint)
        return this.#current
      } catch (error) {
        failures.push(connectionFailure(endpoint.url, error))
      }
    }
    throw new EtcdUnreachableError(failures)
  }

  async #connectTo(endpoint: EtcdEndpoint): Promise<EtcdConnection> {
    const { clock, user, mostAnswerBytes = mostReceivedBytes } = this.#options
    const { address, tls, url } = endpoint
    const grpc = new GrpcClient({
      address,
      clock,
      connectTimeoutMs,
      keepAlive,
      mostReceivedBytes: mostAnswerBytes,
      mostSentBytes,
      ...(tls === undefined ? {} : { tls: tls() }),
    })
    this.#open.add(grpc)
    void grpc.gone().then(() => this.#open.delete(grpc))
    try {
      await grpc.connected()
      // First: newer releases tell their status only to users.
      const token = user === undefined ? '' : await logIn(grpc, user)
      const metadata = token === '' ? {} : { token }
      const ask = { metadata, deadlineMs: connectTimeoutMs }
      checkMember(url, readStatus(await grpc.unary(etcdMethod.status, Buffer.alloc(0), ask)))
      this.#stop.signal.throwIfAborted()
      return { grpc, url, metadata }
    } catch (error) {
      grpc.close()
      throw error
    }
  }
}

/** etcd without authentication takes no password, and needs none. */
async function logIn(grpc: GrpcClient, { name, password }: EtcdUser): Promise<string> {
  try {
    const message = writeAuthenticate(name, password)
    return readToken(
      await grpc.unary(etcdMethod.authenticate, message, { deadlineMs: connectTimeoutMs }),
    )
  } catch (error) {
    if (error instanceof GrpcError && error.code === grpcCode.failedPrecondition) return ''
    throw error
  }
}

function checkMember(url: string, { version, hasLeader }: MemberStatus): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestVersion
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new GrpcError(
      grpcCode.unimplemented,
      `etcd at ${url} has version ${version}: use ${oldestVersion.join('.')} or newer`,
    )
  }
  if (!hasLeader) throw new GrpcError(grpcCode.unavailable, 'the member has no leader')
}

function isOutOfTime(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcCode.deadlineExceeded
}

/** etcd refused the call before it did anything. */
function isRefused({ code }: GrpcError): boolean {
  return code === grpcCode.unauthenticated
}

/** The connection is lost, its member cannot answer, its token has expired, or the call broke off. */
const passingCodes: ReadonlySet<number> = new Set([
  grpcCode.unavailable,
  grpcCode.deadlineExceeded,
  grpcCode.cancelled,
  grpcCode.unauthenticated,
  grpcCode.internal,
  grpcCode.unknown,
])

/** Another connection may do better. */
function isPassing(error: unknown): boolean {
  if (error instanceof EtcdUnreachableError) return true
  return error instanceof GrpcError && passingCodes.has(error.code)
}
