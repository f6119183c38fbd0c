/**
 * RestClient: requests to one API server over one multiplexed HTTP/2 connection, which is opened when first needed and again
 * after it was lost. Failure Status bodies become StatusErrors; a server that cannot be reached is a ConnectionError.
 */
import type { IncomingHttpHeaders } from 'node:http2'
import type { ConnectionOptions } from 'node:tls'
import { causeHeader } from '../api/request-record.ts'
import { systemClock } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Status } from '../machinery/objects/status-error.ts'
import { StatusError } from '../machinery/objects/status-error.ts'
import { currentCauseText } from './cause.ts'
import { ConnectionError } from './connection-error.ts'
import type { LocalNetwork } from '../component-base/local-network.ts'
import type { UnderWay } from '../component-base/under-way.ts'
import { localExchange } from './local-exchange.ts'
import { exchange } from './rest-exchange.ts'
import type { Head } from './rest-exchange.ts'
import { unobserved } from './rest-observer.ts'
import type { RequestObserver, RestObserver } from './rest-observer.ts'
import { createRestSession, tlsOptions } from './rest-session.ts'
import type { ClientCertificate, RestSession } from './rest-session.ts'

/** The client's identity. The client calls a token function before every request; it should cache. */
export interface Credentials extends ClientCertificate {
  readonly token?: string | (() => string | Promise<string>)
}

/** Credentials that change: from a plugin, for example. */
export interface CredentialSource {
  /** Called before every request; it should cache. A rejection fails the request. */
  current(): Promise<Credentials>
  /** The server answered 401: the credentials are no longer valid. */
  refused(): void
}

export interface RestClientOptions {
  /** `https://host:port`, with a path prefix if the API lies below one. */
  readonly server: string
  /** PEM bundle to verify the server with. */
  readonly ca?: string | Buffer
  /** Name to verify instead of the host in `server`. */
  readonly serverName?: string
  /** Accepts any server certificate: for tools whose user asked for it. */
  readonly insecureSkipVerify?: boolean
  readonly credentials?: Credentials
  /** Takes the place of `credentials`; a new certificate makes a new connection. */
  readonly credentialSource?: CredentialSource
  readonly userAgent?: string
  /** An answer that does not begin within this time is a ConnectionError `timeout`; default 60 s. */
  readonly timeoutMs?: number
  /** Time between pings of the connection, and how long it waits for the answer to one; default 15 s. */
  readonly pingMs?: number
  /** How often a request is retried after an answer of 429 or 5xx with Retry-After; default 10, as client-go. */
  readonly retries?: number
  /** Servers of this process that are called directly; by default none. */
  readonly network?: LocalNetwork | undefined
  /** For the timers of the network, which follow real time whatever the cluster's clock does; tests may replace it. */
  readonly networkClock?: Clock
  readonly observer?: RestObserver
  /** Counts requests until their answers have come, and what comes of streams. By default nothing is counted. */
  readonly underWay?: UnderWay | undefined
}

