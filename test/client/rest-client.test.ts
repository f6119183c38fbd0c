import { once } from 'node:events'
import { constants, createSecureServer } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { createRestClient } from '../../components/client/rest-client.ts'
import type { RestClientOptions } from '../../components/client/rest-client.ts'
import type { Answer, HttpRequest } from '../../components/component-base/http.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { createHttpsServer } from '../../components/component-base/https-server.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { conflict, StatusError } from '../../components/machinery/objects/status-error.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { createTestPki } from '../support/tls.ts'

const pki = createTestPki()
const resources = resourcesOf(dialects.kubernetes)
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

const json = (value: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

async function serve(handler: (request: HttpRequest) => Promise<Answer>, port = 0) {
  const stop = new AbortController()
  const limits = { drainMs: 20 }
  const server = createHttpsServer({
    host: '127.0.0.1',
    port,
    tls: pki.server,
    handler,
    log: silentLog,
    limits,
  })
  const done = server.run(stop.signal)
  const end = async (): Promise<void> => {
    stop.abort()
    await done
  }
  cleanups.push(end)
  return { ...(await server.ready), server, end }
}

/** A server that never answers, and the first request to it. */
async function serveNever() {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const { port } = await serve(() => {
    resolve()
    return new Promise<Answer>(() => {})
  })
  return { port, asked }
}

/** A way to the server on which its answers can be held up. */
async function proxyTo(port: number) {
  const answers: Socket[] = []
  const proxy = createServer((socket) => {
    const server = connect(port, '127.0.0.1')
    answers.push(server)
    socket.pipe(server).pipe(socket)
    for (const one of [socket, server]) one.on('error', () => {})
    socket.on('close', () => server.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  cleanups.push(() => proxy.close())
  const holdAnswers = (): void => {
    for (const server of answers) server.unpipe()
  }
  return { port: (proxy.address() as AddressInfo).port, holdAnswers }
}

/** Counts what was planned. */
class CountingClock extends FakeClock {
  planned = 0

  override after(ms: number, callback: () => void): () => void {
    this.planned += 1
    return super.after(ms, callback)
  }
}

function rest(port: number, more: Partial<RestClientOptions> = {}) {
  const client = createRestClient({ server: `https://127.0.0.1:${port}`, ca: pki.caPem, ...more })
  cleanups.push(() => client.close())
  return client
}

const failure = (promise: Promise<unknown>): Promise<ConnectionError> =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error as ConnectionError,
  )

describe('rest client', () => {
  it('sends method, path, JSON and token, and gives back JSON, over one connection', async () => {
    const { port, server } = await serve(async (request) =>
      json({
        method: request.method,
        url: request.url,
        auth: request.headers['authorization'],
        type: request.headers['content-type'],
        body: JSON.parse((await request.body(100)).toString()) as unknown,
      }),
    )
    const client = rest(port, { credentials: { token: async () => 'secret' } })
    const answers = await Promise.all(
      [1, 2, 3].map((body) => client.json({ method: 'POST', path: '/a?b=c', body })),
    )
    expect(answers[2]).toEqual({
      method: 'POST',
      url: '/a?b=c',
      auth: 'Bearer secret',
      type: 'application/json',
      body: 3,
    })
    expect(server.connections).toBe(1)
  })

  it('may be closed at any moment of connecting: the request fails, the process goes on', async () => {
    const { port } = await serve(async () => json({}))
    for (let attempt = 0; attempt < 120; attempt += 1) {
      const client = rest(port)
      const answer = client.json({ method: 'GET', path: '/' }).then(
        () => 'ok',
        (error: unknown) => (error as ConnectionError).code,
      )
      for (let turn = 0; turn < attempt % 40; turn += 1)
        await new Promise((resolve) => setImmediate(resolve))
      client.close()
      expect(['ok', 'lost', 'closed']).toContain(await answer)
    }
  })

  it('presents its certificate, and a new one on a new connection after setCredentials', async () => {
    const { port } = await serve(async (request) =>
      json(request.peer?.der.toString('base64') ?? ''),
    )
    const first = pki.client('one')
    const client = rest(port, { credentials: first })
    const before = await client.json({ method: 'GET', path: '/' })
    client.setCredentials(pki.client('two'))
    const after = await client.json({ method: 'GET', path: '/' })
    expect(before).not.toBe('')
    expect(after).not.toBe(before)
  })

  it('turns a Status answer into the StatusError it was', async () => {
    const sent = conflict(resources.pods, 'web', 'lost')
    const { port } = await serve(async () => json(sent.toStatus(), 409))
    const error = await failure(rest(port).json({ method: 'PUT', path: '/' }))
    expect(error).toBeInstanceOf(StatusError)
    expect((error as unknown as StatusError).toStatus()).toEqual(sent.toStatus())
  })

  it('keeps Retry-After, and the text of an answer that is no Status', async () => {
    const { port } = await serve(async () => ({
      status: 429,
      headers: { 'retry-after': '7' },
      body: Buffer.from('busy\n'),
    }))
    const error = (await failure(
      rest(port, { retries: 0 }).json({ method: 'GET', path: '/' }),
    )) as unknown as StatusError
    expect([error.code, error.message, error.details?.retryAfterSeconds]).toEqual([429, 'busy', 7])
  })

  it('names what is wrong with the connection', async () => {
    const { port, end } = await serve(async () => json({}))
    const stranger = rest(port, { ca: createTestPki().caPem })
    expect((await failure(stranger.json({ method: 'GET', path: '/' }))).code).toBe('untrusted')
    const misnamed = rest(port, { serverName: 'elsewhere.example' })
    expect((await failure(misnamed.json({ method: 'GET', path: '/' }))).code).toBe('untrusted')
    await end()
    const refused = await failure(rest(port).json({ method: 'GET', path: '/' }))
    expect(refused).toBeInstanceOf(ConnectionError)
    expect(refused.code).toBe('refused')
    const closed = rest(port)
    closed.close()
    expect((await failure(closed.json({ method: 'GET', path: '/' }))).code).toBe('closed')
  })

  it('trusts a server’s own certificate where its authority is not known, and no other server', async () => {
    const { port } = await serve(async () => json({ served: true }))
    const trusting = rest(port, { ca: pki.server.cert })
    expect(await trusting.json({ method: 'GET', path: '/' })).toEqual({ served: true })
    // Of the same authority.
    const other = pki.client('another')
    const wary = rest(port, { ca: other.cert })
    expect((await failure(wary.json({ method: 'GET', path: '/' }))).code).toBe('untrusted')
  })

  it('gives up an answer that does not come, and one whose request is aborted', async () => {
    const [seen, gone]: [string[], string[]] = [[], []]
    const { port } = await serve(async (request) => {
      seen.push(request.url)
      request.signal.addEventListener('abort', () => gone.push(request.url))
      return new Promise<Answer>(() => {})
    })
    const clock = new FakeClock()
    const client = rest(port, { networkClock: clock, timeoutMs: 5000, pingMs: 1e9 })
    const slow = failure(client.json({ method: 'GET', path: '/slow' }))
    await expect.poll(() => seen).toEqual(['/slow'])
    await clock.step(5000)
    expect((await slow).code).toBe('timeout')
    const stop = new AbortController()
    const aborted = failure(client.json({ method: 'GET', path: '/aborted', signal: stop.signal }))
    await expect.poll(() => seen).toContain('/aborted')
    stop.abort(new Error('enough'))
    expect((await aborted).message).toBe('enough')
    await expect.poll(() => gone.toSorted()).toEqual(['/aborted', '/slow'])
  })

  it('does not send what was aborted while its token was looked for', async () => {
    const seen: string[] = []
    const { port } = await serve(async (request) => {
      seen.push(request.url)
      return json({})
    })
    const stop = new AbortController()
    const token = (): string => {
      stop.abort(new Error('enough'))
      return 'late'
    }
    const client = rest(port, { credentials: { token } })
    const aborted = failure(client.json({ method: 'GET', path: '/aborted', signal: stop.signal }))
    expect((await aborted).message).toBe('enough')
    expect(seen).toEqual([])
  })

  it('finds the server again after it was restarted on the same port', async () => {
    const first = await serve(async () => json('first'))
    const client = rest(first.port)
    expect(await client.json({ method: 'GET', path: '/' })).toBe('first')
    await first.end()
    expect((await failure(client.json({ method: 'GET', path: '/' }))).code).toBe('refused')
    await serve(async () => json('second'), first.port)
    expect(await client.json({ method: 'GET', path: '/' })).toBe('second')
  })

  it('a stream that is cut is an error, never an end', async () => {
    const { port } = await serve(async (request) => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('part'))
        if (request.url === '/cut') throw new Error('cut')
      },
    }))
    const client = rest(port)
    const read = async (path: string): Promise<string> => {
      let text = ''
      const { chunks } = await client.stream({ method: 'GET', path })
      for await (const chunk of chunks) text += chunk.toString()
      return text
    }
    expect(await read('/whole')).toBe('part')
    expect((await failure(read('/cut'))).code).toBe('lost')
  })

  it('leaving a stream cancels it at the server', async () => {
    let gone = false
    const { port } = await serve(async () => ({
      status: 200,
      headers: {},
      body: async (sink) => {
        sink.write(Buffer.from('x'))
        await new Promise<void>((resolve) => {
          sink.signal.addEventListener('abort', () => resolve())
        })
        gone = true
      },
    }))
    const { chunks } = await rest(port).stream({ method: 'GET', path: '/' })
    for await (const chunk of chunks) {
      expect(chunk.toString()).toBe('x')
      break
    }
    await expect.poll(() => gone).toBe(true)
  })

  it('keeps a connection whose pings are answered', async () => {
    const { port, asked } = await serveNever()
    const clock = new CountingClock()
    const client = rest(port, { networkClock: clock, pingMs: 1000, timeoutMs: 1e9 })
    const pending = failure(client.json({ method: 'GET', path: '/' }))
    await asked
    // It has brought something since it was opened.
    await clock.step(1000)
    for (let ping = 0; ping < 3; ping += 1) {
      const { planned } = clock
      await clock.step(1000)
      // The deadline of this ping, and after its answer the next ping.
      await expect.poll(() => clock.planned).toBe(planned + 2)
    }
    client.close()
    expect((await pending).message).not.toContain('ping')
  })

  it('sends no ping on a connection that brings answers', async () => {
    const { port } = await serve(async () => json('here'))
    const clock = new CountingClock()
    const client = rest(port, { networkClock: clock, pingMs: 1000, timeoutMs: 1e9 })
    for (let answers = 0; answers < 3; answers += 1) {
      expect(await client.json({ method: 'GET', path: '/' })).toBe('here')
      const { planned } = clock
      await clock.step(1000)
      // The next look alone: a ping would have a deadline.
      expect(clock.planned).toBe(planned + 1)
    }
  })

  it('gives up a connection whose pings go unanswered', async () => {
    const { port, asked } = await serveNever()
    const between = await proxyTo(port)
    const clock = new CountingClock()
    const client = rest(between.port, { networkClock: clock, pingMs: 1000, timeoutMs: 1e9 })
    const pending = failure(client.json({ method: 'GET', path: '/' }))
    await asked
    between.holdAnswers()
    let isOver = false
    void pending.then(() => {
      isOver = true
    })
    // Looks that find what came before, one that sends a ping, and one that finds no answer.
    await expect
      .poll(async () => {
        await clock.step(1000)
        return isOver
      })
      .toBe(true)
    const { code, message } = await pending
    expect([code, message]).toEqual(['lost', expect.stringContaining('no answer to a ping')])
  })
})

