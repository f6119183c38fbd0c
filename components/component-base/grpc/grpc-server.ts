/** serveGrpc: answers single calls on a Unix socket. */
import { createServer } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { grpcCode, GrpcError } from './grpc-error.ts'
import { framed, grpcContentType, MessageReader } from './grpc-messages.ts'

/** Takes a message and gives the answer; the caller receives a GrpcError. */
export type GrpcMethod = (message: Buffer) => Buffer | Promise<Buffer>

const limits = { mostBytes: 4 * 1024 * 1024, compressedCode: grpcCode.unimplemented }

async function firstMessage(stream: ServerHttp2Stream): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const reader = new MessageReader(limits)
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk)
        for (let next = reader.next(); next !== undefined; next = reader.next()) resolve(next)
      } catch (error) {
        reject(error as Error)
      }
    })
    const fail = (): void => reject(new GrpcError(grpcCode.unknown, 'there was no message'))
    stream.on('end', fail).on('close', fail).on('error', reject)
  })
}

async function answer(stream: ServerHttp2Stream, method: GrpcMethod | undefined): Promise<void> {
  try {
    if (method === undefined) throw new GrpcError(grpcCode.unimplemented, 'unknown method')
    const result = await method(await firstMessage(stream))
    stream.respond({ ':status': 200, 'content-type': grpcContentType }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(framed(result))
  } catch (error) {
    // The caller may have gone, or given up this call, while the method worked.
    if (stream.destroyed || stream.closed || stream.headersSent) return
    const code = error instanceof GrpcError ? error.code : grpcCode.unknown
    stream.respond(
      {
        ':status': 200,
        'content-type': grpcContentType,
        'grpc-status': String(code),
        'grpc-message': encodeURIComponent((error as Error).message),
      },
      { endStream: true },
    )
  }
}

/**
 * Answers calls of `methods` (by path, `/v1beta1.Registration/Register`) on a socket until the signal aborts. Rejects when
 * it cannot listen.
 */
export async function serveGrpc(
  options: { path: string; methods: Readonly<Record<string, GrpcMethod>>; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const { path, methods, log } = options
  const server = createServer()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('sessionError', (error) => log.debug('a gRPC connection failed', { path, error }))
  server.on('stream', (stream, headers) => {
    stream.on('error', (error) => log.debug('a gRPC call failed', { path, error }))
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
