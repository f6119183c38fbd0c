/** gRPC over Unix sockets, as far as device plugins need it: answering single calls, and reading a stream of messages. */
import http2 from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { connect, type Socket } from 'node:net'
import type { Log } from '../../component-base/log.ts'

/** The error of a failed call (gRPC: status codes). */
export class GrpcError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.name = 'GrpcError'
    this.code = code
  }
}

const unknownCode = 2
const tooLargeCode = 8
const unimplementedCode = 12
const mostBytes = 4 * 1024 * 1024
const contentType = 'application/grpc+proto'

/** Takes a message and gives the answer; the caller receives a GrpcError. */
export type GrpcMethod = (message: Buffer) => Buffer | Promise<Buffer>

/** Decodes a percent-encoded text; any other text stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Splits a stream of bytes into messages. Throws a GrpcError for one that is compressed or too large. */
function createUnframer(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 5) {
      if (rest[0] !== 0) throw new GrpcError(unimplementedCode, 'compressed messages are not read')
      const length = rest.readUInt32BE(1)
      if (length > mostBytes) throw new GrpcError(tooLargeCode, 'the message is too large')
      if (rest.length < 5 + length) return
      onMessage(rest.subarray(5, 5 + length))
      rest = rest.subarray(5 + length)
    }
  }
}

async function firstMessage(stream: ServerHttp2Stream): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const take = createUnframer(resolve)
    stream.on('data', (chunk: Buffer) => {
      try {
        take(chunk)
      } catch (error) {
        reject(error as Error)
      }
    })
    const fail = (): void => reject(new GrpcError(unknownCode, 'there was no message'))
    stream.on('end', fail).on('close', fail).on('error', reject)
  })
}

async function answer(stream: ServerHttp2Stream, method: GrpcMethod | undefined): Promise<void> {
  try {
    if (method === undefined) throw new GrpcError(unimplementedCode, 'unknown method')
    const result = await method(await firstMessage(stream))
    stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(frame(result))
  } catch (error) {
    // The caller may have gone, or given up this call, while the method worked.
    if (stream.destroyed || stream.closed || stream.headersSent) return
    const code = error instanceof GrpcError ? error.code : unknownCode
    stream.respond(
      {
        ':status': 200,
        'content-type': contentType,
        'grpc-status': String(code),
        'grpc-message': encodeURIComponent((error as Error).message),
      },
      { endStream: true },
    )
  }
}

/** Answers calls of `methods` (by path, `/v1beta1.Registration/Register`) on a socket until the signal aborts. */
export async function serveGrpc(
  options: { path: string; methods: Readonly<Record<string, GrpcMethod>>; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const { path, methods, log } = options
  const server = http2.createServer()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('sessionError', (error) => log.debug('a device plugin’s connection failed', { error }))
  server.on('stream', (stream, headers) => {
    stream.on('error', (error) => log.debug('a device plugin’s call failed', { error }))
    void answer(stream, methods[String(headers[':path'])])
  })
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.on('close', () => resolve())
    const stop = (): void => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
    signal.addEventListener('abort', stop, { once: true })
    server.listen(path, () => {
      if (signal.aborted) stop()
    })
  })
}

/** Calls a method and hands over each message of its answer; resolves when the stream ends, rejects when the call fails. */
export async function readGrpcStream(
  options: { path: string; method: string; message: Buffer; onMessage: (message: Buffer) => void },
  signal: AbortSignal,
): Promise<void> {
  const { path, method, message, onMessage } = options
  signal.throwIfAborted()
  const session = http2.connect('http://localhost', { createConnection: () => connect(path) })
  const stop = (): void => session.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      session.on('error', reject)
      session.on('close', () => resolve())
      const call = session.request({
        ':method': 'POST',
        ':path': method,
        'content-type': contentType,
        te: 'trailers',
      })
      const take = createUnframer(onMessage)
      const noteStatus = (headers: http2.IncomingHttpHeaders): void => {
        const status = headers['grpc-status']
        if (status === undefined || status === '0') return
        reject(new GrpcError(Number(status), decoded(String(headers['grpc-message'] ?? ''))))
      }
      call.on('response', noteStatus)
      call.on('trailers', noteStatus)
      call.on('data', (chunk: Buffer) => {
        try {
          take(chunk)
        } catch (error) {
          reject(error as Error)
        }
      })
      call.on('error', reject)
      call.on('end', () => resolve())
      call.end(frame(message))
    })
  } finally {
    signal.removeEventListener('abort', stop)
    session.destroy()
  }
}
