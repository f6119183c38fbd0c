/** Tunnel: a connection that goes on as another protocol, between a client and the extension API server that agreed to it. */
import type { Duplex } from 'node:stream'
import { refuseUpgrade } from '../../component-base/http1-exchange.ts'
import type { Log } from '../../component-base/log.ts'
import type { Answer, HttpRequest } from '../request/request.ts'

/** An answer with status 101: whoever sends it hands over the client's connection. */
export interface TunnelAnswer extends Answer {
  /** `head` is what the client has sent already. */
  readonly tunnel: (client: Duplex, head: Buffer) => void
}

/** A refusal is as long as this at most. */
const mostRefusalBytes = 64 * 1024

/** Whether a request asks for its connection to go on as another protocol. HTTP/2 has no such header. */
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
    // One piece at a time, so that what came in a TLS record of its own leaves in one (see websocket-connection.ts).
    from.on('data', (chunk: Buffer) => {
      from.pause()
      to.write(chunk, () => from.resume())
    })
    from.once('end', () => to.end())
    from.resume()
    from.once('error', () => {
      // Told by 'close'.
    })
    from.once('close', () => {
      // What is still on its way to the other side arrives, unless this one was cut off; what that one says now is for nobody.
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

/** Answers a request for another protocol; anything but a tunnel is a plain answer, and the end of the connection. */
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