describe('a server that asks to be asked later', () => {
  const busy = (status: number, headers: Record<string, string>): Answer => ({
    ...json({ kind: 'Status', reason: 'TooManyRequests', message: 'busy', code: status }, status),
    headers: { 'content-type': 'application/json', ...headers },
  })
  /** A clock that waits for nothing and remembers for how long it should have. */
  const hurried = () => {
    const waits: number[] = []
    const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
      signal?.throwIfAborted()
      waits.push(ms)
    }
    return { waits, networkClock: { ...systemClock, sleep } }
  }

  it.each([429, 503, 500])(
    'with %d and Retry-After gets the same request again',
    async (status) => {
      const bodies: string[] = []
      const { port } = await serve(async (request) => {
        bodies.push((await request.body(100)).toString())
        return bodies.length < 3 ? busy(status, { 'retry-after': '2' }) : json({ done: true })
      })
      const { waits, networkClock } = hurried()
      const body = { a: 1 }
      const answer = await rest(port, { networkClock }).json({ method: 'POST', path: '/', body })
      expect(answer).toEqual({ done: true })
      expect(bodies).toEqual(['{"a":1}', '{"a":1}', '{"a":1}'])
      expect(waits).toEqual([2000, 2000])
    },
  )

  it.each([
    ['without Retry-After', busy(429, {})],
    [
      'with a date instead of seconds',
      busy(503, { 'retry-after': 'Fri, 07 Nov 2014 23:59:59 GMT' }),
    ],
    ['of another kind', busy(409, { 'retry-after': '1' })],
  ])('a refusal %s is one at once', async (_, answer) => {
    let asked = 0
    const { port } = await serve(async () => {
      asked += 1
      return answer
    })
    const { waits, networkClock } = hurried()
    const request = rest(port, { networkClock }).json({ method: 'GET', path: '/' })
    await expect(request).rejects.toMatchObject({ code: answer.status })
    expect([asked, waits]).toEqual([1, []])
  })

  it('is given up after ten more times, with its last answer', async () => {
    let asked = 0
    const { port } = await serve(async () => busy(429, { 'retry-after': String((asked += 1)) }))
    const { waits, networkClock } = hurried()
    const request = rest(port, { networkClock }).stream({ method: 'GET', path: '/' })
    await expect(request).rejects.toMatchObject({ code: 429, details: { retryAfterSeconds: 11 } })
    expect(waits).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((seconds) => seconds * 1000))
  })

  it('is waited for no longer than the caller or the client lives', async () => {
    const { port } = await serve(async () => busy(503, { 'retry-after': '3600' }))
    const caller = new AbortController()
    const sleeping = Promise.withResolvers<void>()
    const networkClock = {
      ...systemClock,
      sleep: async (ms: number, signal?: AbortSignal) => {
        sleeping.resolve()
        await systemClock.sleep(ms, signal)
      },
    }
    const client = rest(port, { networkClock })
    const aborted = failure(client.json({ method: 'GET', path: '/', signal: caller.signal }))
    const closed = failure(client.json({ method: 'GET', path: '/' }))
    await sleeping.promise
    caller.abort(new Error('enough'))
    expect((await aborted).message).toBe('enough')
    client.close()
    expect(await closed).toMatchObject({ code: 'closed' })
  })
})

