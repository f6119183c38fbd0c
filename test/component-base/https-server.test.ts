import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { constants } from 'node:http2'
import https from 'node:https'
import tls from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { aborted } from '../../components/component-base/aborted.ts'
import type { Answer, HttpRequest } from '../../components/component-base/http.ts'
import { BodyTooLargeError } from '../../components/component-base/http.ts'
import { refuseUpgrade } from '../../components/component-base/http1-exchange.ts'
import { createHttpsServer } from '../../components/component-base/https-server.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { eventually } from '../support/eventually.ts'
import {
  ask1,
  ask2,
  cleanUp,
  pki,
  serve,
  session,
  text,
  tlsSocket,
} from '../support/https-fixture.ts'
import { createTestPki } from '../support/tls.ts'

afterEach(cleanUp)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('one shape for both HTTP versions', () => {
  const echo = async (request: HttpRequest) =>
    text(
      JSON.stringify({
        method: request.method,
        url: request.url,
        host: request.headers['host'],
        custom: request.headers['x-custom'],
        body: (await request.body(1000)).toString(),
      }),
      201,
    )

  it('hands method, target, headers and body to the handler', async () => {
    const { port } = await serve(echo)
    const options = { method: 'POST', headers: { 'x-custom': 'a' }, body: 'hello' }
    const [two, one] = await Promise.all([
      ask2(session(port), '/p?q=1', options),
      ask1(port, '/p?q=1', options),
    ])
    for (const reply of [two, one]) {
      expect(reply.status).toBe(201)
      expect(reply.headers['content-type']).toBe('text/plain')
      expect(JSON.parse(reply.body)).toEqual({
        method: 'POST',
        url: '/p?q=1',
        host: `127.0.0.1:${port}`,
        custom: 'a',
        body: 'hello',
      })
    }
  })

  it('tells a repeated header from a comma inside one value, and reads values as UTF-8', async () => {
    const { port } = await serve(async (request) =>
      text(JSON.stringify(['x-group', 'x-name', 'x-none'].map((name) => request.values(name)))),
    )
    const name = Buffer.from('Jürgen').toString('latin1')
    const headers = { 'x-group': ['CN=devs, OU=people', 'b'], 'x-name': name }
    const one = await ask1(port, '/', { headers })
    const two = await ask2(session(port), '/', { headers })
    for (const reply of [two, one]) {
      expect(JSON.parse(reply.body)).toEqual([['CN=devs, OU=people', 'b'], ['Jürgen'], []])
    }
  })

  it('answers HEAD without a body and with its length', async () => {
    const { port } = await serve(async () => text('12345'))
    const two = await ask2(session(port), '/', { method: 'HEAD' })
    const one = await ask1(port, '/', { method: 'HEAD' })
    for (const reply of [two, one]) {
      expect(reply.body).toBe('')
      expect(Number(reply.headers['content-length'])).toBe(5)
    }
  })

  it('passes the client certificate on unverified, one value per connection', async () => {
    const stranger = createTestPki().client('mallory')
    const friend = pki.client('alice')
    const seen: HttpRequest['peer'][] = []
    const { port } = await serve(async (request) => {
      seen.push(request.peer)
      return text(
        request.peer === undefined ? 'none' : new X509Certificate(request.peer.der).subject,
      )
    })
    const client = session(port, friend)
    expect((await ask2(client, '/')).body).toBe('CN=alice')
    expect((await ask2(client, '/')).body).toBe('CN=alice')
    expect(seen[0]).toBe(seen[1])
    expect((await ask2(session(port, stranger), '/')).body).toBe('CN=mallory')
    expect((await ask1(port, '/', friend)).body).toBe('CN=alice')
    expect((await ask1(port, '/')).body).toBe('none')
    expect((await ask2(session(port), '/')).body).toBe('none')
  })

  it('passes on the chain the client sent', async () => {
    const own = pki.client('alice')
    const { port } = await serve(async (request) =>
      text(String(request.peer?.intermediates.map((der) => new X509Certificate(der).subject))),
    )
    const client = session(port, { key: own.key, cert: `${own.cert}${pki.caPem}` })
    expect((await ask2(client, '/')).body).toBe('CN=test-ca')
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a resumed %s session has the same certificate and chain',
    async (maxVersion) => {
      const own = pki.client('alice')
      const { port } = await serve(async ({ peer }) =>
        text([peer?.der, ...(peer?.intermediates ?? [])].map((der) => der?.length).join(' ')),
      )
      let session: Buffer | undefined
      const connect = async () => {
        const socket = tls.connect({
          host: '127.0.0.1',
          port,
          ca: pki.caPem,
          key: own.key,
          cert: `${own.cert}${pki.caPem}`,
          maxVersion,
          ...(session === undefined ? {} : { session }),
        })
        socket.on('session', (next: Buffer) => {
          session = next
        })
        await once(socket, 'secureConnect')
        const isReused = socket.isSessionReused()
        let answer = ''
        socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
        socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
        await once(socket, 'close')
        return { isReused, body: answer.split('\r\n').at(-1) }
      }
      const first = await connect()
      const second = await connect()
      expect([first.isReused, second.isReused]).toEqual([false, true])
      expect(first.body).toMatch(/^\d+ \d+$/)
      expect(second.body).toBe(first.body)
    },
  )

  it('a body over the limit is a BodyTooLargeError, announced or not', async () => {
    const { port } = await serve(async (request) => {
      try {
        await request.body(10)
        return text('read')
      } catch (error) {
        return text(String((error as BodyTooLargeError).maxBytes), 413)
      }
    })
    const client = session(port)
    const body = Buffer.alloc(11)
    expect((await ask2(client, '/', { method: 'POST', body })).status).toBe(413)
    const announced = await ask2(client, '/', {
      method: 'POST',
      body,
      headers: { 'content-length': '11' },
    })
    expect(announced).toMatchObject({ status: 413, body: '10' })
    expect((await ask1(port, '/', { method: 'POST', body })).status).toBe(413)
    expect((await ask2(client, '/', { method: 'POST', body: Buffer.alloc(10) })).status).toBe(200)
  })

  it('a handler that throws gives a bare 500 and the listener goes on', async () => {
    let count = 0
    const { port } = await serve(async () => {
      count += 1
      if (count < 3) throw new Error('secret detail')
      return text('fine')
    })
    const client = session(port)
    const two = await ask2(client, '/')
    const one = await ask1(port, '/')
    expect([two.status, one.status]).toEqual([500, 500])
    expect(two.body + one.body).not.toContain('secret')
    expect((await ask2(client, '/')).body).toBe('fine')
  })

  it('streams with backpressure and tells how much waits', async () => {
    const chunk = Buffer.alloc(65_536, 'a')
    let most = 0
    const { port } = await serve(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        for (let sent = 0; sent < 64; sent += 1) {
          if (!sink.write(chunk)) await sink.drained()
          most = Math.max(most, sink.buffered)
        }
      },
    }))
    expect((await ask2(session(port), '/')).body.length).toBe(64 * 65_536)
    expect((await ask1(port, '/')).body.length).toBe(64 * 65_536)
    expect(most).toBeLessThan(1_000_000)
  })

  it('a client may cancel thousands of streams on one connection', async () => {
    const { port } = await serve(() =>
      Promise.resolve({
        status: 200,
        headers: {},
        body: (sink) => aborted(sink.signal),
      }),
    )
    const client = session(port)
    for (let count = 0; count < 3000; count += 1) {
      const stream = client.request({ ':path': `/watch/${count}` })
      await once(stream, 'response')
      stream.close(constants.NGHTTP2_CANCEL)
      await once(stream, 'close')
    }
    expect(client.closed).toBe(false)
    expect((await ask2(client, '/watch', { method: 'HEAD' })).status).toBe(200)
  })

  it('a stream that fails in the middle is cut, not ended', async () => {
    const { port } = await serve(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('half'))
        throw new Error('lost')
      },
    }))
    await expect(ask2(session(port), '/')).rejects.toThrow()
    await expect(ask1(port, '/')).rejects.toThrow()
  })
})

