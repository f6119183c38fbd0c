/** The keys of an issuer: found by discovery, and fetched again at most once a second. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  createIssuerKeys,
  type IssuerKeys,
} from '../../../components/api-server/authn/oidc/issuer-keys.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { standIn } from '../../support/stand-in.ts'
import { createIssuers } from '../../support/token-issuer.ts'

const host = createIssuers('https://issuers.example')
beforeEach(() => {
  standIn(host.origin, ({ path, headers }) => host.answer(path, headers))
})

function start(path: string, discoveryUrl?: string) {
  const issuer = host.at(path)
  const clock = new FakeClock()
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (_: string, more?: unknown) => void warnings.push(more) }
  const keys = createIssuerKeys({
    issuerUrl: issuer.url,
    discoveryUrl,
    ca: undefined,
    clock,
    log,
  })
  const stop = new AbortController()
  const running = keys.run(stop.signal)
  const end = async (): Promise<void> => {
    stop.abort()
    await running
  }
  const requests = () => host.requests.filter((url) => url.startsWith(`${path}/`))
  return { issuer, clock, keys, warnings, end, requests }
}

const namesOf = async (keys: IssuerKeys, keyId?: string) =>
  (await keys.find(keyId))?.map(({ kid, alg }) => `${kid} ${alg}`)

describe('keys of an issuer', () => {
  test('are those of its document, once it has been found', async () => {
    const { issuer, keys, end, requests } = start('/found')
    expect(await keys.find(undefined)).toBeUndefined()
    expect(await keys.findOthers([])).toEqual([])
    await keys.found
    const [id] = ((await namesOf(keys)) ?? [''])[0]?.split(' ') ?? []
    expect(await namesOf(keys)).toEqual([`${id} RS256`, `${id} ES256`])
    expect(requests()).toEqual(['/found/.well-known/openid-configuration', '/found/jwks'])
    expect(issuer.document).toBeDefined()
    await end()
  })

  test('are asked for again by a token that names another, after a second at the soonest', async () => {
    const { issuer, clock, keys, end, requests } = start('/again')
    await keys.found
    const before = await keys.find(undefined)
    const { generation } = keys
    const [old] = before ?? []
    issuer.rotate()
    expect(await keys.find(old?.kid)).toBe(before)
    expect(await keys.find('new')).toBe(before)
    expect(requests()).toHaveLength(2)
    await clock.step(999)
    expect(await keys.find('new')).toBe(before)
    expect(requests()).toHaveLength(2)
    await clock.step(1)
    // Both wait for one answer.
    const [one, two] = await Promise.all([keys.find('new'), keys.find('newer')])
    expect(requests()).toHaveLength(3)
    expect(one).toBe(two)
    expect(one?.some(({ kid }) => kid === old?.kid)).toBe(false)
    expect(keys.generation).toBe(generation + 1)
    await clock.step(1000)
    expect(await keys.find('none')).toBe(one)
    expect(requests()).toHaveLength(4)
    expect(keys.generation).toBe(generation + 1)
    // What is known is not asked for, whatever the issuer has by now.
    issuer.rotate()
    await clock.step(1000)
    expect(await keys.find(one?.[0]?.kid)).toBe(one)
    expect(await keys.find(undefined)).toBe(one)
    expect(requests()).toHaveLength(4)
    await end()
  })

  test('are asked for again when a signature is of none of them', async () => {
    const { issuer, clock, keys, end, requests } = start('/others')
    await keys.found
    const before = (await keys.find(undefined)) ?? []
    issuer.rotate({ keepsId: true })
    expect(await keys.findOthers(before)).toBe(before)
    await clock.step(1000)
    const after = await keys.findOthers(before)
    expect(after).not.toEqual(before)
    expect(requests()).toHaveLength(3)
    await clock.step(1000)
    // Somebody has asked since.
    expect(await keys.findOthers(before)).toBe(after)
    expect(requests()).toHaveLength(3)
    await end()
  })

  test('stay while the issuer has none to give', async () => {
    const { issuer, clock, keys, warnings, end } = start('/silent')
    await keys.found
    const before = await keys.find(undefined)
    for (const answer of [
      { status: 500, body: '{"keys":[{"kid":"other"}]}' },
      { body: 'x' },
      { body: '{"keys":7}' },
      { body: 'null' },
    ]) {
      host.documents.set('/silent/jwks', () => answer)
      warnings.length = 0
      await clock.step(1000)
      expect(await keys.find('new')).toBe(before)
      expect(warnings).toHaveLength(1)
    }
    host.documents.delete('/silent/jwks')
    expect(issuer.document).toBeDefined()
    await end()
  })

  test('are those that sign', async () => {
    const mixed = [{ kid: 'a', use: 'enc' }, { kid: 'b' }, null, 'x', { kid: 'c', use: 'sig' }]
    host.documents.set('/mixed/jwks', () => ({ body: JSON.stringify({ keys: mixed }) }))
    const { keys, end } = start('/mixed')
    await keys.found
    expect(await keys.find(undefined)).toEqual([{ kid: 'b' }, { kid: 'c', use: 'sig' }])
    await end()
  })

  test.each<[string, object | undefined]>([
    ['no document', undefined],
    ['the document of another issuer', { issuer: 'https://other', jwks_uri: 'own' }],
    ['no place of keys', { issuer: 'own' }],
    ['a place that is not https', { issuer: 'own', jwks_uri: 'http://x' }],
    ['a place that is no text', { issuer: 'own', jwks_uri: 7 }],
  ])('are looked for every ten seconds where there is %s', async (name, document) => {
    const path = `/${name.replaceAll(' ', '-')}`
    const issuer = host.at(path)
    const good = issuer.document
    const own: Record<string, unknown> = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }
    issuer.document =
      document &&
      Object.fromEntries(
        Object.entries(document).map(([field, value]: [string, unknown]) => [
          field,
          value === 'own' ? own[field] : value,
        ]),
      )
    const { clock, keys, warnings, end } = start(path)
    const seen = (count: number) =>
      eventually(() => {
        if (warnings.length < count) throw new Error(`only ${warnings.length}`)
      })
    await seen(1)
    expect(await keys.find(undefined)).toBeUndefined()
    await eventually(() => {
      if (clock.pending === 0) throw new Error('not waiting yet')
    })
    await clock.step(9_999)
    expect(warnings).toHaveLength(1)
    issuer.document = good
    await clock.step(1)
    await keys.found
    expect(await keys.find(undefined)).toHaveLength(2)
    await end()
  })

  test('may be found at another place, and under a URL that ends with a slash', async () => {
    const { url } = host.at('/own/')
    const document = JSON.stringify({ issuer: url, jwks_uri: `${host.at('/own').url}/jwks` })
    host.documents.set('/elsewhere', () => ({ body: document }))
    const moved = start('/own/', `${host.origin}/elsewhere`)
    await moved.keys.found
    expect(host.requests).toContain('/elsewhere')
    await moved.end()
    host.documents.set('/own/.well-known/openid-configuration', () => ({ body: document }))
    const plain = start('/own/')
    await plain.keys.found
    expect(host.requests).toContain('/own/.well-known/openid-configuration')
    await plain.end()
  })

  test('are not looked for any more at the end', async () => {
    host.at('/ended').document = undefined
    const { clock, warnings, end } = start('/ended')
    await eventually(() => {
      if (warnings.length === 0 || clock.pending === 0) throw new Error('not waiting yet')
    })
    await end()
    expect(clock.pending).toBe(0)
    expect(warnings).toHaveLength(1)
  })
})
