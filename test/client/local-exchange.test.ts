import { describe, expect, it } from 'vitest'
import { createPki } from '../../certs/pki.ts'
import { createRestClient } from '../../components/client/rest-client.ts'
import type { RequestHandler } from '../../components/component-base/answering.ts'
import type { HttpRequest } from '../../components/component-base/http.ts'
import { createLocalNetwork } from '../../components/component-base/local-network.ts'
import { FakeClock } from '../support/fake-clock.ts'

const server = 'https://127.0.0.1:1'
const pki = createPki({ apiServer: { serviceName: 'kubernetes' }, nowMs: Date.now() })
const { certificatePem: cert, privateKeyPem: key } = pki.credentials.admin

function clientOf(handler: RequestHandler, more: object = {}) {
  const network = createLocalNetwork()
  const end = network.serve(server, handler)
  const client = createRestClient({ server, network, credentials: { cert, key }, ...more })
  return { client, end }
}

const json = (status: number, value: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

describe('a client of a server in the same process', () => {
  it('shows the server what it would see over a connection', async () => {
    const seen: HttpRequest[] = []
    const { client } = clientOf(async (request) => {
      seen.push(request)
      return json(200, { got: (await request.body(100)).toString() })
    })
    const answer = await client.json({ method: 'POST', path: '/api?x=1', body: { a: 1 } })
    expect(answer).toEqual({ got: '{"a":1}' })
    const [request] = seen
    expect(request).toMatchObject({ method: 'POST', url: '/api?x=1', remoteAddress: '127.0.0.1' })
    expect(request?.headers).toMatchObject({
      host: '127.0.0.1:1',
      'content-type': 'application/json',
      'content-length': '7',
    })
    expect(request?.peer?.der.equals(pemBytes(cert))).toBe(true)
  })

  it('shows the same peer for the same credentials, so that it can be remembered', async () => {
    const peers = new Set<unknown>()
    const { client } = clientOf(async ({ peer }) => {
      peers.add(peer)
      return json(200, {})
    })
    await client.json({ method: 'GET', path: '/1' })
    await client.json({ method: 'GET', path: '/2' })
    expect(peers.size).toBe(1)
  })

  it('turns a failure into a StatusError', async () => {
    const status = {
      kind: 'Status',
      status: 'Failure',
      reason: 'NotFound',
      message: 'no',
      code: 404,
    }
    const { client } = clientOf(async () => json(404, status))
    await expect(client.json({ method: 'GET', path: '/' })).rejects.toMatchObject({
      reason: 'NotFound',
    })
  })

  it('reads a stream as it is written, and tells the server when the reader has gone', async () => {
    let gone = false
    const { client } = clientOf(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('one'))
        sink.write(Buffer.from('two'))
        await new Promise<void>((resolve) => {
          sink.signal.addEventListener('abort', () => resolve())
        })
        gone = true
      },
    }))
    const { chunks } = await client.stream({ method: 'GET', path: '/' })
    const read: string[] = []
    for await (const chunk of chunks) {
      read.push(chunk.toString())
      if (read.length === 2) break
    }
    expect(read).toEqual(['one', 'two'])
    await expect.poll(() => gone).toBe(true)
  })

  it('holds a server back that writes faster than the reader reads', async () => {
    let written = 0
    const chunk = Buffer.alloc(300_000)
    const { client } = clientOf(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        for (let index = 0; index < 20; index += 1) {
          written += 1
          if (!sink.write(chunk)) await sink.drained()
        }
      },
    }))
    const { chunks } = await client.stream({ method: 'GET', path: '/' })
    const reading = chunks[Symbol.asyncIterator]()
    await reading.next()
    expect(written).toBeLessThan(6)
    let bytes = chunk.length
    for (let next = await reading.next(); next.done !== true; next = await reading.next())
      bytes += next.value.length
    expect(bytes).toBe(20 * chunk.length)
  })

  it('has taken a chunk before its writer may write to it again', async () => {
    const { client } = clientOf(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        const chunk = Buffer.from('[1,')
        const sent = Promise.withResolvers<void>()
        sink.write(chunk, sent.resolve)
        await sent.promise
        chunk.write('2]')
        sink.write(chunk.subarray(0, 2))
      },
    }))
    expect(await client.json({ method: 'GET', path: '/' })).toEqual([1, 2])
  })

  it('says that an answer was cut short when the server fails in the middle', async () => {
    const { client } = clientOf(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('{"items":['))
        throw new Error('broken')
      },
    }))
    await expect(client.json({ method: 'GET', path: '/' })).rejects.toMatchObject({ code: 'lost' })
  })

  it('gives up in time, when aborted, and when it is closed', async () => {
    const clock = new FakeClock()
    const signals: AbortSignal[] = []
    const { client } = clientOf(
      ({ signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
      { networkClock: clock, timeoutMs: 5000 },
    )
    const late = client.json({ method: 'GET', path: '/' })
    late.catch(() => {})
    await clock.step(5000)
    await expect(late).rejects.toMatchObject({ code: 'timeout' })
    const stop = new AbortController()
    const aborted = client.json({ method: 'GET', path: '/', signal: stop.signal })
    aborted.catch(() => {})
    await clock.step(0)
    stop.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    const open = client.json({ method: 'GET', path: '/' })
    open.catch(() => {})
    await clock.step(0)
    client.close()
    await expect(open).rejects.toMatchObject({ code: 'closed' })
    expect(signals.map(({ aborted: is }) => is)).toEqual([true, true, true])
  })

  it('finds no server after its end, and connects instead', async () => {
    const { client, end } = clientOf(async () => json(200, {}))
    end()
    await expect(client.json({ method: 'GET', path: '/' })).rejects.toMatchObject({
      name: 'ConnectionError',
    })
  })
})

function pemBytes(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
}