describe('resource client', () => {
  it('asks for the path and query of each verb', async () => {
    const asked: string[] = []
    const { port } = await serve(async (request) => {
      const body = (await request.body(10_000)).toString()
      asked.push(
        `${request.method} ${request.url} ${String(request.headers['content-type'] ?? '-')} ${body}`,
      )
      return json(request.method === 'GET' ? { metadata: {}, items: [{ metadata: {} }] } : {})
    })
    const client = createClient({
      server: `https://127.0.0.1:${port}`,
      ca: pki.caPem,
      dialect: dialects.kubernetes,
    })
    cleanups.push(() => client.close())
    const deployments = client.resource(resources.deployments)
    const metadata = { namespace: 'ns', name: 'web', resourceVersion: '5' }
    const list = await deployments.list({ namespace: 'ns', labelSelector: 'a in (b)', limit: 5 })
    await client.resource(resources.nodes).get({ name: 'n1' })
    await deployments.create({ metadata }, { dryRun: true, fieldManager: 'me' })
    await deployments.updateStatus({ metadata })
    await deployments.patch({ namespace: 'ns', name: 'web' }, [], { type: 'json' })
    await deployments.patch(
      { namespace: 'ns', name: 'web' },
      {},
      { type: 'apply', force: true, fieldManager: 'me' },
    )
    await deployments.delete({ namespace: 'ns', name: 'web' }, { preconditions: { uid: 'u' } })
    await client
      .resource(resources.pods)
      .createSubresource({ namespace: 'ns', name: 'p' }, 'binding', { metadata: {} })
    const sent = JSON.stringify({ metadata, apiVersion: 'apps/v1', kind: 'Deployment' })
    expect(asked).toEqual([
      'GET /apis/apps/v1/namespaces/ns/deployments?labelSelector=a+in+%28b%29&limit=5 - ',
      'GET /api/v1/nodes/n1 - ',
      `POST /apis/apps/v1/namespaces/ns/deployments?dryRun=All&fieldManager=me application/json ${sent}`,
      `PUT /apis/apps/v1/namespaces/ns/deployments/web/status application/json ${sent}`,
      'PATCH /apis/apps/v1/namespaces/ns/deployments/web application/json-patch+json []',
      'PATCH /apis/apps/v1/namespaces/ns/deployments/web?fieldManager=me&force=true application/apply-patch+yaml {}',
      'DELETE /apis/apps/v1/namespaces/ns/deployments/web application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}',
      'POST /api/v1/namespaces/ns/pods/p/binding application/json {"metadata":{}}',
    ])
    expect(list.items[0]).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment' })
  })

  it('watches events in chunks of any size, and ends with a StatusError on an ERROR event', async () => {
    const lines = [
      { type: 'ADDED', object: { metadata: { name: 'grüße' } } },
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } },
      { type: 'ERROR', object: { kind: 'Status', reason: 'Expired', code: 410, message: 'old' } },
    ]
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    for (const size of [1, 7, 1000]) {
      const { port } = await serve(async () => ({
        status: 200,
        headers: {},
        body: async (sink) => {
          for (let at = 0; at < bytes.length; at += size) sink.write(bytes.subarray(at, at + size))
        },
      }))
      const client = createClient({
        server: `https://127.0.0.1:${port}`,
        ca: pki.caPem,
        dialect: dialects.kubernetes,
      })
      cleanups.push(() => client.close())
      const seen: unknown[] = []
      const watch = async (): Promise<void> => {
        const events = client.resource(resources.pods).watch({}, new AbortController().signal)
        for await (const event of events) seen.push(event)
      }
      await expect(watch()).rejects.toMatchObject({ reason: 'Expired', code: 410 })
      expect(seen).toEqual(lines.slice(0, 2))
    }
  })
})

