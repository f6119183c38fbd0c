/** A listener and plain clients of both HTTP versions, for tests of the transport. */
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import type { Answer } from '../../components/component-base/http.ts'
import { createHttpsServer } from '../../components/component-base/https-server.ts'
import type { HttpsServerOptions } from '../../components/component-base/https-server.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { createTestPki } from './tls.ts'

export const pki = createTestPki()
const cleanups: (() => unknown)[] = []
/** Ends everything the tests opened; for afterEach. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
}

/** A plain text answer. */
export const text = (body: string, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from(body),
})

/** A listener on a free port, stopped by cleanUp. */
export async function serve(
  handler: HttpsServerOptions['handler'],
  more: Partial<HttpsServerOptions> = {},
) {
  const stop = new AbortController()
  const server = createHttpsServer({
    host: '127.0.0.1',
    port: 0,
    tls: pki.server,
    handler,
    log: silentLog,
    ...more,
  })
  const done = server.run(stop.signal)
  const { port } = await server.ready
  cleanups.push(async () => {
    stop.abort()
    await done
  })
  return { port, server, done, stop: () => stop.abort() }
}

type Reply = { status: number; headers: Record<string, unknown>; body: string }
type Ask = { method?: string; headers?: Record<string, string | string[]>; body?: Buffer | string }

/** An HTTP/2 connection. */
export function session(port: number, options: http2.SecureClientSessionOptions = {}) {
  const client = http2.connect(`https://127.0.0.1:${port}`, { ca: pki.caPem, ...options })
  client.on('error', () => {})
  cleanups.push(() => client.destroy())
  return client
}

/** One request on it; rejects when the answer is cut. */
export async function ask2(client: http2.ClientHttp2Session, path: string, more: Ask = {}) {
  const stream = client.request({
    ':path': path,
    ':method': more.method ?? 'GET',
    ...more.headers,
  })
  stream.end(more.body)
  return new Promise<Reply>((resolve, reject) => {
    let headers: http2.IncomingHttpHeaders = {}
    const chunks: Buffer[] = []
    stream.on('response', (received) => {
      headers = received
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () =>
      resolve({
        status: Number(headers[':status']),
        headers,
        body: Buffer.concat(chunks).toString(),
      }),
    )
  })
}

/** One HTTP/1.1 request on a connection of its own. */
export function ask1(port: number, path: string, more: Ask & { cert?: string; key?: string } = {}) {
  return new Promise<Reply>((resolve, reject) => {
    const { body, ...options } = more
    const request = https.request(
      { host: '127.0.0.1', port, path, ca: pki.caPem, agent: false, ...options },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** A connection to write bytes on by hand. */
export function tlsSocket(port: number, alpn?: string[]) {
  const socket = tls.connect({
    ...{ host: '127.0.0.1', port, ca: pki.caPem },
    ...(alpn === undefined ? {} : { ALPNProtocols: alpn }),
  })
  socket.on('error', () => {})
  cleanups.push(() => socket.destroy())
  return socket
}

/** Runs `step` every 20 ms until the socket closes. */
export async function trickle(socket: net.Socket, step: () => void) {
  const timer = setInterval(step, 20)
  socket.resume()
  // `once` would reject when the end is a reset.
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
}