export interface RestRequest {
  readonly method: string
  /** Path below the server, with its query. */
  readonly path: string
  /** A list is sent as that many headers. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Sent as JSON, unless it is bytes already. */
  readonly body?: unknown
  /** Default application/json. */
  readonly contentType?: string
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface RestResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** What a connection to the server needs. */
export interface Dialing {
  readonly tls: ConnectionOptions
  readonly headers: Readonly<Record<string, string | string[]>>
}

export interface RestClient {
  readonly server: string
  /** The parsed JSON answer, after the retries that the server asks for. Throws StatusError for a status of 400 and above, ConnectionError when there is no answer. */
  json(request: RestRequest): Promise<unknown>
  /** The answer's bytes; errors as `json`. */
  bytes(request: RestRequest): Promise<RestResponse & { readonly body: Buffer }>
  /**
   * The answer as it comes; errors as `json` until the head has come. Reading it throws a ConnectionError when the
   * connection is lost, and `signal.reason` when aborted. Leaving the loop cancels the request.
   */
  stream(request: RestRequest): Promise<RestResponse & { readonly chunks: AsyncIterable<Buffer> }>
  /** How a connection of another protocol, such as a WebSocket, is opened to the same server as the same user. Secret. */
  dialing(): Promise<Dialing>
  /** New requests use these credentials, on a new connection if their certificate differs; requests under way keep the old ones. */
  setCredentials(credentials: Credentials): void
  /** Ends the connection; requests under way fail. Idempotent. */
  close(): void
}

/** The StatusError of a failed answer; a body that is no Status gives one made of the HTTP code. */
function failureOf(status: number, headers: IncomingHttpHeaders, body: Buffer): StatusError {
  let parsed: Partial<Status> = {}
  try {
    const value: unknown = JSON.parse(body.toString())
    if (typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status')
      parsed = value as Partial<Status>
  } catch {
    // Not every server behind the address speaks Status; its text is the message then.
    parsed = { message: body.toString().slice(0, 500).trim() || `the server answered ${status}` }
  }
  const retryAfter = Number(headers['retry-after'])
  if (retryAfter > 0 && parsed.details?.retryAfterSeconds === undefined)
    parsed = { ...parsed, details: { ...parsed.details, retryAfterSeconds: retryAfter } }
  return StatusError.fromStatus(parsed, status)
}

/** How long the server asks its client to wait before a retry; undefined without a valid Retry-After. */
function retryAfterMs({ status, headers }: Head): number | undefined {
  const seconds = headers['retry-after']
  if ((status !== 429 && status < 500) || seconds === undefined) return undefined
  return /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

type Calls = Pick<RestClient, 'bytes' | 'stream'>

/** The same calls, counted while they are under way. Each chunk of a stream is something that other work may follow from. */
function counted(calls: Calls, underWay: UnderWay | undefined): Calls {
  if (underWay === undefined) return calls
  const whileCounted = async <T>(work: () => Promise<T>): Promise<T> => {
    const end = underWay.begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
  async function* noted(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of chunks) {
      underWay?.note()
      yield chunk
    }
  }
  return {
    bytes: (request) => whileCounted(() => calls.bytes(request)),
    stream: async (request) => {
      const { chunks, ...head } = await whileCounted(() => calls.stream(request))
      return { ...head, chunks: noted(chunks) }
    },
  }
}

function jsonOver(server: string, bytes: RestClient['bytes']): RestClient['json'] {
  return async (request) => {
    const { body } = await bytes(request)
    if (body.length === 0) return undefined
    try {
      return JSON.parse(body.toString()) as unknown
    } catch (error) {
      throw new ConnectionError('malformed', `${server}: the answer is not JSON`, error)
    }
  }
}

/** A client that opens no connection until its first request. */
export function createRestClient(options: RestClientOptions): RestClient {
  const { server, pingMs = 15_000, retries = 10, credentialSource } = options
  const clock = options.networkClock ?? options.network?.clock ?? systemClock
  const session = createRestSession({ ...options, pingMs, clock })
  const { request: sendOnce, ...identity } = createSender(options, { session, clock })
  const closing = new AbortController()
  const { host } = new URL(server)
  const observe = ({ method }: RestRequest, isStream: boolean): RequestObserver =>
    options.observer?.begin({ method, host, isStream }) ?? unobserved

  const sendChecked = async (request: RestRequest, observer: RequestObserver): Promise<Head> => {
    for (let left = retries; ; left -= 1) {
      const head = await sendOnce(request, closing.signal, observer)
      if (head.status < 400) return head
      if (head.status === 401) credentialSource?.refused()
      const body = await head.body()
      const failure = failureOf(head.status, head.headers, body)
      const waitMs = retryAfterMs(head)
      if (waitMs === undefined || left === 0) {
        if (body.length > 0) observer.received(body.length)
        throw failure
      }
      const { signal } = closing
      const signals = request.signal === undefined ? [signal] : [signal, request.signal]
      await clock.sleep(waitMs, AbortSignal.any(signals))
    }
  }
  const bytes: RestClient['bytes'] = async (request) => {
    const observer = observe(request, false)
    try {
      const head = await sendChecked(request, observer)
      const body = await head.body()
      observer.received(body.length)
      return { status: head.status, headers: head.headers, body }
    } finally {
      observer.ended()
    }
  }
  const stream: RestClient['stream'] = async (request) => {
    const { status, headers, chunks } = await sendChecked(request, observe(request, true))
    return { status, headers, chunks: chunks() }
  }
  const calls = counted({ bytes, stream }, options.underWay)
  return {
    server,
    ...calls,
    json: jsonOver(server, calls.bytes),
    ...identity,
    close: () => {
      closing.abort(new ConnectionError('closed', `${server}: the client was closed`))
      session.destroy()
    },
  }
}

/** A server that refuses as often has more wrong with it than connections that end. */
const mostTries = 6

/** Sends a request again as long as the server has not looked at it, on a new connection if the last one is ending. */
async function exchangeAgain(send: () => Promise<Head>): Promise<Head> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (error) {
      const isUnprocessed = error instanceof ConnectionError && error.code === 'unprocessed'
      if (!isUnprocessed || tries === mostTries) throw error
    }
  }
}

/** Why a write is sent, if that is known. */
function causeHeaders(): Record<string, string> {
  const cause = currentCauseText()
  return cause === undefined ? {} : { [causeHeader]: cause }
}

/** The newest credentials. */
function createIdentity(options: RestClientOptions, session: RestSession) {
  const { userAgent = 'skiff', credentialSource } = options
  let credentials = options.credentials ?? {}
  const setCredentials = (next: Credentials): void => {
    const needsConnection = next.cert !== credentials.cert || next.key !== credentials.key
    credentials = next
    if (needsConnection) session.renew()
  }
  const currentToken = async (): Promise<string | undefined> => {
    if (credentialSource !== undefined) setCredentials(await credentialSource.current())
    return typeof credentials.token === 'function' ? await credentials.token() : credentials.token
  }
  return {
    userAgent,
    setCredentials,
    currentToken,
    certificate: (): Credentials => credentials,
    dialing: async (): Promise<Dialing> => {
      const token = await currentToken()
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const headers = { 'user-agent': userAgent, ...authorization }
      return { tls: tlsOptions(options, credentials), headers }
    },
  }
}

/** Sends single requests with the newest credentials. */
function createSender(
  options: RestClientOptions,
  { session, clock }: { readonly session: RestSession; readonly clock: Clock },
) {
  const { server, timeoutMs = 60_000, network } = options
  const { pathname, origin } = new URL(server)
  const prefix = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const identity = createIdentity(options, session)
  const { userAgent, currentToken, setCredentials, dialing } = identity

  const request = async (
    request: RestRequest,
    closing: AbortSignal,
    observer: RequestObserver,
  ): Promise<Head> => {
    const { signal, body } = request
    signal?.throwIfAborted()
    const token = await currentToken()
    // The request may have been aborted while the credentials were looked up.
    signal?.throwIfAborted()
    const payload =
      body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    closing.throwIfAborted()
    const headers: Record<string, string | number | string[]> = {
      ':method': request.method,
      ':path': `${prefix}${request.path}`,
      accept: 'application/json',
      'user-agent': userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(request.method === 'GET' ? {} : causeHeaders()),
      ...(payload === undefined
        ? {}
        : {
            'content-type': request.contentType ?? 'application/json',
            'content-length': payload.length,
          }),
      ...request.headers,
    }
    const limit = request.timeoutMs ?? timeoutMs
    const sent = { server, headers, payload, timeoutMs: limit, signal, clock }
    observer.sent(payload?.length ?? 0)
    const local = network?.find(origin)
    try {
      const head =
        local === undefined
          ? await exchangeAgain(() => exchange(session.open(identity.certificate()), sent))
          : await localExchange(local, { ...sent, closing, credentials: identity.certificate() })
      observer.answered(head.status)
      return head
    } catch (error) {
      observer.answered(undefined)
      throw error
    }
  }
  return { request, setCredentials, dialing }
}
