/** The token file, the token webhook and the authenticating proxy by themselves, without a server. */
import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { issue } from '../../../certs/pki.ts'
import { clientProfile } from '../../../certs/profiles.ts'
import { decodePem } from '../../../certs/pem.ts'
import {
  requestHeaderAuthenticator,
  type RequestHeaderOptions,
} from '../../../components/api-server/authn/request-header.ts'
import {
  parseCsv,
  parseStaticTokens,
  staticTokenAuthenticator,
} from '../../../components/api-server/authn/static-token-file.ts'
import { tokenWebhookAuthenticator } from '../../../components/api-server/authn/token-webhook.ts'
import { WebhookError } from '../../../components/api-server/egress/webhook-client.ts'
import type {
  HttpRequest,
  PeerCertificate,
} from '../../../components/api-server/request/request.ts'
import { readBundle } from '../../../components/api-server/x509/bundle.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('the token file', () => {
  test('is CSV: quoted fields hold commas, line ends and doubled quotes', () => {
    expect(parseCsv('a,b\nc,d\r\n"e,\n""f""",g')).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['e,\n"f"', 'g'],
    ])
    expect(parseCsv('\n\r\na,\n')).toEqual([['a', '']])
    expect(parseCsv('a,')).toEqual([['a', '']])
    expect(parseCsv('')).toEqual([])
    expect(parseCsv('a\nb')).toEqual([['a'], ['b']])
    for (const [source, line] of [
      ['a"b', 1],
      ['a"b\nc,d', 1],
      ['a,b\n"c', 2],
      ['a\n"b"c', 2],
    ] as const) {
      expect(() => parseCsv(source)).toThrow(`line ${line}: a quote is out of place`)
    }
  })

  test('names users by their tokens, with the groups of every further column', () => {
    const tokens = parseStaticTokens(' t1 , jane , 7 ,"a, b,,", c \nt22,bob,')
    const subject = staticTokenAuthenticator(tokens)
    expect(subject.name).toBe('static-token')
    const ask = (token: string) => subject.authenticateToken(token, [])
    expect(ask('t1')).toEqual({
      kind: 'user',
      user: { name: 'jane', uid: '7', groups: ['a', 'b', 'c'] },
    })
    expect(ask('t22')).toEqual({ kind: 'user', user: { name: 'bob', uid: '', groups: [] } })
    for (const token of ['', 't', 't2', 't23', 'jane', ' t1']) {
      expect(ask(token)).toEqual({ kind: 'none', why: 'not in the token file' })
    }
  })

  test.each([
    ['t,jane', 'record 1: must have at least 3 columns (token, user name, user uid), found 2'],
    ['t,jane,1\n,bob,2', 'record 2: the token is empty'],
    ['t, ,1', 'record 1: the user name is empty'],
  ])('%j is refused', (source, why) => {
    expect(() => parseStaticTokens(source)).toThrow(why)
  })
})

