/** Tokens of outside issuers, without an issuer: whose signature, audience and time hold, and how long that is remembered. */
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { IssuerKeys } from '../../../components/api-server/authn/oidc/issuer-keys.ts'
import { jwtAuthenticator } from '../../../components/api-server/authn/oidc/jwt-authenticator.ts'
import { createTokenVerifier } from '../../../components/api-server/authn/oidc/verified-token.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Signer {
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  readonly jwk: JWK
}

const issuerUrl = 'https://issuer'
let ours: Signer
let foreign: Signer

async function signer(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } }
}

beforeAll(async () => {
  ours = await signer('one')
  foreign = await signer('one')
})

/** The issuer's keys; `later` are what it has when it is asked again. */
function keysOf(first: readonly JWK[] | undefined, later?: readonly JWK[]) {
  const asked: (string | undefined)[] = []
  const keys: IssuerKeys & { generation: number } = {
    find: async (keyId) => {
      asked.push(keyId)
      return first
    },
    findOthers: async (than) => {
      asked.push('others')
      return later ?? than
    },
    found: Promise.resolve(),
    generation: 1,
    run: async () => {},
  }
  return { keys, asked }
}

const clock = () => new FakeClock('2025-01-01T00:00:00Z')
const nowS = Date.parse('2025-01-01T00:00:00Z') / 1000
const good = { iss: issuerUrl, aud: 'client', sub: 'jane', exp: nowS + 3600 }
const sign = (claims: object, by = ours, header: object = { kid: 'one' }): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', ...header }).sign(by.privateKey)

function setUp(first: readonly JWK[] | undefined = [ours.jwk], later?: readonly JWK[]) {
  const { keys, asked } = keysOf(first, later)
  const verify = createTokenVerifier({ algorithms: ['RS256', 'ES256'], clock: clock() })
  const check = (token: string) => verify(token, { issuerUrl, audiences: ['client', 'b'], keys })
  return { check, asked }
}

describe('a signature', () => {
  const unsigned = 'oidc: verify token: failed to verify signature'

  test('is made by a key of the issuer', async () => {
    const { check, asked } = setUp()
    expect(await check(await sign(good))).toEqual(good)
    expect(asked).toEqual(['one'])
    expect(await check(await sign(good, foreign))).toBe(unsigned)
    expect(asked).toEqual(['one', 'one', 'others'])
    const [head, body, signature] = (await sign(good)).split('.')
    const forged = Buffer.from(JSON.stringify({ ...good, sub: 'admin' })).toString('base64url')
    expect(await check(`${head}.${forged}.${signature}`)).toBe(unsigned)
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await check(`${none}.${body}.`)).toBe(unsigned)
    expect(await check('junk')).toBe('oidc: malformed jwt')
  })

  test('waits for the keys of the issuer', async () => {
    const { check } = setUp([])
    expect(await check(await sign(good))).toBe(unsigned)
    const { keys } = keysOf(undefined)
    const verify = createTokenVerifier({ algorithms: ['ES256'], clock: clock() })
    expect(await verify(await sign(good), { issuerUrl, audiences: ['client'], keys })).toBe(
      'oidc: authenticator not initialized',
    )
  })

  test('may be of a key that the issuer has since it was asked', async () => {
    const { check } = setUp([foreign.jwk], [ours.jwk])
    expect(await check(await sign(good))).toEqual(good)
  })

  test('is looked for among the keys of its name, and those without a name', async () => {
    const { kid: _, ...nameless } = ours.jwk
    const other = { ...ours.jwk, kid: 'two' }
    expect(await setUp([foreign.jwk, ours.jwk]).check(await sign(good))).toEqual(good)
    expect(await setUp([foreign.jwk, nameless]).check(await sign(good))).toEqual(good)
    expect(await setUp([other]).check(await sign(good))).toBe(unsigned)
    expect(await setUp([foreign.jwk, other]).check(await sign(good, ours, {}))).toEqual(good)
  })

  test('is of an algorithm that is taken, and that its key is for', async () => {
    const { alg: _, ...any } = ours.jwk
    expect(await setUp([any]).check(await sign(good))).toEqual(good)
    expect(await setUp([{ ...any, alg: 'RS256' }]).check(await sign(good))).toBe(unsigned)
    const { keys } = keysOf([any])
    const verify = createTokenVerifier({ algorithms: ['RS256'], clock: clock() })
    expect(await verify(await sign(good), { issuerUrl, audiences: ['client'], keys })).toBe(
      unsigned,
    )
  })

  test('is of no key that cannot be read, or is of another kind', async () => {
    const ed = await generateKeyPair('EdDSA')
    const odd: JWK[] = [
      { kty: 'EC', kid: 'one' },
      { ...(await exportJWK(ed.publicKey)), kid: 'one' },
    ]
    expect(await setUp([...odd, ours.jwk]).check(await sign(good))).toEqual(good)
    expect(await setUp(odd).check(await sign(good))).toBe(unsigned)
    const { keys } = keysOf(odd)
    const verify = createTokenVerifier({ algorithms: ['EdDSA', 'Ed25519'], clock: clock() })
    const token = await new SignJWT(good)
      .setProtectedHeader({ alg: 'EdDSA', kid: 'one' })
      .sign(ed.privateKey)
    expect(await verify(token, { issuerUrl, audiences: ['client'], keys })).toBe(unsigned)
  })
})

