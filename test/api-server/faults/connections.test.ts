/** Faults of connections, seen by clients of HTTP/1.1 and HTTP/2: answers that never come, break off, or come slowly or late. */
import http2 from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type {
  RequestAction,
  RequestFault,
} from '../../../components/component-base/request-fault.ts'
import { admin, startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const clock = new FakeClock(Date.now())
let server: TestApiServer
let session: http2.ClientHttp2Session
let agent: Agent

beforeAll(async () => {
  server = await startApiServer({ clock })
  const ca = server.pki.authority.certificatePem
  const credential = server.credential(admin)
  const tls = { ca, cert: credential?.certificatePem, key: credential?.privateKeyPem }
  session = http2.connect(
    `https://127.0.0.1:${server.port}`,
    tls as http2.SecureClientSessionOptions,
  )
  agent = new Agent({ ...tls, keepAlive: true, maxSockets: 1 })
})
afterAll(async () => {
  session.destroy()
  agent.destroy()
  await server[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await server.command('faults', {})
})

const obey = async (...requests: RequestFault[]): Promise<unknown> =>
  await server.command('faults', { requests })
const counts = async (): Promise<unknown> => await server.command('fault-counts')
const configMaps = '/api/v1/namespaces/default/configmaps'

/** What a client got. */
interface Got {
  /** Undefined when not even the head came. */
  readonly status: number | undefined
  readonly bytes: number
  /** The bytes that the head announced; NaN without an announcement. */
  readonly announced: number
  readonly isWhole: boolean
}
type Ask = { method: string; path: string; body?: unknown }
type Protocol = (ask: Ask, onBytes?: (bytes: number) => void) => Promise<Got>

const overHttp1: Protocol = ({ method, path, body }, onBytes) =>
  new Promise((resolve) => {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const headers = payload === undefined ? {} : { 'content-type': 'application/json' }
    const request = httpsRequest(
      { host: '127.0.0.1', port: server.port, agent, method, path, headers },
      (response) => {
        let bytes = 0
        const announced = Number(response.headers['content-length'])
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          onBytes?.(bytes)
        })
        response.on('error', () => {})
        response.on('close', () =>
          resolve({ status: response.statusCode, bytes, announced, isWhole: response.complete }),
        )
      },
    )
    request.on('error', () =>
      resolve({ status: undefined, bytes: 0, announced: NaN, isWhole: false }),
    )
    request.end(payload)
  })

const overHttp2: Protocol = ({ method, path, body }, onBytes) =>
  new Promise((resolve) => {
    const stream = session.request(
      { ':method': method, ':path': path, 'content-type': 'application/json' },
      { endStream: body === undefined },
    )
    if (body !== undefined) stream.end(JSON.stringify(body))
    let status: number | undefined
    let announced = NaN
    let bytes = 0
    stream.on('response', (headers) => {
      status = headers[':status']
      announced = Number(headers['content-length'])
    })
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      onBytes?.(bytes)
    })
    stream.on('error', () => {})
    stream.on('close', () => resolve({ status, bytes, announced, isWhole: stream.rstCode === 0 }))
  })

const cut = (when: RequestAction['cut'], verbs: string[]): RequestFault => ({
  id: 'cut',
  match: { verbs, resources: ['configmaps'] },
  action: { cut: when } as RequestAction,
  times: 1,
})

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
] as const)('a cut over %s', (name, send) => {
  const made = (text: string): string => `${text}-${name.replace(/\W/g, '').toLowerCase()}`

  it('before: nothing is done, and no answer comes', async () => {
    await obey(cut('before', ['create']))
    const body = { metadata: { name: made('before') } }
    const got = await send({ method: 'POST', path: configMaps, body })
    expect(got).toMatchObject({ status: undefined, bytes: 0, isWhole: false })
    const after = await send({ method: 'GET', path: `${configMaps}/${made('before')}` })
    expect(after).toMatchObject({ status: 404, isWhole: true })
    expect(await counts()).toEqual({ cut: 1 })
  })

  it('after: the write is done, and its client gets no answer', async () => {
    await obey(cut('after', ['create']))
    const body = { metadata: { name: made('after') } }
    const got = await send({ method: 'POST', path: configMaps, body })
    expect(got).toMatchObject({ status: undefined, bytes: 0, isWhole: false })
    const after = await send({ method: 'GET', path: `${configMaps}/${made('after')}` })
    expect(after).toMatchObject({ status: 200, isWhole: true })
    expect(await counts()).toEqual({ cut: 1 })
    const query = `resource=configmaps&name=${made('after')}`
    const records = await server.ok('GET', `/explain/requests?${query}`)
    expect(records.items.at(-1)).toMatchObject({ verb: 'create', status: 201, fault: 'cut' })
  })

  it('during: part of the body comes', async () => {
    await obey(cut('during', ['get']))
    const got = await send({ method: 'GET', path: `${configMaps}/kube-root-ca.crt` })
    expect(got).toMatchObject({ status: 404, isWhole: false })
    expect(got.bytes).toBeGreaterThan(0)
    expect(got.bytes).toBeLessThan(got.announced)
    expect(await counts()).toEqual({ cut: 1 })
  })

  it('during: a watch breaks off in its first event', async () => {
    await server.ok('POST', configMaps, { body: { metadata: { name: made('watched') } } })
    await obey(cut('during', ['watch']))
    const got = await send({ method: 'GET', path: `${configMaps}?watch=true` })
    expect(got).toMatchObject({ status: 200, isWhole: false })
    expect(got.bytes).toBeGreaterThan(0)
  })

  it('during: a watch that ends without an event breaks off at its end', async () => {
    await obey(cut('during', ['watch']))
    const path = `${configMaps}?watch=true&fieldSelector=metadata.name%3Dnone&timeoutSeconds=60`
    const sent = send({ method: 'GET', path })
    await eventually(async () => expect(await counts()).toEqual({ cut: 1 }))
    const ending = eventually(async () => {
      await clock.step(61_000)
      return await Promise.race([sent, Promise.reject(new Error('the watch goes on'))])
    })
    expect(await ending).toMatchObject({ bytes: 0, isWhole: false })
  })

  it('leaves no error in the log', () => {
    expect(server.faults).toEqual([])
  })
})

