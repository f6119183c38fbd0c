/** Continue tokens: whole lists in pages, tokens that nobody can make up, and the way on when a page has expired. */
import { describe, expect, it } from 'vitest'
import {
  continueTokenKey,
  createContinueTokens,
} from '../../../components/api-server/codec/continue-token.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sharedServer } from '../../support/shared-server.ts'

const key = Buffer.alloc(32, 'k')
const tokens = createContinueTokens(key)
const list = 'core/configmaps/default/'

function faultOf(text: string, of = list): string {
  try {
    tokens.decode(of, text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

const made = async (server: TestApiServer, ...names: string[]): Promise<string> => {
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of names) await server.ok('POST', at, { body: { metadata: { name } } })
  return at
}
interface List {
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number }
  readonly items: { readonly metadata: { readonly name: string } }[]
}
const names = (page: List): string[] => page.items.map(({ metadata }) => metadata.name)
const go = (token: string | undefined): string => `continue=${encodeURIComponent(token ?? '')}`

describe('a token', () => {
  const token = tokens.encode(list, { revision: 12, start: 'default/b' })

  it('says where to go on, for its own list only', () => {
    expect(tokens.decode(list, token)).toEqual({ revision: 12, start: 'default/b' })
    for (const other of ['core/configmaps/other/', 'core/configmaps/', 'core/secrets/default/']) {
      expect(faultOf(token, other)).toContain('it was not made for this list')
    }
    const longest = `${'n'.repeat(63)}/${'x'.repeat(253)}`
    const long = tokens.encode(list, { revision: Number.MAX_SAFE_INTEGER, start: longest })
    expect(long.length).toBeLessThan(1000)
    expect(tokens.decode(list, long).start).toBe(longest)
  })

  it('cannot be changed in any byte, nor made with another key', () => {
    const bytes = Buffer.from(token, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(faultOf(changed.toString('base64url')), String(at)).toContain(
        'continue key is not valid',
      )
    }
    const foreign = createContinueTokens(Buffer.alloc(32, 'x'))
    expect(faultOf(foreign.encode(list, { revision: 12, start: 'default/b' }))).toContain(
      'it was not made for this list by this cluster',
    )
    const body = JSON.parse(bytes.toString()) as Record<string, unknown>
    for (const forged of [
      { ...body, rv: 13 },
      { ...body, rv: -1 },
      { ...body, start: 'default/a' },
      { ...body, code: '' },
      { ...body, code: undefined },
      { ...body, code: 7 },
      { ...body, code: [] },
      { v: 'v1', rv: 12, start: 'default/b' },
    ]) {
      expect(faultOf(Buffer.from(JSON.stringify(forged)).toString('base64url'))).toContain(
        'it was not made for this list by this cluster',
      )
    }
  })

  it('is bounded in size', () => {
    expect(faultOf('A'.repeat(8193))).toContain('it is too long')
  })

  it('of servers on one store are the same ones; each store has its own', async () => {
    const store = createMemoryStore()
    const [one, two] = await Promise.all([continueTokenKey(store), continueTokenKey(store)])
    expect(one).toHaveLength(32)
    expect(two.equals(one)).toBe(true)
    expect((await continueTokenKey(store)).equals(one)).toBe(true)
    expect((await continueTokenKey(createMemoryStore())).equals(one)).toBe(false)
  })
})

describe('pages', () => {
  const server = sharedServer()

  it('with a token that is changed, of another list or of nobody are refused with 400', async () => {
    const at = await made(server(), 'a', 'b', 'c')
    const other = await made(server(), 'a', 'b', 'c')
    const page: List = await server().ok('GET', `${at}?limit=1`)
    expect(names(await server().ok('GET', `${at}?limit=1&${go(page.metadata.continue)}`))).toEqual([
      'b',
    ])
    const token = page.metadata.continue ?? ''
    const forged = Buffer.from('{"v":"v1","rv":1,"start":"default/a","code":"AAAA"}')
    for (const path of [
      `${other}?limit=1&${go(token)}`,
      `/api/v1/configmaps?limit=1&${go(token)}`,
      `${at.replace('configmaps', 'secrets')}?limit=1&${go(token)}`,
      `${at}?limit=1&${go(forged.toString('base64url'))}`,
      `${at}?limit=1&${go(`${token.slice(0, -3)}AAA`)}`,
    ]) {
      const { status, body } = await server().request('GET', path)
      expect(status, path).toBe(400)
      expect(body).toMatchObject({ kind: 'Status', reason: 'BadRequest' })
      expect(body.message).toMatch(/^invalid continue token: continue key is not valid/)
    }
  })

  it('one page more or less: selectors, other limits and other forms may change on the way', async () => {
    const at = await made(server(), 'a', 'b', 'c', 'd')
    const page: List = await server().ok('GET', `${at}?limit=1`)
    const rest: List = await server().ok('GET', `${at}?${go(page.metadata.continue)}`)
    expect(names(rest)).toEqual(['b', 'c', 'd'])
    expect(rest.metadata.continue).toBeUndefined()
    const some: List = await server().ok(
      'GET',
      `${at}?limit=2&fieldSelector=metadata.name!=b&${go(page.metadata.continue)}`,
    )
    expect(names(some)).toEqual(['c', 'd'])
  })
})

describe('names beyond ASCII', () => {
  it('are in the order of their UTF-8 bytes, in lists, in pages, and after a restart', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const at = `/apis/${server.group('rbac.authorization')}/v1/namespaces/${await server.namespace()}/roles`
    const wanted = ['a', 'a\u{1F600}', 'z', 'é', '\uD7FF', '\uE000', '\uFFFD', '\u{1F600}']
    for (const name of wanted.toReversed()) {
      await server.ok('POST', at, { body: { metadata: { name }, rules: [] } })
    }
    const inPages = async (): Promise<string[]> => {
      const found: string[] = []
      let next = ''
      do {
        const page: List = await server.ok('GET', `${at}?limit=2${next}`)
        found.push(...names(page))
        const left = wanted.length - found.length
        expect(page.metadata.remainingItemCount ?? 0).toBe(left)
        next = left === 0 ? '' : `&${go(page.metadata.continue)}`
      } while (next !== '')
      return found
    }
    expect(names(await server.ok('GET', at))).toEqual(wanted)
    expect(await inPages()).toEqual(wanted)
    await server.restart()
    expect(names(await server.ok('GET', at))).toEqual(wanted)
    expect(await inPages()).toEqual(wanted)
  })
})

