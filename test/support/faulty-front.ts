/** A front before an API server that answers in its stead, or loses the server's answers: HTTP/2, with the server's certificate. */
import http2 from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { admin } from './api-client.ts'
import type { TestApiServer } from './api-server.ts'

/** What becomes of a request: it passes, gets that answer, or has its effect and cuts the connection. */
export type Fate = 'pass' | 'lose' | { readonly status: number; readonly retryAfterSeconds: number }

export interface FrontedRequest {
  readonly method: string
  readonly path: string
  readonly atMs: number
}

export interface FaultyFront extends AsyncDisposable {
  readonly port: number
  /** Default: all pass. */
  fateOf: (request: FrontedRequest) => Fate
  /** Every request, in order. */
  readonly requests: readonly FrontedRequest[]
}

const hopByHop = (headers: IncomingHttpHeaders): http2.OutgoingHttpHeaders => {
  const { ':authority': _authority, ':scheme': _scheme, ...rest } = headers
  return rest
}

/** Starts it on a free port. What passes reaches the server as its administrator. */
export async function startFaultyFront(server: TestApiServer): Promise<FaultyFront> {
  const { apiserver } = server.pki.credentials
  const shown = server.credential(admin)
  const behind = http2.connect(`https://127.0.0.1:${server.port}`, {
    ca: server.pki.authority.certificatePem,
    cert: shown?.certificatePem ?? '',
    key: shown?.privateKeyPem ?? '',
  })
  // Told by the requests that fail.
  behind.on('error', () => {})
  const requests: FrontedRequest[] = []
  const forward = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    isLost: boolean,
  ): void => {
    const passed = behind.request(hopByHop(headers))
    stream.pipe(passed)
    passed.on('error', () => stream.destroy())
    stream.on('close', () => passed.close())
    if (isLost) {
      passed.resume()
      passed.on('end', () => stream.session?.destroy())
      return
    }
    passed.on('response', (answer) => {
      if (stream.destroyed) return
      stream.respond(answer)
      passed.pipe(stream)
    })
  }
  const sessions = new Set<http2.ServerHttp2Session>()
  const listener = http2.createSecureServer({
    cert: apiserver.certificatePem,
    key: apiserver.privateKeyPem,
  })
  listener.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {})
    session.on('close', () => sessions.delete(session))
  })
  listener.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const { ':method': method = '', ':path': path = '' } = headers
    const request = { method, path, atMs: performance.now() }
    requests.push(request)
    const fate = front.fateOf(request)
    if (typeof fate === 'string') {
      forward(stream, headers, fate === 'lose')
      return
    }
    const { status, retryAfterSeconds } = fate
    stream.resume()
    stream.respond({ ':status': status, 'retry-after': String(retryAfterSeconds) })
    stream.end('not now')
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const front: FaultyFront = {
    port: (listener.address() as AddressInfo).port,
    fateOf: () => 'pass',
    requests,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy()
      behind.destroy()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    },
  }
  return front
}