describe('claims', () => {
  const checked = async (change: object) => await setUp().check(await sign({ ...good, ...change }))

  test.each<[object, string]>([
    [{ iss: 'https://other' }, 'oidc: id token issued by a different provider'],
    [{ iss: undefined }, 'oidc: id token issued by a different provider'],
    [{ aud: undefined }, 'oidc: the token has no audience'],
    [{ aud: 7 }, 'oidc: the token has no audience'],
    [{ aud: ['client', 7] }, 'oidc: the token has no audience'],
    [{ aud: 'other' }, 'oidc: expected audience in ["client","b"]'],
    [{ aud: [] }, 'oidc: expected audience in ["client","b"]'],
    [{ exp: undefined }, 'oidc: the token has no expiry'],
    [{ exp: '2030' }, 'oidc: the token has no expiry'],
    [{ exp: nowS - 1 }, 'oidc: token is expired'],
    [{ nbf: 'now' }, 'oidc: nbf is no number'],
    [{ nbf: nowS + 301 }, 'oidc: token is not valid yet'],
  ])('%j are refused: %s', async (change, why) => {
    expect(await checked(change)).toBe(why)
  })

  test.each<object>([{ aud: ['x', 'b'] }, { exp: nowS }, { nbf: nowS + 300 }, { nbf: nowS - 1 }])(
    '%j are taken',
    async (change) => {
      expect(await checked(change)).toEqual({ ...good, ...change })
    },
  )

  test('are one object, in which nothing is given twice, and of no great depth', async () => {
    const { CompactSign } = await import('jose')
    const of = async (payload: string) => {
      const token = await new CompactSign(Buffer.from(payload))
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .sign(ours.privateKey)
      return await setUp().check(token)
    }
    expect(await of(JSON.stringify(good))).toEqual(good)
    const fault = 'oidc: failed to unmarshal claims'
    for (const payload of ['[]', 'null', '7', '"x"', '{', '']) {
      expect([payload, await of(payload)]).toEqual([payload, fault])
    }
    expect(await of('{"sub":"a","sub":"b"}')).toBe('oidc: a claim is given twice')
    const nested = (depth: number) =>
      JSON.stringify(good).replace('}', `,"x":${'['.repeat(depth)}${']'.repeat(depth)}}`)
    expect(await of(nested(99))).toMatchObject(good)
    expect(await of(nested(101))).toBe(fault)
  })
})

describe('an authenticator of one issuer', () => {
  const config = {
    issuerUrl,
    discoveryUrl: undefined,
    certificateAuthority: undefined,
    audiences: ['client'],
    claimRules: [],
    username: { claim: 'sub', prefix: '' },
    groups: undefined,
    uid: undefined,
    extra: [],
    userRules: [],
  }

  function start() {
    const { keys, asked } = keysOf([ours.jwk])
    const time = clock()
    const subject = jwtAuthenticator({
      config,
      keys,
      algorithms: ['ES256'],
      credentialIdKey: 'credential',
      keysOfOthers: () => undefined,
      clock: time,
    })
    const ask = async (token: string) => await subject.authenticateToken(token, [])
    return { subject, ask, asked, keys, time }
  }
  const jane = { kind: 'user', user: { name: 'jane', groups: [] } }

  test('leaves the tokens of others, and what is too long, to others', async () => {
    const { subject, ask, asked } = start()
    expect(subject.name).toBe('oidc')
    expect(await ask(await sign({ ...good, iss: 'https://other' }))).toEqual({ kind: 'none' })
    expect(await ask('junk')).toEqual({ kind: 'none' })
    const long = await sign({ ...good, padding: 'x'.repeat(12_300) })
    expect(await ask(long)).toEqual({ kind: 'none', why: 'too long for a token' })
    expect(asked).toEqual([])
  })

  test('names the user, and the token by its id', async () => {
    const { ask } = start()
    expect(await ask(await sign(good))).toEqual(jane)
    expect(await ask(await sign({ ...good, jti: '' }))).toEqual(jane)
    expect(await ask(await sign({ ...good, jti: 7 }))).toEqual(jane)
    expect(await ask(await sign({ ...good, jti: 'a' }))).toEqual({
      kind: 'user',
      user: { name: 'jane', groups: [], extra: { credential: ['JTI=a'] } },
    })
    expect(await ask(await sign({ ...good, sub: '' }))).toEqual({
      kind: 'failed',
      why: 'oidc: the username is empty',
    })
    expect(await ask(await sign(good, foreign))).toMatchObject({ kind: 'failed' })
  })

  test('remembers a token for ten seconds', async () => {
    const { ask, asked, time } = start()
    const token = await sign(good)
    expect(await ask(token)).toEqual(jane)
    await time.step(9_999)
    expect(await ask(token)).toEqual(jane)
    expect(asked).toHaveLength(1)
    await time.step(1)
    expect(await ask(token)).toEqual(jane)
    expect(asked).toHaveLength(2)
  })

  test('remembers it no longer than it is good', async () => {
    const { ask, time } = start()
    const token = await sign({ ...good, exp: nowS + 5 })
    expect(await ask(token)).toEqual(jane)
    await time.step(4_999)
    expect(await ask(token)).toEqual(jane)
    await time.step(2)
    expect(await ask(token)).toEqual({ kind: 'failed', why: 'oidc: token is expired' })
  })

  test('looks at it anew when the issuer has other keys', async () => {
    const { ask, asked, keys } = start()
    const token = await sign(good)
    expect(await ask(token)).toEqual(jane)
    keys.generation += 1
    expect(await ask(token)).toEqual(jane)
    expect(asked).toHaveLength(2)
    expect(await ask(token)).toEqual(jane)
    expect(asked).toHaveLength(2)
  })

  test('remembers no refusal', async () => {
    const { ask, asked } = start()
    const token = await sign(good, foreign)
    await ask(token)
    await ask(token)
    expect(asked).toEqual(['one', 'others', 'one', 'others'])
  })
})