it('a cut over HTTP/2 leaves the connection and its other streams as they were', async () => {
  const watch = session.request({ ':path': `${configMaps}?watch=true` })
  let text = ''
  watch.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await eventually(() => expect(text).not.toBe(''))
  await obey(cut('after', ['create']))
  const body = { metadata: { name: 'same-connection' } }
  expect((await overHttp2({ method: 'POST', path: configMaps, body })).status).toBeUndefined()
  await eventually(() => expect(text).toContain('same-connection'))
  expect([session.destroyed, session.closed, watch.closed]).toEqual([false, false, false])
  watch.close()
})

describe('a delay', () => {
  it('is the server’s time, and the request is handled after it', async () => {
    await obey({ id: 'late', match: { resources: ['configmaps'] }, action: { delayMs: 20_000 } })
    let isAnswered = false
    const answer = overHttp2({ method: 'GET', path: configMaps }).finally(() => (isAnswered = true))
    await eventually(async () => expect(await counts()).toEqual({ late: 1 }))
    await clock.step(19_000)
    expect(isAnswered).toBe(false)
    await clock.step(1000)
    expect(await answer).toMatchObject({ status: 200, isWhole: true })
  })

  it('longer than a request may take is a 504', async () => {
    await obey({ id: 'late', match: { resources: ['configmaps'] }, action: { delayMs: 100_000 } })
    const answer = overHttp2({ method: 'GET', path: configMaps })
    await eventually(async () => expect(await counts()).toEqual({ late: 1 }))
    await clock.step(60_000)
    expect(await answer).toMatchObject({ status: 504 })
  })
})

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
] as const)('a slow answer over %s', (_, send) => {
  it('comes at so many bytes a second', async () => {
    const path = '/api/v1/namespaces/default'
    const whole = await send({ method: 'GET', path })
    await obey({ id: 'slow', match: { names: ['default'] }, action: { bytesPerSecond: 100 } })
    let come = 0
    const answer = send({ method: 'GET', path }, (bytes) => (come = bytes))
    await eventually(async () => expect(await counts()).toEqual({ slow: 1 }))
    await eventually(async () => {
      await clock.step(50)
      expect(come).toBeGreaterThan(0)
    })
    expect(come).toBeLessThan(whole.bytes)
    const rest = eventually(async () => {
      await clock.step(100)
      expect(come).toBe(whole.bytes)
    })
    expect(await answer).toEqual(whole)
    await rest
  })
})

it('a slow watch keeps its events in order, and its server takes no more than it can send', async () => {
  await obey({ id: 'slow', match: { verbs: ['watch'] }, action: { bytesPerSecond: 1000 } })
  const list = await server.ok('GET', configMaps)
  const from = String(list.metadata.resourceVersion)
  const watch = await server.watch(`${configMaps}?watch=true&resourceVersion=${from}`)
  const names = Array.from({ length: 20 }, (_, at) => `slow-${String(at).padStart(2, '0')}`)
  for (const name of names) await server.ok('POST', configMaps, { body: { metadata: { name } } })
  const taking = watch.take(20)
  await eventually(async () => {
    await clock.step(1000)
    expect(watch.waiting.length).toBe(0)
    const open = await server.ok('GET', '/explain/watches')
    expect(open.items[0]).toMatchObject({ events: 20, waitingBytes: 0 })
  })
  expect((await taking).map(({ object }) => object.metadata.name)).toEqual(names)
  watch.close()
})