describe('time', () => {
  it('a token outlives a restart of the server', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const at = await made(server, 'a', 'b', 'c')
    const page: List = await server.ok('GET', `${at}?limit=1`)
    await server.restart()
    const next = await server.request('GET', `${at}?limit=1&${go(page.metadata.continue)}`)
    // Its revision may be gone, but it is known for what it is.
    expect([200, 410]).toContain(next.status)
    const again: List = await server.ok('GET', `${at}?limit=1`)
    expect(names(await server.ok('GET', `${at}?limit=1&${go(again.metadata.continue)}`))).toEqual([
      'b',
    ])
  })

  it('an expired page is a 410 with a token that goes on from there, inconsistently', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const at = await made(server, 'a', 'c', 'e', 'g')
    const page: List = await server.ok('GET', `${at}?limit=2`)
    expect(names(page)).toEqual(['a', 'c'])
    for (let minute = 0; minute < 7; minute += 1) {
      await clock.step(60_000)
      await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: `n${minute}` } } })
    }
    const { status, body } = await server.request(
      'GET',
      `${at}?limit=2&${go(page.metadata.continue)}`,
    )
    expect(status).toBe(410)
    expect(body).toMatchObject({
      reason: 'Expired',
      message:
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.',
      metadata: { continue: expect.any(String) as string },
    })
    // What came before the place where it goes on is missed, what came behind is there.
    await server.ok('POST', at, { body: { metadata: { name: 'b' } } })
    await server.ok('POST', at, { body: { metadata: { name: 'f' } } })
    await server.ok('DELETE', `${at}/e`)
    const on: List = await server.ok('GET', `${at}?limit=1&${go(body.metadata.continue)}`)
    expect(names(on)).toEqual(['f'])
    // From here on the pages agree again.
    await server.ok('DELETE', `${at}/g`)
    const last: List = await server.ok('GET', `${at}?limit=1&${go(on.metadata.continue)}`)
    expect(names(last)).toEqual(['g'])
  })
})
