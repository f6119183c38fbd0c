import { describe, expect, test } from 'vitest'
import type {
  AuthenticationResult,
  Authenticator,
} from '../../../components/api-server/authn/authenticator.ts'
import { authenticateBy } from '../../../components/api-server/authn/union.ts'
import type { HttpRequest } from '../../../components/api-server/request/request.ts'

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
const request = (url = '/api'): HttpRequest => ({ url }) as HttpRequest

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
      by: 'x',
      user: { name: 'jane', groups: ['a', 'system:authenticated'] },
    })
    for (const group of ['system:authenticated', 'system:unauthenticated']) {
      const has = { kind: 'user', user: { name: 'x', groups: [group] } } as const
      expect(authenticateBy([always(has)], on)(request())).toEqual({ ...has, by: 'x' })
    }
  })

  test('the same user of an authenticator is the same user of every request', () => {
    const ask = authenticateBy([always(jane)], on)
    expect(ask(request('/a'))).toBe(ask(request('/b')))
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
    expect(ask(request('/livez?verbose'))).toMatchObject({ kind: 'user' })
    expect(ask(request('/livez'))).toMatchObject({ kind: 'user' })
    expect(ask(request('/livez/x'))).toMatchObject({ kind: 'unauthorized' })
    expect(ask(request('/x?/livez'))).toMatchObject({ kind: 'unauthorized' })
    const off = { isEnabled: false, paths: ['/livez'] }
    expect(authenticateBy([], off)(request('/livez'))).toMatchObject({ kind: 'unauthorized' })
  })

  test('anonymous access may change while the server runs', () => {
    let isEnabled = true
    const ask = authenticateBy([], () => ({ isEnabled }))
    expect(ask(request())).toMatchObject({ kind: 'user' })
    isEnabled = false
    expect(ask(request())).toMatchObject({ kind: 'unauthorized' })
  })

  test.each([always, later])(
    '[AUTHN-033] a bad credential is refused, never anonymous',
    async (as) => {
      expect(await authenticateBy([as(failed), as(none)], on)(request())).toMatchObject({
        kind: 'unauthorized',
      })
      expect(await authenticateBy([as(none), as(failed)], on)(request())).toMatchObject({
        kind: 'unauthorized',
      })
    },
  )

  test('a refusal says what every authenticator found, in their order', async () => {
    const worse: AuthenticationResult = { kind: 'failed', why: 'worse' }
    const tried = { kind: 'failed', why: 'all', tried: [{ name: 'z', result: 'none' }] } as const
    const list = [always(failed), always({ kind: 'none', why: 'no token' }), later(worse)]
    expect(await authenticateBy(list, on)(request())).toEqual({
      kind: 'unauthorized',
      why: 'x: bad; y: worse',
      tried: [
        { name: 'x', result: 'failed', why: 'bad' },
        { name: 'x', result: 'none', why: 'no token' },
        { name: 'y', result: 'failed', why: 'worse' },
      ],
    })
    expect(authenticateBy([always(tried), always(none)], on)(request())).toMatchObject({
      tried: [
        { name: 'z', result: 'none' },
        { name: 'x', result: 'none' },
      ],
    })
    expect(authenticateBy([always(none)], { isEnabled: false })(request())).toEqual({
      kind: 'unauthorized',
      why: 'no credentials',
      tried: [{ name: 'x', result: 'none' }],
    })
  })
})
