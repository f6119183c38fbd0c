/** Bearer tokens: where a request carries one, who is asked about it, and for whom it is good. */
import { describe, expect, test } from 'vitest'
import type {
  AuthenticationResult,
  TokenAuthenticator,
} from '../../../components/api-server/authn/authenticator.ts'
import {
  authenticateToken,
  bearerToken,
  bearerTokenAuthenticator,
  forOwnAudiences,
  protocolsWithoutToken,
} from '../../../components/api-server/authn/bearer-token.ts'
import type { HttpRequest } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'

const dialect = dialects.kubernetes
const jane: AuthenticationResult = { kind: 'user', user: { name: 'jane', groups: ['a'] } }
const none: AuthenticationResult = { kind: 'none' }
const failed = (why: string): AuthenticationResult => ({ kind: 'failed', why })
const request = (headers: HttpRequest['headers'] = {}): HttpRequest => ({ headers }) as HttpRequest
const bearer = (token: string) => request({ authorization: `Bearer ${token}` })
const encoded = `base64url.bearer.authorization.k8s.io.${Buffer.from('abc').toString('base64url')}`

describe('the token of a request', () => {
  const read = (headers: HttpRequest['headers']) => bearerToken(request(headers), dialect)

  test('[AUTHN-017] is read from Authorization: Bearer, and from nothing else', () => {
    expect(read({ authorization: 'Bearer abc' })).toBe('abc')
    expect(read({ authorization: ' bearer abc ' })).toBe('abc')
    for (const authorization of ['Basic abc', 'abc', 'Bearer', 'Bearer ', 'Bearerabc', '']) {
      expect([authorization, read({ authorization })]).toEqual([authorization, undefined])
    }
    expect(read({})).toBeUndefined()
  })

  test('may be one of the protocols of a WebSocket', () => {
    const offer = (protocols: string, upgrade = 'websocket') =>
      read({ upgrade, 'sec-websocket-protocol': protocols })
    expect(offer(`${encoded}, v4.channel.k8s.io`)).toBe('abc')
    expect(offer(`v4.channel.k8s.io, ${encoded}`)).toBe('abc')
    expect(offer(encoded, 'WebSocket')).toBe('abc')
    expect(offer('v4.channel.k8s.io')).toBeUndefined()
    expect(offer(`x${encoded}`)).toBeUndefined()
    expect(read({ upgrade: 'websocket' })).toBeUndefined()
    expect(offer(encoded, 'h2c')).toBeUndefined()
    expect(read({ 'sec-websocket-protocol': encoded })).toBeUndefined()
  })

  test('is not among the protocols that others get to see', () => {
    const offered = (...values: string[]) =>
      protocolsWithoutToken(
        { values: (name) => (name === 'sec-websocket-protocol' ? values : []) },
        dialect,
      )
    expect(offered(`v5.channel.k8s.io,${encoded}`, ` ${encoded} , v4.channel.k8s.io`)).toEqual([
      'v5.channel.k8s.io',
      'v4.channel.k8s.io',
    ])
  })
})

describe.each([
  ['at once', (result: AuthenticationResult) => result],
  ['later', (result: AuthenticationResult) => Promise.resolve(result)],
])('authenticators that answer %s', (_, answer) => {
  const asked: string[] = []
  const knows = (name: string, result: AuthenticationResult): TokenAuthenticator => ({
    name,
    authenticateToken: (token, audiences) => {
      asked.push([name, token, ...audiences].join(' '))
      return answer(result)
    },
  })

  test('are asked in order, for the audiences, until one knows the user', async () => {
    asked.length = 0
    const list = [
      knows('one', none),
      knows('two', failed('bad')),
      knows('three', jane),
      knows('four', jane),
    ]
    const passed: AuthenticationResult[] = []
    expect(await authenticateToken(list, 't', ['a', 'b'], passed)).toEqual(jane)
    expect(asked).toEqual(['one t a b', 'two t a b', 'three t a b'])
    expect(passed).toEqual([none, failed('bad')])
  })

  test('give every reason for a refusal; one that has none does not know the token', async () => {
    const list = [knows('one', failed('bad')), knows('two', none), knows('three', failed('worse'))]
    const tried = [
      { name: 'one', result: 'failed', why: 'bad' },
      { name: 'two', result: 'none' },
      { name: 'three', result: 'failed', why: 'worse' },
    ]
    const refused = { kind: 'failed', why: 'bad, worse', tried }
    expect(await authenticateToken(list, 't')).toEqual(refused)
    expect(await bearerTokenAuthenticator(list, dialect).authenticate(bearer('t'))).toEqual(refused)
    expect(await authenticateToken([knows('two', none)], 't')).toMatchObject({ kind: 'none' })
  })

  test('refuse a request with a token that none of them knows', async () => {
    const subject = bearerTokenAuthenticator([knows('one', none), knows('two', none)], dialect)
    expect(await subject.authenticate(bearer('t'))).toEqual({
      kind: 'failed',
      why: 'invalid bearer token',
      tried: [
        { name: 'one', result: 'none' },
        { name: 'two', result: 'none' },
      ],
    })
    expect(await subject.authenticate(request())).toMatchObject({ kind: 'none' })
    const other = bearerTokenAuthenticator([knows('one', jane)], dialect)
    expect(other.name).toBe('bearer-token')
    asked.length = 0
    expect(await other.authenticate(bearer('t'))).toEqual({ ...jane, by: 'one' })
    expect(asked).toEqual(['one t'])
  })

  test('of tokens without audiences answer for those of the server alone', async () => {
    asked.length = 0
    const subject = forOwnAudiences(knows('one', jane), ['api', 'other'])
    expect(subject.name).toBe('one')
    expect(await subject.authenticateToken('t', [])).toEqual(jane)
    const both = await subject.authenticateToken('t', ['vault', 'other', 'api'])
    expect(both).toEqual({ ...jane, audiences: ['other', 'api'] })
    expect(asked).toEqual(['one t', 'one t'])
    expect(await subject.authenticateToken('t', ['vault'])).toMatchObject({ kind: 'none' })
    expect(asked).toHaveLength(2)
    const bad = forOwnAudiences(knows('one', failed('bad')), ['api'])
    expect(await bad.authenticateToken('t', ['api'])).toEqual(failed('bad'))
  })
})
