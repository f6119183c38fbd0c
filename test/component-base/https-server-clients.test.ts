import { once } from 'node:events'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../components/component-base/http.ts'
import {
  ask1,
  ask2,
  cleanUp,
  pki,
  serve,
  session,
  text,
  tlsSocket,
  trickle,
} from '../support/https-fixture.ts'

afterEach(cleanUp)

describe('clients that go away', () => {
  it('ends the connection of a client that opens and resets streams without end (CVE-2023-44487, CVE-2023-39325)', async () => {
    const { port } = await serve(async () => ({ status: 200, headers: {}, body: Buffer.from('x') }))
    const socket = tlsSocket(port, ['h2'])
    await once(socket, 'secureConnect')
    const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
      const head = Buffer.alloc(9)
      head.writeUIntBE(payload.length, 0, 3)
      head.writeUInt8(type, 3)
      head.writeUInt8(flags, 4)
      head.writeUInt32BE(stream, 5)
      return Buffer.concat([head, payload])
    }
    const settings = 4
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(Buffer.concat([preface, frame(settings, 0, 0, Buffer.alloc(0))]))
    // GET https://x/ and its end, by the static table of HPACK; then RST_STREAM with CANCEL.
    const get = Buffer.from('828784410178', 'hex')
    const cancel = Buffer.from('00000008', 'hex')
    const pairs = Array.from({ length: 20_000 }, (_, index) => {
      const stream = 2 * index + 1
      return Buffer.concat([frame(1, 0x5, stream, get), frame(3, 0, stream, cancel)])
    })
    socket.resume()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(Buffer.concat(pairs))
    await closed
  })

  it('aborts the signal and the stream of a client that vanishes, and keeps nothing of it', async () => {
    const ends: string[] = []
    const started = Promise.withResolvers<void>()
    const { port, server } = await serve(async (request) => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('x'))
        started.resolve()
        await new Promise<void>((resolve) => {
          request.signal.addEventListener('abort', () => resolve())
        })
        ends.push(request.url)
        expect(sink.write(Buffer.from('more'))).toBe(false)
        await expect(sink.drained()).rejects.toThrow('went away')
      },
    }))
    const client = session(port)
    const stream = client.request({ ':path': '/two' })
    stream.on('error', () => {})
    await once(stream, 'response')
    stream.close(http2.constants.NGHTTP2_CANCEL)
    const request = https.get({
      host: '127.0.0.1',
      port,
      path: '/one',
      ca: pki.caPem,
      agent: false,
    })
    request.on('error', () => {})
    await once(request, 'response')
    request.destroy()
    const dying = session(port)
    const last = dying.request({ ':path': '/socket' })
    last.on('error', () => {})
    await once(last, 'response')
    dying.destroy()
    await expect.poll(() => ends.toSorted()).toEqual(['/one', '/socket', '/two'])
    client.destroy()
    await expect.poll(() => server.connections).toBe(0)
  })

  it('a request cut off in its body is never taken for a whole one', async () => {
    const outcomes: string[] = []
    let begun = 0
    const { port } = await serve(async (request) => {
      begun += 1
      await request.body(1000).then(
        (body) => outcomes.push(`whole ${body.length}`),
        (error: Error) => outcomes.push(error.name),
      )
      return text('')
    })
    const client = session(port)
    const stream = client.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('{"half":')
    const request = https.request({ host: '127.0.0.1', port, method: 'POST', ca: pki.caPem })
    request.on('error', () => {})
    request.write('{"half":')
    await expect.poll(() => begun).toBe(2)
    client.destroy()
    request.destroy()
    await expect.poll(() => outcomes).toEqual(['RequestAbortedError', 'RequestAbortedError'])
  })
})

describe('slow clients', () => {
  const limits = { headersTimeoutMs: 700, bodyTimeoutMs: 700, idleTimeoutMs: 900 }

  it('ends an HTTP/1.1 head that comes byte by byte', async () => {
    const { port } = await serve(async () => text('never'), { limits })
    const socket = tlsSocket(port, ['http/1.1'])
    await once(socket, 'secureConnect')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n')
    await trickle(socket, () => socket.write('x'))
  })

  it('ends a body that comes byte by byte', async () => {
    const { port } = await serve(
      async (request) => {
        await request.body(1000)
        return text('never')
      },
      { limits },
    )
    const socket = tlsSocket(port, ['http/1.1'])
    await once(socket, 'secureConnect')
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n')
    await trickle(socket, () => socket.write('x'))

    const stream = session(port).request({ ':path': '/', ':method': 'POST' })
    const timer = setInterval(() => stream.writable && stream.write('x'), 20)
    stream.on('error', () => {})
    await once(stream, 'response')
    clearInterval(timer)
  })

  it('ends a TLS handshake, and an HTTP/2 preface, that never comes', async () => {
    const { port } = await serve(async () => text('never'), { limits })
    const raw = net.connect(port, '127.0.0.1')
    raw.on('error', () => {})
    const half = tlsSocket(port, ['h2'])
    await once(half, 'secureConnect')
    half.write('PRI * HTTP')
    await Promise.all([trickle(raw, () => {}), trickle(half, () => {})])
  })

  it('closes idle connections, but none with a request open', async () => {
    const open = Promise.withResolvers<Answer>()
    const { port } = await serve(
      async (request) => (request.url === '/open' ? open.promise : text('quick')),
      { limits },
    )
    const idle = session(port)
    await ask2(idle, '/quick')
    const busy = session(port)
    const slow = ask2(busy, '/open')
    await once(idle, 'close')
    expect(busy.closed).toBe(false)
    open.resolve(text('late'))
    expect((await slow).body).toBe('late')
  })

  it('refuses headers over the limit', async () => {
    const { port } = await serve(async () => text('fine'), { limits: { maxHeaderBytes: 4096 } })
    const headers = { 'x-long': 'a'.repeat(8000) }
    expect((await ask1(port, '/', { headers })).status).toBe(431)
    const client = session(port)
    // The limit binds once the client has acknowledged it.
    expect((await ask2(client, '/')).status).toBe(200)
    await expect(ask2(client, '/', { headers })).rejects.toThrow()
  })
})
