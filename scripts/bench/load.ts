/** Load over HTTP/2: a number of connections with a number of requests in flight on each, for a time or a count. */
import {
  connect,
  sensitiveHeaders,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
} from 'node:http2'
import { performance } from 'node:perf_hooks'

export interface Endpoint {
  readonly origin: string
  /** Without one, the server's certificate is not verified. */
  readonly ca?: Buffer | undefined
  /** A client certificate; without one, the token identifies the client. */
  readonly cert?: Buffer | string
  readonly key?: Buffer | string
  readonly token?: string
  /** Sent in an unused header and, like a token, never by reference to the header table. */
  readonly ignored?: string
}

export function openSession(endpoint: Endpoint): ClientHttp2Session {
  const session = connect(endpoint.origin, {
    ...(endpoint.ca === undefined ? { rejectUnauthorized: false } : { ca: endpoint.ca }),
    ...(endpoint.cert === undefined ? {} : { cert: endpoint.cert, key: endpoint.key }),
    settings: { initialWindowSize: 16 * 1024 * 1024 },
  })
  session.setMaxListeners(0)
  session.once('connect', () => session.setLocalWindowSize(64 * 1024 * 1024))
  return session
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: Buffer
  /** Default: JSON. */
  readonly contentType?: string
  readonly token?: string | undefined
  readonly ignored?: string | undefined
}

/** The header that carries the endpoint's token, if it has one. */
export function authorizationOf({ token }: { readonly token?: string | undefined }) {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** The body of a get. */
export async function answerOf(
  session: ClientHttp2Session,
  path: string,
  token?: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  const stream = session.request({ ':path': path, ...authorizationOf({ token }) })
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export interface Answer {
  readonly status: number
  readonly bytes: Buffer
  /** The header; empty without one. */
  readonly warning: string
}

/** One request, and all that is answered to it. */
export async function answerTo(session: ClientHttp2Session, request: Request): Promise<Answer> {
  const stream = session.request({
    ':method': request.method,
    ':path': request.path,
    ...authorizationOf(request),
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
  })
  stream.end(request.body)
  const headers = await new Promise<IncomingHttpHeaders & { ':status'?: number }>(
    (resolve, reject) => stream.once('response', resolve).once('error', reject),
  )
  const bytes = Buffer.concat(await stream.toArray())
  return { status: Number(headers[':status']), bytes, warning: String(headers['warning'] ?? '') }
}

/** One request; resolves with the status and how many bytes came. */
export async function exchange(
  session: ClientHttp2Session,
  request: Request,
): Promise<{ status: number; bytes: number; firstByteMs: number }> {
  return await new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const stream = session.request({
      ':method': request.method,
      ':path': request.path,
      ...(request.ignored === undefined
        ? {}
        : { 'x-ignored': request.ignored, [sensitiveHeaders]: ['x-ignored'] }),
      ...authorizationOf(request),
      ...(request.body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json' }),
    })
    let status = 0
    let bytes = 0
    let firstByteMs = 0
    stream.on('response', (headers) => (status = Number(headers[':status'])))
    stream.on('data', (chunk: Buffer) => {
      if (bytes === 0) firstByteMs = performance.now() - startedAt
      bytes += chunk.length
    })
    stream.on('end', () => resolve({ status, bytes, firstByteMs }))
    stream.on('error', reject)
    stream.end(request.body)
  })
}

export interface LoadResult {
  readonly perSecond: number
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export interface LoadOptions {
  readonly connections: number
  /** Requests in flight on each connection. */
  readonly streams: number
  readonly durationMs: number
  /** What every request is to be answered with. */
  readonly status: number
  readonly next: () => Request
}

export interface SteadyLoad {
  /** That many requests, as fast as they go; how many there were in a second. Throws on an unexpected status. */
  run(requests: number): Promise<number>
  close(): void
}

/** Load over connections that stay open, so that what comes in small portions does not pay for handshakes. */
export function openLoad(endpoint: Endpoint, options: Omit<LoadOptions, 'durationMs'>): SteadyLoad {
  const sessions = Array.from({ length: options.connections }, () => openSession(endpoint))
  return {
    async run(requests) {
      let left = requests
      const worker = async (session: ClientHttp2Session): Promise<void> => {
        while (left-- > 0) {
          const { token, ignored } = endpoint
          const { status } = await exchange(session, { token, ignored, ...options.next() })
          if (status !== options.status) throw new Error(`answered ${status}`)
        }
      }
      const startedAt = performance.now()
      await Promise.all(
        sessions.flatMap((session) =>
          Array.from({ length: options.streams }, () => worker(session)),
        ),
      )
      return requests / ((performance.now() - startedAt) / 1000)
    },
    close: () => {
      for (const session of sessions) session.close()
    },
  }
}

/** Runs `next` over and over until `durationMs` has passed. Throws on an unexpected status. */
export async function load(endpoint: Endpoint, options: LoadOptions): Promise<LoadResult> {
  const sessions = Array.from({ length: options.connections }, () => openSession(endpoint))
  const times: number[] = []
  const startedAt = performance.now()
  const until = startedAt + options.durationMs
  const worker = async (session: ClientHttp2Session): Promise<void> => {
    while (performance.now() < until) {
      const sentAt = performance.now()
      const { status } = await exchange(session, {
        token: endpoint.token,
        ignored: endpoint.ignored,
        ...options.next(),
      })
      if (status !== options.status) throw new Error(`answered ${status}`)
      times.push(performance.now() - sentAt)
    }
  }
  try {
    await Promise.all(
      sessions.flatMap((session) => Array.from({ length: options.streams }, () => worker(session))),
    )
  } finally {
    for (const session of sessions) session.close()
  }
  const seconds = (performance.now() - startedAt) / 1000
  times.sort((a, b) => a - b)
  return {
    perSecond: times.length / seconds,
    requests: times.length,
    p50Ms: times[Math.floor(times.length * 0.5)] ?? 0,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    p999Ms: times[Math.floor(times.length * 0.999)] ?? 0,
  }
}
