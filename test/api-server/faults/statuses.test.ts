/** Faults that reject requests, seen by clients of a running server. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RequestFault } from '../../../components/component-base/request-fault.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'

let server: TestApiServer

beforeAll(async () => {
  server = await startApiServer()
})
afterAll(async () => await server[Symbol.asyncDispose]())
beforeEach(async () => {
  await server.command('faults', { requests: [], store: [] })
})

const obey = async (...requests: RequestFault[]): Promise<unknown> =>
  await server.command('faults', { requests, store: [] })
const counts = async (): Promise<unknown> => await server.command('fault-counts')
const configMaps = '/api/v1/namespaces/default/configmaps'

describe('a status', () => {
  it.each([
    [409, 'Conflict', /^Operation cannot be fulfilled on configmaps "a": the object has been/],
    [410, 'Expired', /^The resourceVersion for the provided list is too old\.$/],
    [429, 'TooManyRequests', /^Too many requests, please try again later\.$/],
    [500, 'InternalError', /^Internal error occurred: the fault "broken" of the lab$/],
    [503, 'ServiceUnavailable', /^the server is currently unable to handle the request$/],
    [504, 'Timeout', /^Timeout: request did not complete within the allotted timeout$/],
  ] as const)('%i has upstream’s reason and wording', async (code, reason, message) => {
    await obey({
      id: 'broken',
      match: { resources: ['configmaps'] },
      action: { status: { code } },
    })
    const { status, body } = await server.request('GET', `${configMaps}/a`)
    expect({ status, kind: body.kind, code: body.code, reason: body.reason }).toEqual({
      status: code,
      kind: 'Status',
      code,
      reason,
    })
    expect(body.message).toMatch(message)
    expect(await counts()).toEqual({ broken: 1 })
    expect(server.faults).toEqual([])
  })

  it('says with Retry-After and in its details when to come again', async () => {
    const status = { code: 429, retryAfterSeconds: 7 } as const
    await obey({ id: 'busy', match: {}, action: { status } })
    const { headers, body } = await server.request('GET', '/api/v1/nodes')
    expect(headers['retry-after']).toBe('7')
    expect(body.details).toEqual({ retryAfterSeconds: 7 })
  })

  it('keeps a write from being done', async () => {
    await obey({ id: 'down', match: { verbs: ['write'] }, action: { status: { code: 503 } } })
    const object = { metadata: { name: 'never' } }
    expect((await server.request('POST', configMaps, { body: object })).status).toBe(503)
    expect((await server.request('GET', `${configMaps}/never`)).status).toBe(404)
    expect(await counts()).toEqual({ down: 1 })
  })

  it('comes before authorization, so that it says nothing about rights', async () => {
    await obey({ id: 'down', match: {}, action: { status: { code: 503 } } })
    const ask = { as: user('jane') }
    expect((await server.request('GET', '/api/v1/nodes', ask)).status).toBe(503)
  })

  it('is of the impersonated user', async () => {
    await obey({ id: 'of-jane', match: { users: ['jane'] }, action: { status: { code: 503 } } })
    const headers = { 'impersonate-user': 'jane' }
    expect((await server.request('GET', '/api/v1/nodes', { headers })).status).toBe(503)
    expect((await server.request('GET', '/api/v1/nodes')).status).toBe(200)
  })
})

describe('which requests', () => {
  const down = { status: { code: 503 } } as const

  it('spares probes of a user that no rule names', async () => {
    await obey({ id: 'all', match: { users: ['*'] }, action: down })
    expect((await server.request('GET', '/livez')).status).toBe(200)
    expect((await server.request('GET', '/metrics')).status).toBe(200)
    await obey({ id: 'named', match: { users: ['admin'] }, action: down })
    expect((await server.request('GET', '/livez')).status).toBe(503)
    expect((await server.request('GET', '/livez', { as: 'anonymous' })).status).toBe(200)
  })

  it('spares the server’s own requests', async () => {
    await obey({ id: 'all', match: { users: ['*', 'system:apiserver'] }, action: down })
    expect((await server.request('GET', '/readyz')).status).toBe(200)
    expect(server.faults).toEqual([])
  })

  it('matches names of lists that select one object', async () => {
    await obey({ id: 'one', match: { names: ['web-*'] }, action: down })
    const one = `${configMaps}?fieldSelector=metadata.name%3Dweb-1`
    expect((await server.request('GET', one)).status).toBe(503)
    expect((await server.request('GET', configMaps)).status).toBe(200)
    expect(await counts()).toEqual({ one: 1 })
  })
})

describe('counting', () => {
  const action = { status: { code: 503 } } as const
  const get = async (): Promise<number> => (await server.request('GET', configMaps)).status

  it('ends a fault that has fired as often as it may', async () => {
    await obey({ id: 'twice', match: {}, action, times: 2 })
    expect([await get(), await get(), await get()]).toEqual([503, 503, 200])
    expect(await counts()).toEqual({ twice: 2 })
  })

  it('goes on while a later command names the fault, and starts anew after it was gone', async () => {
    const fault = { id: 'thrice', match: {}, action, times: 3 }
    await obey(fault)
    await get()
    const other = { id: 'other', match: { users: ['jane'] }, action }
    expect(await obey(fault, other)).toEqual({ thrice: 1, other: 0 })
    expect([await get(), await get(), await get()]).toEqual([503, 503, 200])
    expect(await obey(other)).toEqual({ other: 0 })
    expect(await obey(fault)).toEqual({ thrice: 0 })
  })

  it('fires for the same requests with the same seed', async () => {
    const run = async (seed: number): Promise<number[]> => {
      await obey()
      await obey({ id: 'some', match: {}, action, chance: 0.5, seed })
      const seen: number[] = []
      for (let count = 0; count < 40; count += 1) seen.push(await get())
      return seen
    }
    const first = await run(7)
    expect(await run(7)).toEqual(first)
    expect(await run(8)).not.toEqual(first)
    expect(new Set(first)).toEqual(new Set([200, 503]))
  })

  it('leaves the fault’s id in the record of a write', async () => {
    await obey({ id: 'lost', match: { verbs: ['create'] }, action })
    await server.request('POST', configMaps, { body: { metadata: { name: 'a' } } })
    const records = await server.ok('GET', '/explain/requests?resource=configmaps')
    expect(records.items.at(-1)).toMatchObject({ verb: 'create', status: 503, fault: 'lost' })
  })
})