describe('the token webhook', () => {
  type Status = Readonly<Record<string, unknown>>

  function setUp(configuredAudiences: readonly string[] = []) {
    const asked: unknown[] = []
    const answer: { status: Status; error?: Error } = {
      status: { authenticated: true, user: { username: 'jane' } },
    }
    const clock = new FakeClock()
    const subject = tokenWebhookAuthenticator({
      client: {
        review: async (review) => {
          asked.push(review)
          if (answer.error !== undefined) throw answer.error
          return answer.status
        },
        close: () => {},
      },
      apiVersion: 'authentication.k8s.io/v1',
      configuredAudiences,
      cacheTtlMs: 2000,
      clock,
    })
    const ask = async (token = 't', audiences: string[] = []) =>
      await subject.authenticateToken(token, audiences)
    const saying = async (status: Status, audiences?: string[]) => {
      answer.status = status
      await clock.step(2000)
      return await ask('t', audiences)
    }
    return { subject, ask, saying, asked, answer, clock }
  }
  const jane = { kind: 'user', user: { name: 'jane', groups: [] } }

  test('is asked about the token, and about audiences where there are any', async () => {
    const review = (spec: object) => ({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec,
    })
    const plain = setUp()
    expect(plain.subject.name).toBe('token-webhook')
    await plain.ask('t')
    await plain.ask('t', ['vault'])
    expect(plain.asked).toEqual([
      review({ token: 't' }),
      review({ token: 't', audiences: ['vault'] }),
    ])
    const configured = setUp(['api'])
    await configured.ask('t')
    expect(configured.asked).toEqual([review({ token: 't', audiences: ['api'] })])
    expect(await plain.ask('x'.repeat(16_385))).toEqual({
      kind: 'none',
      why: 'too long for a token',
    })
    await plain.ask('x'.repeat(16_384))
    expect(plain.asked).toHaveLength(3)
  })

  test('names the user as far as it is well-formed', async () => {
    const { saying } = setUp()
    const named = async (user: unknown) => await saying({ authenticated: true, user })
    expect(await named({ username: 'jane' })).toEqual(jane)
    const whole = {
      username: 'jane',
      uid: '7',
      groups: ['a', 7, 'b'],
      extra: { k: ['v', 1], l: 'x' },
    }
    expect(await named(whole)).toEqual({
      kind: 'user',
      user: { name: 'jane', uid: '7', groups: ['a', 'b'], extra: { k: ['v'], l: [] } },
    })
    expect(await named({ username: 'jane', uid: '', groups: 'a', extra: {} })).toEqual(jane)
    expect(await named({ username: 'jane', uid: 7, extra: null })).toEqual(jane)
    expect(await named({ username: 'jane', extra: 'ab' })).toEqual(jane)
    for (const odd of [undefined, null, 'jane', {}, { username: '' }, { username: 7 }]) {
      expect(await named(odd)).toEqual({
        kind: 'failed',
        why: 'the token webhook named no user',
      })
    }
  })

  test('refuses, and its words do not repeat the token', async () => {
    const { saying } = setUp()
    const invalid = { kind: 'failed', why: 'invalid bearer token' }
    expect(await saying({ authenticated: false, user: { username: 'jane' } })).toEqual(invalid)
    expect(await saying({ authenticated: 'true', user: { username: 'jane' } })).toEqual(invalid)
    expect(await saying({ error: '' })).toEqual(invalid)
    expect(await saying({ error: 7 })).toEqual(invalid)
    const { saying: say, ask, answer } = setUp()
    await say({})
    answer.status = { error: 'secret is odd: secret' }
    expect(await ask('secret')).toEqual({
      kind: 'failed',
      why: '<token> is odd: <token>',
    })
  })

  test('answers for the audiences that both sides know', async () => {
    const of = async (configured: string[], answered: unknown, audiences?: string[]) =>
      await setUp(configured).saying(
        { authenticated: true, user: { username: 'jane' }, audiences: answered },
        audiences,
      )
    const others = { kind: 'failed', why: 'the token is for other audiences' }
    expect(await of([], ['x'])).toEqual(jane)
    expect(await of(['api', 'b'], ['b', 'c'])).toEqual({ ...jane, audiences: ['b'] })
    expect(await of(['api'], ['x'])).toEqual(others)
    expect(await of(['api'], undefined)).toEqual({ ...jane, audiences: ['api'] })
    expect(await of(['api'], ['vault'], ['vault'])).toEqual({ ...jane, audiences: ['vault'] })
    expect(await of(['api'], undefined, ['vault'])).toEqual(others)
    expect(await of(['api'], undefined, ['vault', 'api'])).toEqual({ ...jane, audiences: ['api'] })
  })

  test('is asked once for what it knows: for its time, and by all who ask at once', async () => {
    const { ask, asked, clock, answer } = setUp(['api'])
    expect(await Promise.all([ask('t'), ask('t')])).toHaveLength(2)
    expect(asked).toHaveLength(1)
    await clock.step(1999)
    await ask('t')
    expect(asked).toHaveLength(1)
    await ask('u')
    // The same audiences, asked for by name, are another question.
    await ask('t', ['api'])
    await ask('t', ['b'])
    expect(asked).toHaveLength(4)
    await ask('t', ['b'])
    expect(asked).toHaveLength(4)
    await clock.step(1)
    await ask('t')
    expect(asked).toHaveLength(5)
    answer.status = {}
    await ask('v')
    await ask('v')
    expect(asked).toHaveLength(6)
  })

  test('that fails refuses, and is asked again', async () => {
    const { ask, asked, answer } = setUp()
    answer.error = new WebhookError('down')
    expect(await ask()).toEqual({ kind: 'failed', why: 'down' })
    delete answer.error
    expect(await ask()).toEqual(jane)
    expect(asked).toHaveLength(2)
    answer.error = new TypeError('a bug')
    await expect(ask('other')).rejects.toThrow('a bug')
  })
})

