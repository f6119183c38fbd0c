/** Tunnel: an upgraded connection between a client and an extension API server. */
import type { Duplex } from 'node:stream'
import { refuseUpgrade } from '../../component-base/http1-exchange.ts'
import type { Log } from '../../component-base/log.ts'
import type { Answer, HttpRequest } from '../request/request.ts'

/** An answer with status 101: its sender hands over the client's connection. */
export interface TunnelAnswer extends Answer {
  /** `head` holds the bytes that the client has sent already. */
  readonly tunnel: (client: Duplex, head: Buffer) => void
}

/** The longest rejection, in bytes. */
const mostRefusalBytes = 64 * 1024

/** Whether a request asks to upgrade its connection. HTTP/2 has no such header. */
export function asksForUpgrade({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  return headers['upgrade'] !== undefined && /\bupgrade\b/i.test(String(headers['connection']))
}

/** Joins two connections until both have ended, or `over` aborts. */
export function join(
  client: { socket: Duplex; head: Buffer },
  server: { socket: Duplex; head: Buffer },
  over: AbortSignal,
): void {
  const cut = (): void => {
    client.socket.destroy()
    server.socket.destroy()
  }
  over.addEventListener('abort', cut, { once: true })
  client.socket.once('close', () => over.removeEventListener('abort', cut))
  if (server.head.length > 0) client.socket.write(server.head)
  if (client.head.length > 0) server.socket.write(client.head)
  for (const [from, to] of [
    [client.socket, server.socket],
    [server.socket, client.socket],
  ] as const) {
    // One chunk at a time, so that each TLS record is forwarded as one (see websocket-connection.ts).
    from.on('data', (chunk: Buffer) => {
      from.pause()
      to.write(chunk, () => from.resume())
    })
    from.once('end', () => to.end())
    from.resume()
    from.once('error', () => {
      // 'close' follows and handles it.
    })
    from.once('close', () => {
      // Pending bytes reach the other side unless this one was cut off; nothing reads the other side's answer any more.
      if (from.readableEnded) to.end()
      else to.destroy()
      to.resume()
    })
  }
}

async function bytesOf({ body }: Answer, signal: AbortSignal): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body
  const chunks: Buffer[] = []
  let size = 0
  await body({
    write: (chunk) => {
      size += chunk.length
      if (size <= mostRefusalBytes) chunks.push(chunk)
      return true
    },
    drained: () => Promise.resolve(),
    buffered: 0,
    signal,
  })
  return Buffer.concat(chunks)
}

/** Answers an upgrade request. Any answer but a tunnel is sent as a plain one and closes the connection. */
export async function serveTunnel(
  http: HttpRequest,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  options: { handle: (http: HttpRequest) => Promise<Answer>; log: Log },
): Promise<void> {
  const answer = await options.handle(http)
  if (answer.status !== 101 || !('tunnel' in answer)) {
    refuseUpgrade(socket, { ...answer, body: await bytesOf(answer, http.signal) })
    return
  }
  const lines = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value].flat().map((item) => `${name}: ${item}\r\n`),
  )
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
  ;(answer as TunnelAnswer).tunnel(socket, head)
}
