import { describe, expect, test } from 'vitest'
import type {
  AuthenticationResult,
  Authenticator,
  TokenAuthenticator,
} from '../../../components/api-server/authn/authenticator.ts'
import {
  bearerToken,
  bearerTokenAuthenticator,
} from '../../../components/api-server/authn/bearer-token.ts'
import { authenticateBy } from '../../../components/api-server/authn/union.ts'
import type { HttpRequest } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'

const always = (result: AuthenticationResult): Authenticator => ({
  name: 'x',
  authenticate: () => result,
})
const later = (result: AuthenticationResult): Authenticator => ({
  name: 'y',
  authenticate: () => Promise.resolve(result),
})
const jane: AuthenticationResult = { kind: 'user', user: { name: 'jane', groups: ['a'] } }
const none: AuthenticationResult = { kind: 'none' }
const failed: AuthenticationResult = { kind: 'failed', why: 'bad' }
const on = { isEnabled: true }
const request = (headers: HttpRequest['headers'] = {}, url = '/api'): HttpRequest =>
  ({ url, headers }) as HttpRequest

describe('authentication as a whole', () => {
  test.each([always, later])(
    '[AUTHN-003] [AUTHN-004] any that succeeds decides, even after a failure',
    async (as) => {
      for (const list of [
        [as(none), as(jane)],
        [as(failed), as(jane)],
        [as(jane), as(failed)],
      ]) {
        expect(await authenticateBy(list, on)(request())).toMatchObject({
          kind: 'user',
          user: { name: 'jane' },
        })
      }
    },
  )

  test('[AUTHN-005] everyone authenticated is in system:authenticated, once', () => {
    expect(authenticateBy([always(jane)], on)(request())).toEqual({
      kind: 'user',
      user: { name: 'jane', groups: ['a', 'system:authenticated'] },
    })
    const has = { kind: 'user', user: { name: 'x', groups: ['system:authenticated'] } } as const
    expect(authenticateBy([always(has)], on)(request())).toEqual(has)
  })

  test('[AUTHN-029] [AUTHN-030] without credentials the user is system:anonymous', () => {
    expect(authenticateBy([always(none)], on)(request())).toEqual({
      kind: 'user',
      user: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
    })
  })

  test('[AUTHN-047] without anonymous access a request without credentials is refused', () => {
    const refused = { kind: 'unauthorized' }
    expect(authenticateBy([], { isEnabled: false })(request())).toMatchObject(refused)
  })

  test('anonymous access may be limited to paths', () => {
    const ask = authenticateBy([], { isEnabled: true, paths: ['/livez'] })
    expect(ask(request({}, '/livez?verbose'))).toMatchObject({ kind: 'user' })
    expect(ask(request({}, '/livez/x'))).toMatchObject({ kind: 'unauthorized' })
  })

  test.each([always, later])(
    '[AUTHN-033] a bad credential is refused, never anonymous',
    async (as) => {
      expect(await authenticateBy([as(failed), as(none)], on)(request())).toMatchObject({
        kind: 'unauthorized',
      })
    },
  )
})

describe('bearer tokens', () => {
  const dialect = dialects.kubernetes
  const read = (headers: HttpRequest['headers']) => bearerToken(request(headers), dialect)

  test('[AUTHN-017] the token is read from Authorization: Bearer, and from nothing else', () => {
    expect(read({ authorization: 'Bearer abc' })).toBe('abc')
    expect(read({ authorization: ' bearer abc ' })).toBe('abc')
    for (const authorization of ['Basic abc', 'abc', 'Bearer', 'Bearer ', 'Bearerabc', '']) {
      expect([authorization, read({ authorization })]).toEqual([authorization, undefined])
    }
  })

  test('a WebSocket may carry it as a protocol', () => {
    const encoded = Buffer.from('abc').toString('base64url')
    const protocol = `base64url.bearer.authorization.k8s.io.${encoded}, v4.channel.k8s.io`
    expect(read({ upgrade: 'websocket', 'sec-websocket-protocol': protocol })).toBe('abc')
    expect(read({ 'sec-websocket-protocol': protocol })).toBeUndefined()
  })

  test('a token that nobody knows is a failure', async () => {
    const knows = (token: string): TokenAuthenticator => ({
      name: token,
      authenticateToken: (presented) => (presented === token ? jane : none),
    })
    const subject = bearerTokenAuthenticator([knows('one'), knows('two')], dialect)
    const ask = (token: string) =>
      subject.authenticate(request({ authorization: `Bearer ${token}` }))
    expect(await ask('two')).toMatchObject({ kind: 'user' })
    expect(await ask('three')).toMatchObject({ kind: 'failed' })
    expect(subject.authenticate(request())).toMatchObject({ kind: 'none' })
  })
})