describe('an authenticating proxy', () => {
  const nowMs = Date.parse('2025-01-01T00:00:00Z')
  const proxies = createAuthority({ commonName: 'front-proxy-ca', nowMs })
  const strangers = createAuthority({ commonName: 'strangers', nowMs })
  const peerOf = (authority = proxies, commonName = 'proxy'): PeerCertificate => {
    const profile = clientProfile({ commonName, organizations: [] })
    const { certificatePem } = issue(authority, { profile, nowMs })
    return { der: decodePem(certificatePem)[0]?.der as Buffer, intermediates: [] }
  }
  const authorities = readBundle(proxies.certificatePem)

  function ask(
    headers: Record<string, string[]>,
    {
      peer = peerOf(),
      ...options
    }: Partial<RequestHeaderOptions> & { peer?: PeerCertificate | null } = {},
  ) {
    const subject = requestHeaderAuthenticator({
      authorities: () => authorities,
      allowedNames: [],
      usernameHeaders: ['X-User', '', 'X-Other-User'],
      uidHeaders: ['X-Uid'],
      groupHeaders: ['X-Group', 'X-More-Group'],
      extraPrefixes: ['X-Extra-', 'X-Also-', ''],
      clock: new FakeClock(nowMs),
      ...options,
    })
    const request = {
      peer: peer ?? undefined,
      headers,
      values: (name: string) => headers[name] ?? [],
    } as unknown as HttpRequest
    return subject.authenticate(request)
  }
  const none = { kind: 'none', why: 'no user header, or no client certificate' }

  test('names a user, his uid, groups and extra', () => {
    expect(ask({ 'x-user': ['jane'] })).toEqual({
      kind: 'user',
      user: { name: 'jane', groups: [] },
    })
    expect(
      ask({
        'x-user': ['jane', 'admin'],
        'x-other-user': ['bob'],
        'x-uid': ['7', '8'],
        'x-group': ['a', '', 'b'],
        'x-more-group': ['c'],
        'x-extra-scopes': ['p'],
        'x-also-scopes': ['q', 'r'],
        other: ['x'],
      }),
    ).toEqual({
      kind: 'user',
      user: {
        name: 'jane',
        uid: '7',
        groups: ['a', 'b', 'c'],
        extra: { scopes: ['p', 'q', 'r'] },
      },
    })
    expect(ask({ 'x-user': [''], 'x-other-user': ['bob'] })).toMatchObject({
      user: { name: 'bob' },
    })
  })

  test('names nobody without a header, and nobody without a certificate', () => {
    expect(ask({})).toEqual(none)
    expect(ask({ 'x-user': [''] })).toEqual(none)
    expect(ask({ 'x-group': ['system:masters'] })).toEqual(none)
    expect(ask({ 'x-user': ['jane'] }, { peer: null })).toEqual(none)
  })

  test('is of the authority, and of the names that are allowed', () => {
    const headers = { 'x-user': ['jane'] }
    expect(ask(headers, { peer: peerOf(strangers) })).toMatchObject({ kind: 'failed' })
    const allowedNames = ['first', 'proxy']
    expect(ask(headers, { allowedNames })).toMatchObject({ kind: 'user' })
    expect(ask(headers, { allowedNames, peer: peerOf(proxies, 'other') })).toEqual({
      kind: 'failed',
      why: 'proxy certificate name "other" is not allowed',
    })
    expect(ask(headers, { allowedNames, peer: peerOf(proxies, '') })).toMatchObject({
      kind: 'failed',
    })
    expect(ask({}, { allowedNames, peer: peerOf(proxies, 'other') })).toMatchObject({
      kind: 'failed',
    })
    expect(ask(headers, { peer: peerOf(proxies, 'other') })).toMatchObject({ kind: 'user' })
  })
})
