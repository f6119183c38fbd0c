/** A gRPC client, with servers of HTTP/2 that the tests write by hand. */
import { once } from 'node:events'
import http2 from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import net from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../components/component-base/clock.ts'
import { GrpcClient } from '../../../components/component-base/grpc/grpc-client.ts'
import type { GrpcClientOptions } from '../../../components/component-base/grpc/grpc-client.ts'
import { grpcCode, GrpcError } from '../../../components/component-base/grpc/grpc-error.ts'
import { framed } from '../../../components/component-base/grpc/grpc-messages.ts'
import { serveGrpc } from '../../../components/component-base/grpc/grpc-server.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { startTcpMiddle, type TcpMiddle } from '../../support/tcp-middle.ts'
import { createTestPki } from '../../support/tls.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const method = '/a.A/A'
const ok = { ':status': 200, 'content-type': 'application/grpc' }
const hello = Buffer.from('hello')
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

type OnStream = (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => unknown

async function listening(server: Server): Promise<number> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** A server without TLS; `onStream` gets each call. */
async function serve(onStream: OnStream): Promise<{ port: number; server: http2.Http2Server }> {
  const server = http2.createServer()
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    onStream(stream, headers)
  })
  return { port: await listening(server), server }
}

/** Ends a call as servers do. */
function finish(stream: ServerHttp2Stream, trailers: http2.OutgoingHttpHeaders = {}): void {
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', ...trailers }))
  stream.end()
}

function begin(stream: ServerHttp2Stream): void {
  stream.respond(ok, { waitForTrailers: true })
}

/** Sends back what it receives, byte for byte. */
const echo: OnStream = (stream) => {
  begin(stream)
  stream.on('data', (chunk: Buffer) => stream.write(chunk))
  stream.on('end', () => finish(stream))
}

function client(port: number, more: Partial<GrpcClientOptions> = {}): GrpcClient {
  const made = new GrpcClient({ address: { host: '127.0.0.1', port }, clock: systemClock, ...more })
  ends.push(() => made.close())
  return made
}

/** What a call rejects with. */
async function failure(call: Promise<unknown>): Promise<GrpcError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GrpcError)) throw new Error(`expected a GrpcError`, { cause: error })
  return error
}

async function startMiddle(port: number): Promise<TcpMiddle> {
  const middle = await startTcpMiddle(port)
  ends.push(() => middle.close())
  return middle
}

