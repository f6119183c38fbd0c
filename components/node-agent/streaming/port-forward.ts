/** Port forward: connections of a client to ports of a pod, over SPDY or as numbered channels of a WebSocket (upstream: portforward). */
import { Duplex, PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { numberedChannels } from './numbered-channels.ts'
import { serveSpdy } from './spdy-connection.ts'
import type { SpdyStream } from './spdy-connection.ts'
import { serveWebSocket } from './websocket-connection.ts'

/** Connects to a port of the pod; rejects when nothing listens there. */
export type ConnectPort = (port: number) => Promise<Duplex>

export const spdyPortForwardProtocol = 'portforward.k8s.io'
/** SPDY inside the messages of a WebSocket. */
export const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'
/** One pair of channels per port of the query; '' stands for no protocol (upstream: handleWebSocketStreams). */
export const channelProtocols = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', ''] as const

const mostPort = 65_535

export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= mostPort ? port : undefined
}

/** Copies both ways until both have ended. That nothing listens is said to `complain`, and the client's end is ended. */
async function join(
  port: number,
  ends: { client: Duplex; connect: ConnectPort; complain: (text: string) => void },
): Promise<void> {
  const { client, connect, complain } = ends
  let server: Duplex
  try {
    server = await connect(port)
  } catch (error) {
    complain(`error forwarding port ${port}: ${(error as Error).message}`)
    client.resume()
    client.end()
    return
  }
  // How either direction ended is what the other end sees.
  await Promise.allSettled([pipeline(client, server), pipeline(server, client)])
  server.destroy()
}

/** Serves a SPDY connection until the client is gone. Each connection is two streams with one request id: `error` and `data`. */
export async function forwardOverSpdy(transport: Duplex, connect: ConnectPort): Promise<void> {
  const errors = new Map<string, SpdyStream>()
  await serveSpdy(transport, (stream) => {
    const { headers } = stream
    const [kind, id] = [headers.get('streamtype'), headers.get('requestid') ?? '']
    const port = readPort(headers.get('port') ?? '')
    if (port === undefined) stream.reset()
    else if (kind === 'error') {
      errors.set(id, stream)
      stream.once('close', () => errors.get(id) === stream && errors.delete(id))
      stream.resume()
    } else if (kind === 'data') {
      const error = errors.get(id)
      errors.delete(id)
      const complain = (text: string): void => void error?.write(text)
      void join(port, { client: stream, connect, complain }).finally(() => error?.end())
    } else stream.reset()
  }).closed
}

/** Serves SPDY inside the messages of a WebSocket. */
export async function forwardThroughTunnel(socket: Duplex, connect: ConnectPort): Promise<void> {
  const inward = new PassThrough()
  const connection = serveWebSocket(socket, async (message) => {
    if (inward.destroyed || inward.write(message)) return
    await new Promise<void>((resolve) => void inward.once('drain', resolve).once('close', resolve))
  })
  const transport = Duplex.from({
    readable: inward,
    writable: async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) await connection.send(chunk)
      connection.close()
    },
  })
  transport.on('error', () => {
    // Seen as the end of what is read.
  })
  void connection.closed.then(() => inward.end())
  await forwardOverSpdy(transport, connect)
  connection.close()
  await connection.closed
}

/**
 * Serves ports as channels: 2n carries the data of the n-th port, 2n+1 its errors; each says the port first, in two bytes. Ends
 * when the connections to all of them have.
 */
export async function forwardOverChannels(
  socket: Duplex,
  to: { readonly ports: readonly number[]; readonly protocol: string },
  connect: ConnectPort,
): Promise<void> {
  const { ports, protocol } = to
  const clients: PassThrough[] = ports.map(() => new PassThrough())
  const connection = numberedChannels(socket, protocol, async (number, data) => {
    const client = number % 2 === 0 ? clients[number / 2] : undefined
    if (client?.writable !== true || client.write(data)) return
    await new Promise<void>((resolve) => void client.once('drain', resolve).once('close', resolve))
  })
  const { send } = connection
  const joined: Promise<void>[] = []
  for (const [index, port] of ports.entries()) {
    const name = Buffer.alloc(2)
    name.writeUInt16LE(port)
    await send(2 * index, name)
    await send(2 * index + 1, name)
    const inward = clients[index] ?? new PassThrough()
    const client = Duplex.from({
      readable: inward,
      writable: async (source: AsyncIterable<Buffer>) => {
        for await (const chunk of source) await send(2 * index, chunk)
        // A channel has no half that could stay open.
        inward.end()
      },
    })
    client.on('error', () => {
      // The join reports it.
    })
    const complain = (text: string): void => void send(2 * index + 1, Buffer.from(text))
    joined.push(join(port, { client, connect, complain }))
  }
  void Promise.all(joined).then(() => connection.close())
  await connection.closed
  for (const client of clients) client.end()
}
