/** A client's WebSocket to the API server under test. */
import { WebSocket } from 'ws'
import { admin, type Identity, type TestApiServer } from './api-server.ts'

interface Message {
  readonly data: Buffer
  readonly isBinary: boolean
}

export interface OpenedWebSocket {
  readonly socket: WebSocket
  /** The next message; rejects when the socket closed before one came. */
  next(): Promise<Message>
  /** Resolves to the code it was closed with. */
  readonly closed: Promise<number>
}

interface Ask {
  readonly as?: Identity
  readonly protocols?: string[]
  readonly headers?: Record<string, string>
}

/** Opens a WebSocket; a plain answer is a rejection with its status and body. */
export async function openWebSocket(
  server: TestApiServer,
  path: string,
  ask: Ask = {},
): Promise<OpenedWebSocket> {
  const shown = server.credential(ask.as ?? admin)
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, ask.protocols ?? [], {
    ca: server.pki.authority.certificatePem,
    headers: ask.headers ?? {},
    ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }),
  })
  const waiting: Message[] = []
  let wake = (): void => {}
  socket.on('message', (data: Buffer, isBinary) => {
    waiting.push({ data, isBinary })
    wake()
  })
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      resolve(code)
      wake()
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
    socket.on('unexpected-response', (_, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        reject(Object.assign(new Error(text), { status: response.statusCode, text }))
      })
    })
  })
  const next = async (): Promise<Message> => {
    const message = waiting.shift()
    if (message !== undefined) return message
    if (socket.readyState !== WebSocket.OPEN) throw new Error('the WebSocket closed')
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    return await next()
  }
  return { socket, next, closed }
}
