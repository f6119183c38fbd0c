/** A plain HTTP/2 client of the API for tests: any identity, any bytes, the whole answer. One connection per certificate. */
import http2 from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { issue } from '../../certs/pki.ts'
import type { Credential, Pki } from '../../certs/pki.ts'
import { clientProfile } from '../../certs/profiles.ts'

/** Who asks: a client certificate for a user in groups, a bearer token, or nobody. */
export type Identity =
  | { readonly user: string; readonly groups?: readonly string[] }
  | { readonly token: string }
  | 'anonymous'

/** Passes every authorization check. */
export const admin: Identity = { user: 'admin', groups: ['system:masters'] }

export interface Ask {
  /** Sent as JSON, unless it is text or bytes already. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Default: the admin. */
  readonly as?: Identity
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly bytes: Buffer
  /** The parsed body of a JSON answer, else its text. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  readonly body: any
}

export interface WatchEvent {
  readonly type: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of every kind
  readonly object: any
}

/** An open watch. */
export interface TestWatch {
  readonly headers: IncomingHttpHeaders
  /** The next event; rejects when the stream ended before one came. */
  next(): Promise<WatchEvent>
  /** The next `count` events. */
  take(count: number): Promise<WatchEvent[]>
  /** Everything that has come and was not taken yet. */
  readonly waiting: readonly WatchEvent[]
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  close(): void
}

/** An open stream. */
export interface TestStream {
  readonly headers: IncomingHttpHeaders
  /** All bytes once `isEnough` says so; rejects when the stream ended before. */
  bytesUntil(isEnough: (bytes: Buffer) => boolean): Promise<Buffer>
  close(): void
}

export interface ApiClient {
  request(method: string, path: string, ask?: Ask): Promise<Reply>
  /** Opens a watch; an answer other than 200 is a rejection with its body. */
  watch(path: string, ask?: Ask): Promise<TestWatch>
  /** Opens a stream of any bytes; an answer other than 200 is a rejection with its body. */
  stream(path: string, ask?: Ask): Promise<TestStream>
  /** The certificate a certificate identity shows, for clients a test builds by hand. */
  credential(as: Identity): Credential | undefined
  /** Cuts every connection. */
  close(): void
}

function payloadOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function parsedBody(headers: IncomingHttpHeaders, text: string): unknown {
  const type = String(headers['content-type'] ?? '')
  if (!type.startsWith('application/json') || text === '') return text
  try {
    return JSON.parse(text)
  } catch {
    // A test that expects JSON sees the text it got instead.
    return text
  }
}

function watchOf(stream: ClientHttp2Stream, headers: IncomingHttpHeaders): TestWatch {
  const waiting: WatchEvent[] = []
  const takers: { resolve: (event: WatchEvent) => void; reject: (error: Error) => void }[] = []
  let rest = ''
  let isOver = false
  const { promise: ended, resolve: nowEnded } = Promise.withResolvers<void>()
  stream.on('data', (chunk: Buffer) => {
    rest += chunk.toString()
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const event = JSON.parse(line) as WatchEvent
      const taker = takers.shift()
      if (taker === undefined) waiting.push(event)
      else taker.resolve(event)
    }
  })
  stream.on('close', () => {
    isOver = true
    for (const taker of takers.splice(0)) taker.reject(new Error('the watch ended'))
    nowEnded()
  })
  const next = async (): Promise<WatchEvent> => {
    const event = waiting.shift()
    if (event !== undefined) return event
    if (isOver) throw new Error('the watch ended')
    return await new Promise((resolve, reject) => {
      takers.push({ resolve, reject })
    })
  }
  return {
    headers,
    next,
    take: async (count) => {
      const events: WatchEvent[] = []
      while (events.length < count) events.push(await next())
      return events
    },
    waiting,
    ended,
    close: () => stream.close(http2.constants.NGHTTP2_CANCEL),
  }
}

function streamOf(stream: ClientHttp2Stream, headers: IncomingHttpHeaders): TestStream {
  let bytes = Buffer.alloc(0)
  let isOver = false
  let look = (): void => {}
  stream.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    look()
  })
  stream.on('close', () => {
    isOver = true
    look()
  })
  return {
    headers,
    bytesUntil: (isEnough) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (isEnough(bytes)) resolve(bytes)
          else if (isOver) reject(new Error(`the stream ended after ${bytes.length} bytes`))
        }
        look()
      }),
    close: () => stream.close(http2.constants.NGHTTP2_CANCEL),
  }
}