describe('a call with one message', () => {
  test('is answered over TCP, with its metadata, many at a time', async () => {
    const { port } = await serve((stream, headers) => {
      begin(stream)
      stream.resume()
      stream.end(framed(Buffer.from(`${String(headers[':path'])} ${String(headers['token'])}`)))
      finish(stream)
    })
    const to = client(port)
    const options = { metadata: { token: 't1' } }
    const calls = Array.from({ length: 200 }, () => to.unary(method, hello, options))
    const answers = new Set((await Promise.all(calls)).map(String))
    expect(answers).toEqual(new Set(['/a.A/A t1']))
  })

  test('is answered by our own server on a Unix socket, its errors too', async () => {
    const path = join(temporaryFolder('grpc'), 'a.sock')
    const stop = new AbortController()
    const refuse = (): never => {
      throw new GrpcError(grpcCode.notFound, 'ein Gerät fehlt: 100 %')
    }
    const methods = { [method]: (message: Buffer) => message, '/a.A/No': refuse }
    const served = serveGrpc({ path, methods, log: silentLog }, stop.signal)
    ends.push(async () => {
      stop.abort()
      await served
    })
    const to = await eventually(async () => {
      const made = client(0, { address: { path } })
      await made.connected()
      return made
    })
    expect(await to.unary(method, hello)).toEqual(hello)
    const refused = { code: grpcCode.notFound, message: 'ein Gerät fehlt: 100 %', isUnsent: false }
    expect(await failure(to.unary('/a.A/No', hello))).toMatchObject(refused)
    expect(await failure(to.unary('/a.A/Other', hello))).toMatchObject({ code: 12 })
  })

  test('takes an answer in pieces of any size, also of several megabytes', async () => {
    const message = Buffer.alloc(3_000_000, 'abcdefg')
    const { port } = await serve((stream, headers) => {
      begin(stream)
      stream.resume()
      const bytes = framed(headers[':path'] === method ? hello : message)
      if (headers[':path'] === method) for (const byte of bytes) stream.write(Buffer.from([byte]))
      else stream.write(bytes)
      finish(stream)
    })
    const to = client(port)
    expect(await to.unary(method, hello)).toEqual(hello)
    expect((await to.unary('/a.A/Large', hello)).equals(message)).toBe(true)
  })

  test('rejects RESOURCE_EXHAUSTED for messages over the limits, and the connection goes on', async () => {
    const { port } = await serve(echo)
    const to = client(port, { mostReceivedBytes: 10, mostSentBytes: 20 })
    expect(await failure(to.unary(method, Buffer.alloc(21)))).toMatchObject({
      code: grpcCode.resourceExhausted,
      message: 'the message has 21 bytes, more than the 20 that are sent',
      isUnsent: true,
    })
    expect(await failure(to.unary(method, Buffer.alloc(11)))).toMatchObject({
      code: grpcCode.resourceExhausted,
      message: 'the message has 11 bytes, more than the 10 that are read',
    })
    expect(await to.unary(method, Buffer.alloc(10))).toEqual(Buffer.alloc(10))
  })

  test.each<[string, OnStream, Partial<GrpcError>]>([
    [
      'a compressed answer',
      (stream) => {
        begin(stream)
        stream.write(Buffer.from([1, 0, 0, 0, 0]))
        finish(stream)
      },
      { code: grpcCode.internal, message: 'compressed messages are not read' },
    ],
    [
      'two messages',
      (stream) => {
        begin(stream)
        stream.write(Buffer.concat([framed(hello), framed(hello)]))
        finish(stream)
      },
      { code: grpcCode.internal, message: '/a.A/A was answered with several messages' },
    ],
    [
      'no message',
      (stream) => {
        begin(stream)
        finish(stream)
      },
      { code: grpcCode.internal, message: '/a.A/A was answered without a message' },
    ],
    [
      'half a message',
      (stream) => {
        begin(stream)
        stream.write(framed(hello).subarray(0, 7))
        finish(stream)
      },
      { code: grpcCode.internal, message: 'the server ended the call within a message' },
    ],
    [
      'an end without a status',
      (stream) => {
        stream.respond(ok)
        stream.end(framed(hello))
      },
      { code: grpcCode.internal, message: 'the server ended the call without a status' },
    ],
    [
      'a status in the headers',
      (stream) => {
        const status = { 'grpc-status': '5', 'grpc-message': 'k%C3%A4se %E2%82%AC' }
        stream.respond({ ...ok, ...status }, { endStream: true })
      },
      { code: grpcCode.notFound, message: 'käse €' },
    ],
    [
      'a status in the trailers, after a message',
      (stream) => {
        begin(stream)
        stream.write(framed(hello))
        finish(stream, { 'grpc-status': '9', 'grpc-message': '100 % wrong' })
      },
      { code: grpcCode.failedPrecondition, message: '100 % wrong' },
    ],
    [
      'a status that is no number',
      (stream) => stream.respond({ ...ok, 'grpc-status': 'fine' }, { endStream: true }),
      { code: grpcCode.unknown },
    ],
    [
      'a page of a proxy',
      (stream) => {
        stream.respond({ ':status': 503, 'content-type': 'text/html' })
        stream.end('<html>')
      },
      { code: grpcCode.unavailable, message: 'the server answered with HTTP status 503' },
    ],
    [
      'something else than gRPC',
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'text/html' })
        stream.end('<html>')
      },
      {
        code: grpcCode.unknown,
        message: 'the server answered with content type "text/html", not gRPC',
      },
    ],
    [
      'a refused stream',
      (stream) => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM),
      { code: grpcCode.unavailable, isUnsent: true },
    ],
    [
      'a cancelled stream',
      (stream) => stream.close(http2.constants.NGHTTP2_CANCEL),
      { code: grpcCode.cancelled, isUnsent: false },
    ],
    [
      'a stream reset within the answer',
      (stream) => {
        begin(stream)
        stream.write(framed(hello))
        stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
      },
      { code: grpcCode.internal, message: 'the server reset the call (HTTP/2 error 2)' },
    ],
  ])('rejects %s, and the connection goes on', async (_, onStream, expected) => {
    const { port } = await serve((stream, headers) => {
      if (headers[':path'] === method) onStream(stream, headers)
      else echo(stream, headers)
    })
    const to = client(port)
    expect(await failure(to.unary(method, hello))).toMatchObject(expected)
    expect(await to.unary('/a.A/Echo', hello)).toEqual(hello)
  })

  test('rejects DEADLINE_EXCEEDED when the server never answers, and the server sees it cancelled', async () => {
    const seen = Promise.withResolvers<number>()
    const { port } = await serve((stream) => stream.on('close', () => seen.resolve(stream.rstCode)))
    const clock = new FakeClock()
    const to = client(port, { clock })
    await to.connected()
    const failed = failure(to.unary(method, hello, { deadlineMs: 5000 }))
    await clock.step(4999)
    expect(clock.pending).toBe(1)
    await clock.step(1)
    expect(await failed).toMatchObject({
      code: grpcCode.deadlineExceeded,
      message: '/a.A/A got no answer within 5000 ms',
    })
    expect(await seen.promise).toBe(http2.constants.NGHTTP2_CANCEL)
  })

  test('rejects with the reason of its signal, at once or in flight', async () => {
    const cancelled = Promise.withResolvers<void>()
    const { port } = await serve((stream) => stream.on('close', () => cancelled.resolve()))
    const to = client(port)
    await to.connected()
    const stop = new AbortController()
    const call = to.unary(method, hello, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await expect(to.unary(method, hello, { signal: stop.signal })).rejects.toThrow('enough')
  })
})