describe('a request that a server has not looked at', () => {
  /** Refuses the first `refusals` requests as a server does whose connection is ending. */
  async function serveRefusing(refusals: number) {
    let asked = 0
    const server = createSecureServer(pki.server)
    server
      .on('sessionError', () => {})
      .on('stream', (stream) => {
        stream.on('error', () => {})
        asked += 1
        if (asked <= refusals) stream.close(constants.NGHTTP2_REFUSED_STREAM)
        else {
          stream.respond({ ':status': 200, 'content-type': 'application/json' })
          stream.end('{"kind":"ConfigMap"}')
        }
      })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = createRestClient({ server: `https://127.0.0.1:${port}`, ca: pki.caPem })
    cleanups.push(() => {
      client.close()
      server.close()
    })
    return { client, count: () => asked }
  }

  it('is sent again, a write too', async () => {
    const { client, count } = await serveRefusing(2)
    expect(await client.json({ method: 'POST', path: '/a', body: {} })).toEqual({
      kind: 'ConfigMap',
    })
    expect(count()).toBe(3)
  })

  it('fails in the end', async () => {
    const { client, count } = await serveRefusing(100)
    await expect(client.json({ method: 'GET', path: '/a' })).rejects.toMatchObject({
      code: 'unprocessed',
    })
    expect(count()).toBe(6)
  })
})