/** A client of the server on `host`:`port()`, whose certificates the pki's authority signs. */
export function createApiClient(options: {
  pki: Pki
  port: () => number
  /** Default: 127.0.0.1. */
  host?: string
  /** A request that takes longer rejects, and its connection is cut. Default: none does. */
  timeoutMs?: number
  /** When the certificates of identities begin, in milliseconds since the epoch. Default: when each is first needed. */
  issuedAtMs?: number
}): ApiClient {
  const { pki, port, host = '127.0.0.1', timeoutMs, issuedAtMs } = options
  const credentials = new Map<string, Credential>()
  const sessions = new Map<string, ClientHttp2Session>()

  const credential = (as: Identity): Credential | undefined => {
    if (as === 'anonymous' || 'token' in as) return undefined
    const id = JSON.stringify([as.user, as.groups ?? []])
    const known = credentials.get(id)
    if (known !== undefined) return known
    const profile = clientProfile({ commonName: as.user, organizations: [...(as.groups ?? [])] })
    const made = issue(pki.authority, { profile, nowMs: issuedAtMs ?? Date.now() })
    credentials.set(id, made)
    return made
  }

  const sessionFor = (as: Identity): ClientHttp2Session => {
    const shown = credential(as)
    const id = `${port()} ${shown?.certificatePem ?? ''}`
    const known = sessions.get(id)
    if (known !== undefined && !known.closed && !known.destroyed) return known
    const session = http2.connect(`https://${host}:${port()}`, {
      ca: pki.authority.certificatePem,
      // Node counts what a refused upload left unsent; with its default a few of them end the session.
      maxSessionMemory: 1000,
      ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }),
    })
    // Told by the requests that fail.
    session.on('error', () => {})
    session.unref()
    sessions.set(id, session)
    return session
  }

  const send = (method: string, path: string, ask: Ask): ClientHttp2Stream => {
    const { as = admin, headers = {} } = ask
    const payload = payloadOf(ask.body)
    const isJson = payload !== undefined && headers['content-type'] === undefined
    const stream = sessionFor(as).request(
      {
        ':method': method,
        ':path': path,
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(typeof as === 'object' && 'token' in as ? { authorization: `Bearer ${as.token}` } : {}),
        ...headers,
      },
      { endStream: payload === undefined },
    )
    if (payload !== undefined) stream.end(payload)
    return stream
  }

  /** Cuts the connection if the event has not come in time. */
  const limit = (stream: ClientHttp2Stream, event: 'response' | 'close'): void => {
    if (timeoutMs === undefined) return
    const late = new Error(`no answer came within ${timeoutMs} ms`)
    const timer = setTimeout(() => stream.session?.destroy(late), timeoutMs)
    for (const end of [event, 'close']) stream.once(end, () => clearTimeout(timer))
  }

  const request: ApiClient['request'] = (method, path, ask = {}) => {
    const stream = send(method, path, ask)
    limit(stream, 'close')
    return new Promise((resolve, reject) => {
      let headers: IncomingHttpHeaders = {}
      const chunks: Buffer[] = []
      stream.on('response', (received) => {
        headers = received
      })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', reject)
      stream.on('close', () => {
        const bytes = Buffer.concat(chunks)
        const text = bytes.toString()
        const body: unknown = parsedBody(headers, text)
        resolve({ status: Number(headers[':status'] ?? 0), headers, text, bytes, body })
      })
    })
  }

  /** Sends a GET and waits for its head; an answer other than 200 is a rejection with its body. */
  const open = async (
    path: string,
    ask: Ask,
  ): Promise<{ stream: ClientHttp2Stream; headers: IncomingHttpHeaders }> => {
    const stream = send('GET', path, ask)
    limit(stream, 'response')
    const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.once('response', resolve)
      stream.once('error', reject)
      stream.once('close', () => reject(new Error('the connection ended before an answer came')))
    })
    if (Number(headers[':status']) !== 200) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk as Buffer)
      throw Object.assign(new Error(`watch refused: ${Buffer.concat(chunks).toString()}`), {
        status: Number(headers[':status']),
      })
    }
    stream.on('error', () => {
      // Told by 'close'.
    })
    return { stream, headers }
  }

  return {
    request,
    credential,
    watch: async (path, ask = {}) => {
      const { stream, headers } = await open(path, ask)
      return watchOf(stream, headers)
    },
    stream: async (path, ask = {}) => {
      const { stream, headers } = await open(path, ask)
      return streamOf(stream, headers)
    },
    close: () => {
      for (const session of sessions.values()) session.destroy()
      sessions.clear()
    },
  }
}
