/**
 * RestClient: requests to one API server over one multiplexed HTTP/2 connection, which is opened when first needed and again
 * after it was lost. Failure Status bodies become StatusErrors; a server that cannot be reached is a ConnectionError.
 */
import { connect, constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { isIP } from 'node:net'
import { systemClock } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Status } from '../machinery/objects/status-error.ts'
import { StatusError } from '../machinery/objects/status-error.ts'
import { ConnectionError } from './connection-error.ts'
import type { ConnectionErrorCode } from './connection-error.ts'

/** Who the client is. PEM texts; a token function is asked before every request and should cache. */
export interface Credentials {
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly token?: string | (() => string | Promise<string>)
}

/** Credentials that change: from a plugin, for example. */
export interface CredentialSource {
  /** Asked before every request, so it should remember. A rejection fails the request. */
  current(): Promise<Credentials>
  /** The server answered 401: what was given is no good any more. */
  refused(): void
}

export interface RestClientOptions {
  /** `https://host:port`, with a path prefix if the API lies below one. */
  readonly server: string
  /** PEM bundle to verify the server with. */
  readonly ca?: string | Buffer
  /** Name to verify instead of the host in `server`. */
  readonly serverName?: string
  /** Accepts any server: for tools that were told so by the user. */
  readonly insecureSkipVerify?: boolean
  readonly credentials?: Credentials
  /** Takes the place of `credentials`; a new certificate makes a new connection. */
  readonly credentialSource?: CredentialSource
  readonly userAgent?: string
  /** An answer that does not begin within this time is a ConnectionError `timeout`; default 60 s. */
  readonly timeoutMs?: number
  /** A silent connection is pinged this often, and given up when an answer takes as long; default 15 s. */
  readonly pingMs?: number
  /** How often a request is sent again after the server said when (429 or 5xx with Retry-After); default 10, as client-go. */
  readonly retries?: number
  /** For the timers of the network, which follow real time whatever the cluster's clock does; tests may replace it. */
  readonly networkClock?: Clock
}

export interface RestRequest {
  readonly method: string
  /** Path below the server, with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
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

export interface RestClient {
  readonly server: string
  /** The parsed JSON answer. Waits and asks again while the server says so. Throws StatusError for a status of 400 and above, ConnectionError when there is no answer. */
  json(request: RestRequest): Promise<unknown>
  /** The answer's bytes; errors as `json`. */
  bytes(request: RestRequest): Promise<RestResponse & { readonly body: Buffer }>
  /**
   * The answer as it comes; errors as `json` until the head has come. Reading it throws a ConnectionError when the
   * connection is lost, and `signal.reason` when aborted. Leaving the loop cancels the request.
   */
  stream(request: RestRequest): Promise<RestResponse & { readonly chunks: AsyncIterable<Buffer> }>
  /** New requests use these credentials, on a new connection if it needs one; what is under way goes on with the old ones. */
  setCredentials(credentials: Credentials): void
  /** Ends the connection; what is under way fails. Idempotent. */
  close(): void
}

type Head = { stream: ClientHttp2Stream; headers: IncomingHttpHeaders; status: number }

const codes: Readonly<Record<string, ConnectionErrorCode>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'timeout',
}
const trustCodes = /CERT|SIGNED|ISSUER|ERR_TLS|SSL|VERIFY/