describe('life of the listener', () => {
  it('an idle connection keeps nothing of the memory that others share', async () => {
    const { port, server } = await serve(async () => text('ok'))
    const connected = async (count: number): Promise<void> => {
      for (let made = 0; made < count; made += 1) {
        await once(tlsSocket(port), 'secureConnect')
        // What is made next lies in another piece of the memory that Node shares among small buffers.
        for (let filled = 0; filled < Buffer.poolSize; filled += 1000) Buffer.allocUnsafe(1000)
      }
      await eventually(() => expect(server.connections).toBeGreaterThanOrEqual(count))
    }
    // Buffers that are garbage are freed by a thread of their own, which may be late.
    const held = (): number => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers
    }
    await connected(5)
    const before = held()
    await connected(50)
    await eventually(() => expect((held() - before) / 50).toBeLessThan(Buffer.poolSize / 4), 20_000)
  })

  it('a port in use is a clear error', async () => {
    const { port } = await serve(async () => text(''))
    const second = createHttpsServer({
      host: '127.0.0.1',
      port,
      tls: pki.server,
      handler: async () => text(''),
      log: silentLog,
    })
    const message = `cannot listen on 127.0.0.1:${port}: the port is already in use`
    await expect(second.run(new AbortController().signal)).rejects.toThrow(message)
    await expect(second.ready).rejects.toThrow(message)
  })

  it('finishes what is in flight on shutdown and takes nothing new', async () => {
    const gate = Promise.withResolvers<Answer>()
    let begun = 0
    const { port, stop, done } = await serve(async () => {
      begun += 1
      return gate.promise
    })
    const client = session(port)
    const [two, one] = [ask2(client, '/'), ask1(port, '/')]
    await expect.poll(() => begun).toBe(2)
    const goaway = once(client, 'goaway')
    stop()
    await goaway
    gate.resolve(text('done'))
    expect((await two).body).toBe('done')
    expect((await one).body).toBe('done')
    await done
    await expect(ask1(port, '/')).rejects.toThrow('ECONNREFUSED')
  })

  it('cuts off what does not finish in time', async () => {
    let aborted = false
    const begun = Promise.withResolvers<void>()
    const { port, stop, done } = await serve(
      async (request) => {
        begun.resolve()
        request.signal.addEventListener('abort', () => {
          aborted = true
        })
        return new Promise<Answer>(() => {})
      },
      { limits: { drainMs: 50 } },
    )
    const pending = ask2(session(port), '/').catch((error: Error) => error)
    await begun.promise
    stop()
    await done
    expect(aborted).toBe(true)
    await pending
  })

  it('serves a new certificate to new connections only', async () => {
    const other = createTestPki()
    const { port, server } = await serve(async () => text('fine'))
    const old = session(port)
    await ask2(old, '/')
    server.setCertificate(other.server)
    expect((await ask2(old, '/')).body).toBe('fine')
    expect((await ask2(session(port, { ca: other.caPem }), '/')).body).toBe('fine')
    await expect(ask2(session(port), '/')).rejects.toThrow()
  })

  it('refuses TLS below 1.2', async () => {
    const { port } = await serve(async () => text('fine'))
    const socket = tls.connect({
      host: '127.0.0.1',
      port,
      ca: pki.caPem,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    })
    await expect(once(socket, 'secureConnect')).rejects.toThrow()
  })

  it('hands upgrade requests to the hook, which may refuse them', async () => {
    const { port } = await serve(async () => text('plain'), {
      upgrade: (request, { socket }) => {
        if (request.url === '/no') refuseUpgrade(socket, text('not you', 403))
        else
          socket.end(
            'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhello',
          )
      },
    })
    const headers = { connection: 'Upgrade', upgrade: 'websocket' }
    expect(await ask1(port, '/no', { headers })).toMatchObject({ status: 403, body: 'not you' })
    const request = https.get({
      host: '127.0.0.1',
      port,
      path: '/yes',
      ca: pki.caPem,
      headers,
      agent: false,
    })
    const [, , head] = (await once(request, 'upgrade')) as [unknown, unknown, Buffer]
    expect(head.toString()).toBe('hello')
  })
})