describe('a stream', () => {
  test('carries messages both ways in order until both have ended', async () => {
    const { port } = await serve(echo)
    const received: string[] = []
    const call = client(port).stream(method, {
      onMessage: (one) => void received.push(String(one)),
    })
    for (let at = 0; at < 100; at += 1) await call.send(Buffer.from(`m${at}`))
    await eventually(() => expect(received).toHaveLength(100))
    call.end(Buffer.from('last'))
    await call.ended
    expect(received).toEqual([...Array.from({ length: 100 }, (_, at) => `m${at}`), 'last'])
  })

  test('reads no more while a message is being handled, and then goes on without gaps', async () => {
    let isEverythingWritten = false
    const count = 200
    const { port } = await serve((stream) => {
      begin(stream)
      stream.resume()
      const write = (at: number): void => {
        const more = stream.write(framed(Buffer.alloc(100_000, at)))
        if (at === count - 1) {
          isEverythingWritten = true
          finish(stream)
        } else if (more) write(at + 1)
        else stream.once('drain', () => write(at + 1))
      }
      write(0)
    })
    const first = Promise.withResolvers<void>()
    const received: number[] = []
    const call = client(port).stream(method, {
      onMessage: async (message) => {
        received.push(message[0] ?? -1)
        if (received.length === 1) await first.promise
        else await settle(1)
      },
    })
    call.end()
    await eventually(() => expect(received).toHaveLength(1))
    await settle(200)
    expect(received).toHaveLength(1)
    expect(isEverythingWritten).toBe(false)
    first.resolve()
    await call.ended
    expect(received).toEqual(Array.from({ length: count }, (_, at) => at))
  })

  test('makes a sender wait while the server reads nothing', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>()
    const { port } = await serve((stream) => {
      begin(stream)
      stream.pause()
      opened.resolve(stream)
    })
    const call = client(port).stream(method, { onMessage: () => {} })
    let isTaken = false
    const sending = call.send(Buffer.alloc(3_000_000)).then(() => {
      isTaken = true
    })
    const stream = await opened.promise
    await settle(50)
    expect(isTaken).toBe(false)
    stream.resume()
    await sending
    call.end()
    finish(stream)
    await call.ended
  })

  test('ends with the error of its handler, thrown or rejected', async () => {
    const { port } = await serve(echo)
    const to = client(port)
    const wrong = new Error('cannot be used')
    for (const onMessage of [
      () => {
        throw wrong
      },
      () => Promise.reject(wrong),
    ]) {
      const call = to.stream(method, { onMessage })
      await call.send(hello)
      await expect(call.ended).rejects.toBe(wrong)
      await call.send(hello)
      call.end(hello)
    }
    expect(await to.unary(method, hello)).toEqual(hello)
  })

  test('of a server that ends it early resolves without the client’s end', async () => {
    const { port } = await serve((stream) => {
      begin(stream)
      stream.write(framed(hello))
      finish(stream)
    })
    const received: string[] = []
    const to = client(port)
    const call = to.stream(method, { onMessage: (one) => void received.push(String(one)) })
    await call.ended
    expect(received).toEqual(['hello'])
    await call.send(hello)
  })
})