function connectionError(error: unknown, server: string): ConnectionError {
  if (error instanceof ConnectionError) return error
  // A stream that never began hides why its connection failed in its cause.
  const { cause } = error as Error
  const root = cause instanceof Error ? cause : (error as Error)
  if (root instanceof ConnectionError) return root
  const { code = '', message } = root as NodeJS.ErrnoException
  const kind = codes[code] ?? (trustCodes.test(code) ? 'untrusted' : 'lost')
  return new ConnectionError(kind, `${server}: ${message}`, root)
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

/** How long the server wants its client to wait before it asks again; undefined when it does not say so. */
function retryAfterMs({ status, headers }: Pick<Head, 'status' | 'headers'>): number | undefined {
  const seconds = headers['retry-after']
  if ((status !== 429 && status < 500) || seconds === undefined) return undefined
  return /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

/** A client that opens no connection until its first request. */
export function createRestClient(options: RestClientOptions): RestClient {
  const { server, ca, serverName, timeoutMs = 60_000, pingMs = 15_000, retries = 10 } = options
  const clock = options.networkClock ?? systemClock
  const base = new URL(server)
  const prefix = base.pathname === '/' ? '' : base.pathname.replace(/\/$/, '')
  const { credentialSource } = options
  let credentials = options.credentials ?? {}
  let current: ClientHttp2Session | undefined
  const closing = new AbortController()

  /** Pings while requests are open, so that a peer that vanished without a word is noticed. */
  const keepAlive = (session: ClientHttp2Session): void => {
    const check = (): void => {
      if (session.closed || session.destroyed) return
      const giveUp = clock.after(pingMs, () => {
        session.destroy(new ConnectionError('lost', `${server}: no answer to a ping`))
      })
      session.ping(() => {
        giveUp()
        if (!session.destroyed) cancel = clock.after(pingMs, check)
      })
    }
    let cancel = clock.after(pingMs, check)
    session.on('close', () => cancel())
  }

  const open = (): ClientHttp2Session => {
    closing.signal.throwIfAborted()
    if (current !== undefined && !current.closed && !current.destroyed) return current
    const name = serverName ?? (isIP(base.hostname) === 0 ? base.hostname : undefined)
    const session = connect(base.origin, {
      ...(ca === undefined ? {} : { ca }),
      ...(credentials.cert === undefined ? {} : { cert: credentials.cert }),
      ...(credentials.key === undefined ? {} : { key: credentials.key }),
      ...(name === undefined ? {} : { servername: name }),
      rejectUnauthorized: options.insecureSkipVerify !== true,
      settings: { enablePush: false, initialWindowSize: 1_048_576, maxHeaderListSize: 65_536 },
      maxSessionMemory: 64,
    })
    const forget = (): void => {
      if (current === session) current = undefined
    }
    // Every open stream reports the fault; this keeps it from ending the process when none is.
    session.on('error', forget)
    session.on('goaway', () => {
      forget()
      session.close()
    })
    session.on('close', forget)
    session.once('connect', () => {
      // A session that is destroyed in the turn in which it connects says so nonetheless.
      if (!session.destroyed) session.setLocalWindowSize(8_388_608)
    })
    keepAlive(session)
    current = session
    return session
  }

  const use = (next: Credentials): void => {
    const needsConnection = next.cert !== credentials.cert || next.key !== credentials.key
    credentials = next
    if (!needsConnection) return
    const old = current
    current = undefined
    old?.close()
  }

  const send = async (request: RestRequest): Promise<Head> => {
    const { signal, body } = request
    signal?.throwIfAborted()
    if (credentialSource !== undefined) use(await credentialSource.current())
    const token =
      typeof credentials.token === 'function' ? await credentials.token() : credentials.token
    // Whoever stopped asking while the credential was looked for is not heard again.
    signal?.throwIfAborted()
    const payload =
      body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const session = open()
    const headers: Record<string, string | number> = {
      ':method': request.method,
      ':path': `${prefix}${request.path}`,
      accept: 'application/json',
      'user-agent': options.userAgent ?? 'skiff',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(payload === undefined
        ? {}
        : {
            'content-type': request.contentType ?? 'application/json',
            'content-length': payload.length,
          }),
      ...request.headers,
    }
    return new Promise((resolve, reject) => {
      let stream: ClientHttp2Stream
      try {
        stream = session.request(headers, { endStream: payload === undefined })
      } catch (error) {
        reject(connectionError(error, server))
        return
      }
      let fault: unknown
      let hasAnswer = false
      const giveUp = (why: unknown): void => {
        fault = why
        // At once: a stream on a connection that is never made does not end by itself.
        reject(why as Error)
        stream.close(constants.NGHTTP2_CANCEL)
      }
      const abort = (): void => giveUp(signal?.reason)
      const cancelTimeout = clock.after(request.timeoutMs ?? timeoutMs, () => {
        giveUp(new ConnectionError('timeout', `${server}: no answer in time`))
        if (session.connecting) session.destroy()
      })
      signal?.addEventListener('abort', abort, { once: true })
      stream.on('error', (error) => {
        fault ??= connectionError(error, server)
      })
      stream.on('close', () => {
        cancelTimeout()
        signal?.removeEventListener('abort', abort)
        if (hasAnswer) return
        reject(
          (fault as Error) ?? new ConnectionError('lost', `${server}: the connection was lost`),
        )
      })
      stream.on('response', (received) => {
        cancelTimeout()
        hasAnswer = true
        resolve({ stream, headers: received, status: Number(received[':status']) })
      })
      if (payload !== undefined) stream.end(payload)
    })
  }

  const cutShort = (): ConnectionError =>
    new ConnectionError('lost', `${server}: the answer was cut short`)

  /** Ends only when the server ended the answer; being reset looks like an end to the stream itself. */
  const read = async function* (
    stream: ClientHttp2Stream,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Buffer, void> {
    try {
      for await (const chunk of stream) yield chunk as Buffer
      signal?.throwIfAborted()
      if ((stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR) throw cutShort()
    } catch (error) {
      signal?.throwIfAborted()
      throw connectionError(error, server)
    } finally {
      if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL)
    }
  }
  const collect = (stream: ClientHttp2Stream, signal: AbortSignal | undefined): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const parts: Buffer[] = []
      stream.on('data', (chunk: Buffer) => parts.push(chunk))
      stream.on('close', () => {
        const isWhole = stream.readableEnded && (stream.rstCode ?? 0) === constants.NGHTTP2_NO_ERROR
        if (isWhole) resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts))
        else reject(signal?.aborted ? (signal.reason as Error) : cutShort())
      })
    })
  const sendChecked = async (request: RestRequest): Promise<Head> => {
    for (let left = retries; ; left -= 1) {
      const head = await send(request)
      if (head.status < 400) return head
      if (head.status === 401) credentialSource?.refused()
      const failure = failureOf(
        head.status,
        head.headers,
        await collect(head.stream, request.signal),
      )
      const waitMs = retryAfterMs(head)
      if (waitMs === undefined || left === 0) throw failure
      const { signal } = closing
      const signals = request.signal === undefined ? [signal] : [signal, request.signal]
      await clock.sleep(waitMs, AbortSignal.any(signals))
    }
  }

  const stream: RestClient['stream'] = async (request) => {
    const head = await sendChecked(request)
    const chunks = read(head.stream, request.signal)
    return { status: head.status, headers: head.headers, chunks }
  }
  const bytes: RestClient['bytes'] = async (request) => {
    const { status, headers, stream: open } = await sendChecked(request)
    return { status, headers, body: await collect(open, request.signal) }
  }

  return {
    server,
    stream,
    bytes,
    json: async (request) => {
      const { body } = await bytes(request)
      if (body.length === 0) return undefined
      try {
        return JSON.parse(body.toString()) as unknown
      } catch (error) {
        throw new ConnectionError('malformed', `${server}: the answer is not JSON`, error)
      }
    },
    setCredentials: use,
    close: () => {
      closing.abort(new ConnectionError('closed', `${server}: the client was closed`))
      current?.destroy()
      current = undefined
    },
  }
}
