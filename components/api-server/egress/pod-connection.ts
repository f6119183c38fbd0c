/**
 * PodConnection: a connection to a port of a pod, made by the agent of its node as for a port-forward. The agent connects
 * only to its own pods, so that no address in an object makes this server connect elsewhere.
 */
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { connectionTo, type NodeAddress, type NodeAgentCredentials } from './node-agents.ts'

export interface PodPort {
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/** A pair of channels for the one port: its bytes, and its error (upstream: portforward/websocket.go). */
const protocol = 'v4.channel.k8s.io'
const channels = { data: 0, error: 1 } as const
/** Less than the agent takes in one message. */
const messageBytes = 256 * 1024
const mostRefusalBytes = 1000

async function refusal(answer: IncomingMessage): Promise<Error> {
  let text = ''
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    text += chunk.toString()
    if (text.length > mostRefusalBytes) break
  }
  return new Error(`the node answered ${answer.statusCode}: ${text.slice(0, mostRefusalBytes)}`)
}

async function opened(ws: WebSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
    ws.once('unexpected-response', (request, answer) => {
      refusal(answer)
        .then(reject, reject)
        .finally(() => request.destroy())
    })
  })
}

/** The bytes of the data channel; an error on the error channel destroys the stream. */
function streamOf(ws: WebSocket): Duplex {
  const dataHead = Buffer.of(channels.data)
  const stream = new Duplex({
    read: () => ws.resume(),
    write: (chunk: Buffer, _, done) => {
      for (let at = 0; at < chunk.length; at += messageBytes) {
        const isLast = at + messageBytes >= chunk.length
        const message = Buffer.concat([dataHead, chunk.subarray(at, at + messageBytes)])
        ws.send(message, isLast ? done : undefined)
      }
    },
    // Channels cannot be half-closed.
    final: (done) => {
      ws.close()
      done()
    },
    destroy: (error, done) => {
      ws.terminate()
      done(error)
    },
  })
  const named = new Set<number | undefined>()
  ws.on('message', (message: Buffer) => {
    const channel = message[0]
    if (!named.has(channel)) {
      // The first message of each channel is the port.
      named.add(channel)
      return
    }
    const data = message.subarray(1)
    if (channel === channels.error) stream.destroy(new Error(data.toString()))
    else if (data.length > 0 && !stream.push(data)) ws.pause()
  })
  ws.on('error', (error) => stream.destroy(error))
  ws.once('close', () => stream.destroyed || stream.push(null))
  return stream
}

/** Rejects, or later destroys the stream, with the error of the connection. `signal` cancels the attempt. */
export async function connectToPod(
  agent: NodeAddress,
  to: PodPort,
  more: { readonly credentials: NodeAgentCredentials; readonly signal: AbortSignal },
): Promise<Duplex> {
  const { WebSocket } = await import('ws')
  const host = agent.host.includes(':') ? `[${agent.host}]` : agent.host
  const path = ['portForward', to.namespace, to.pod].map(encodeURIComponent).join('/')
  const ws = new WebSocket(`wss://${host}:${agent.port}/${path}?ports=${to.port}`, protocol, {
    ...connectionTo(more.credentials),
    perMessageDeflate: false,
    followRedirects: false,
  })
  const stop = (): void => ws.terminate()
  more.signal.addEventListener('abort', stop, { once: true })
  try {
    await opened(ws)
  } finally {
    more.signal.removeEventListener('abort', stop)
  }
  return streamOf(ws)
}