describe('a connection', () => {
  const silent: OnStream = () => {}

  test('that is cut rejects all its calls with UNAVAILABLE, and takes no more', async () => {
    const { port } = await serve(silent)
    const middle = await startMiddle(port)
    const to = client(middle.port)
    await to.connected()
    const watching = to.stream(method, { onMessage: () => {} })
    const calls = [to.unary(method, hello), to.unary(method, hello), watching.ended].map(failure)
    await settle(5)
    middle.cut()
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ code: grpcCode.unavailable, isUnsent: false })
      expect(error.message).toMatch(`127.0.0.1:${middle.port} closed the connection`)
    }
    expect(to.isOpen).toBe(false)
    expect(await failure(to.unary(method, hello))).toMatchObject({ code: 14, isUnsent: true })
  })

  test('whose server goes away without an error rejects its calls with UNAVAILABLE, too', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>()
    const { port } = await serve((stream) => opened.resolve(stream))
    const failed = failure(client(port).unary(method, hello))
    ;(await opened.promise).session?.destroy()
    expect(await failed).toMatchObject({ code: grpcCode.unavailable, isUnsent: false })
  })

  test('whose server says goodbye finishes its calls, and takes no more', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>()
    const { port } = await serve((stream) => opened.resolve(stream))
    const to = client(port)
    const call = to.unary(method, hello)
    const stream = await opened.promise
    stream.session?.close()
    await eventually(() => expect(to.isOpen).toBe(false))
    expect(await failure(to.unary(method, hello))).toMatchObject({ code: 14, isUnsent: true })
    begin(stream)
    stream.write(framed(hello))
    finish(stream)
    expect(await call).toEqual(hello)
  })

  test('to a port where nothing listens rejects everything as unsent', async () => {
    const server = net.createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const to = client(port)
    const failed = [to.connected(), to.unary(method, hello)].map(failure)
    for (const error of await Promise.all(failed)) {
      expect(error).toMatchObject({ code: grpcCode.unavailable, isUnsent: true })
      expect(error.message).toBe(
        `127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`,
      )
    }
  })

  test('to a server that never greets is given up in time', async () => {
    const port = await listening(net.createServer((socket) => socket.resume()))
    const clock = new FakeClock()
    const to = client(port, { clock, connectTimeoutMs: 2000 })
    const failed = [to.connected(), to.unary(method, hello)].map(failure)
    await clock.step(2000)
    for (const error of await Promise.all(failed)) {
      expect(error).toMatchObject({
        code: grpcCode.unavailable,
        message: `127.0.0.1:${port} did not greet within 2000 ms`,
        isUnsent: true,
      })
    }
  })

  test('to what does not speak HTTP/2 is lost', async () => {
    const port = await listening(
      net.createServer((socket) => socket.end('HTTP/1.1 400 No\r\n\r\n')),
    )
    expect(await failure(client(port).unary(method, hello))).toMatchObject({ code: 14 })
  })

  test('whose server falls silent is lost after an unanswered ping', async () => {
    const { port } = await serve(silent)
    const middle = await startMiddle(port)
    const clock = new FakeClock()
    const to = client(middle.port, { clock, keepAlive: { everyMs: 30_000, timeoutMs: 10_000 } })
    await to.connected()
    await clock.step(30_000)
    // The answer to the first ping sets the clock for the second.
    await eventually(() => expect(clock.nextInMs).toBe(30_000))
    const failed = failure(to.stream(method, { onMessage: () => {} }).ended)
    middle.silence()
    await clock.step(40_000)
    expect(await failed).toMatchObject({
      code: grpcCode.unavailable,
      message: `127.0.0.1:${middle.port} did not answer a ping within 10000 ms`,
    })
  })

  test('that its owner closes rejects calls with CANCELLED', async () => {
    const { port } = await serve(silent)
    const to = client(port)
    await to.connected()
    const failed = failure(to.unary(method, hello))
    to.close()
    to.close()
    expect(await failed).toMatchObject({ code: grpcCode.cancelled })
    expect(await failure(to.unary(method, hello))).toMatchObject({ code: grpcCode.cancelled })
  })
})

describe('a connection with TLS', () => {
  const pki = createTestPki()
  const tls = { ca: pki.caPem, ...pki.client('caller') }

  async function serveTls(): Promise<number> {
    const server = http2.createSecureServer({
      ...pki.server,
      ca: pki.caPem,
      requestCert: true,
      rejectUnauthorized: true,
    })
    server.on('sessionError', () => {})
    server.on('stream', (stream, headers) => {
      stream.on('error', () => {})
      echo(stream, headers)
    })
    return await listening(server)
  }

  test('shows its client certificate, and takes the server’s by address and by name', async () => {
    const port = await serveTls()
    expect(await client(port, { tls }).unary(method, hello)).toEqual(hello)
    const named = { ...tls, serverName: 'localhost' }
    expect(await client(port, { tls: named }).unary(method, hello)).toEqual(hello)
  })

  test('rejects a server of another authority or another name, and says why', async () => {
    const port = await serveTls()
    const other = { ...tls, ca: createTestPki().caPem }
    const stranger = await failure(client(port, { tls: other }).connected())
    expect(stranger).toMatchObject({ code: grpcCode.unavailable, isUnsent: true })
    expect(stranger.cause).toMatchObject({ code: 'SELF_SIGNED_CERT_IN_CHAIN' })
    for (const serverName of ['elsewhere', '127.0.0.2']) {
      const misnamed = await failure(client(port, { tls: { ...tls, serverName } }).connected())
      expect(misnamed.cause).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    }
  })

  test('is lost when the server wants a client certificate and gets none', async () => {
    const port = await serveTls()
    const refused = await failure(client(port, { tls: { ca: pki.caPem } }).unary(method, hello))
    expect(refused).toMatchObject({ code: grpcCode.unavailable, isUnsent: true })
    expect(refused.cause).toMatchObject({ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' })
  })
})
