import { CompactSign } from 'jose'
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { generateKeyPair, privateKeyPem, publicKeyPem } from '../../../certs/keys.ts'
import { createServiceAccountIssuer } from '../../../components/api-server/authn/service-account-issuer.ts'
import {
  parseSigningKey,
  parseVerificationKeys,
  signClaims,
} from '../../../components/api-server/authn/service-account-keys.ts'
import { serviceAccountTokenAuthenticator } from '../../../components/api-server/authn/service-account-token.ts'
import type { ServiceAccountTokenOptions } from '../../../components/api-server/authn/service-account-token.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)
const keys = generateKeyPair()
const signingKey = parseSigningKey(privateKeyPem(keys.privateKey))
const issuer = 'https://kubernetes.default.svc.cluster.local'

function setUp(more: Partial<ServiceAccountTokenOptions> = {}) {
  const reader = new FakeReader()
  const clock = new FakeClock()
  const shared = { apiAudiences: [issuer], reader, clock, dialect }
  const authenticator = serviceAccountTokenAuthenticator({
    ...shared,
    keys: parseVerificationKeys(publicKeyPem(keys.publicKey)),
    issuers: [issuer],
    ...more,
  })
  const server = createServiceAccountIssuer({
    ...shared,
    issuer,
    signingKey,
    verificationKeys: [],
  })
  reader.put(resources.serviceAccounts, { metadata: { namespace: 'a', name: 'b' } })
  reader.put(resources.nodes, { metadata: { name: 'n1' } })
  reader.put(resources.pods, {
    metadata: { namespace: 'a', name: 'p' },
    spec: { serviceAccountName: 'b', nodeName: 'n1' },
  })
  const request = (spec: Record<string, unknown> = {}): Promise<KubeObject> =>
    server.createToken({
      namespace: 'a',
      name: 'b',
      request: { metadata: {}, spec },
    })
  const tokenFor = async (spec: Record<string, unknown> = {}): Promise<string> =>
    (await request(spec))['status'].token as string
  const ask = async (token: string, audiences: string[] = []) =>
    await authenticator.authenticateToken(token, audiences)
  return { reader, clock, server, request, tokenFor, ask }
}

const podRef = { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } }

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >
}

describe('bound tokens', () => {
  test('[AUTHN-023] [AUTHN-024] [AUTHN-025] an issued token is a JWT of its account', async () => {
    const { tokenFor, ask, reader } = setUp()
    const token = await tokenFor()
    expect(token.split('.')).toHaveLength(3)
    const uid = reader.get(resources.serviceAccounts, 'a', 'b')?.metadata.uid
    expect(await ask(token)).toMatchObject({
      kind: 'user',
      audiences: [issuer],
      user: {
        name: 'system:serviceaccount:a:b',
        uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:a'],
      },
    })
  })

  test('a token is known by its id, if it has one', async () => {
    const { tokenFor, ask } = setUp()
    const token = await tokenFor()
    const { jti, ...nameless } = claimsOf(token)
    const extra = { 'authentication.kubernetes.io/credential-id': [`JTI=${jti as string}`] }
    expect(await ask(token)).toMatchObject({ user: { extra } })
    const result = await ask(signClaims(nameless, signingKey))
    expect(result).toMatchObject({ kind: 'user' })
    expect((result as { user: object }).user).not.toHaveProperty('extra')
  })

  test('a token bound to a pod tells its pod and node', async () => {
    const { tokenFor, ask, reader } = setUp()
    const uid = reader.get(resources.pods, 'a', 'p')?.metadata.uid ?? ''
    expect(await ask(await tokenFor(podRef))).toMatchObject({
      user: {
        extra: {
          'authentication.kubernetes.io/pod-name': ['p'],
          'authentication.kubernetes.io/pod-uid': [uid],
          'authentication.kubernetes.io/node-name': ['n1'],
          'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)],
        },
      },
    })
  })

  test('deleting the account, or creating it anew, revokes its tokens at once', async () => {
    const { tokenFor, ask, reader } = setUp()
    const token = await tokenFor()
    expect(await ask(token)).toMatchObject({ kind: 'user' })
    reader.remove(resources.serviceAccounts, 'a', 'b')
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
    reader.put(resources.serviceAccounts, { metadata: { namespace: 'a', name: 'b' } })
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
  })

  test.each([
    ['Pod', resources.pods, 'a', 'p'],
    ['Secret', resources.secrets, 'a', 's'],
    ['Node', resources.nodes, '', 'n1'],
  ] as const)(
    'deleting the bound %s revokes the token',
    async (kind, resource, namespace, name) => {
      const { tokenFor, ask, reader } = setUp()
      reader.put(resources.secrets, { metadata: { namespace: 'a', name: 's' } })
      const token = await tokenFor({ boundObjectRef: { apiVersion: 'v1', kind, name } })
      expect(await ask(token)).toMatchObject({ kind: 'user' })
      const old = reader.get(resource, namespace, name) as KubeObject
      reader.remove(resource, namespace, name)
      expect(await ask(token)).toMatchObject({ kind: 'failed' })
      reader.put(resource, { ...old, metadata: { ...old.metadata, uid: 'another' } })
      expect(await ask(token)).toMatchObject({ kind: 'failed' })
    },
  )

  test('a token expires, one minute late', async () => {
    const { tokenFor, ask, clock } = setUp()
    const token = await tokenFor({ expirationSeconds: 600 })
    await clock.step(660_000)
    expect(await ask(token)).toMatchObject({ kind: 'user' })
    await clock.step(1)
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('a token without an end, or before its time, is refused', async () => {
    const { tokenFor, ask, clock } = setUp()
    const { exp, nbf: _, ...endless } = claimsOf(await tokenFor())
    const always = signClaims({ ...endless, exp }, signingKey)
    expect(await ask(always)).toMatchObject({ kind: 'user' })
    expect(await ask(signClaims(endless, signingKey))).toMatchObject({ kind: 'failed' })
    const inAnHour = Math.floor(clock.now() / 1000) + 3600
    const early = signClaims({ ...endless, exp, nbf: inAnHour }, signingKey)
    expect(await ask(early)).toMatchObject({ kind: 'failed' })
    await clock.step(3_539_999)
    expect(await ask(early)).toMatchObject({ kind: 'failed' })
    await clock.step(1)
    expect(await ask(early)).toMatchObject({ kind: 'user' })
  })

  test('a pod that is being deleted carries its token for one more minute', async () => {
    const { tokenFor, ask, reader, clock } = setUp()
    const token = await tokenFor(podRef)
    const pod = reader.get(resources.pods, 'a', 'p') as KubeObject
    const deletionTimestamp = new Date(clock.now()).toISOString()
    reader.put(resources.pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } })
    await clock.step(60_000)
    expect(await ask(token)).toMatchObject({ kind: 'user' })
    await clock.step(1000)
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('a token of a pod outlives its node, one of the node alone does not', async () => {
    const { tokenFor, ask, reader } = setUp()
    const ofPod = await tokenFor(podRef)
    const ofNode = await tokenFor({
      boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
    })
    const uid = reader.get(resources.nodes, '', 'n1')?.metadata.uid
    const extra = { 'authentication.kubernetes.io/node-uid': [uid] }
    expect(await ask(ofPod)).toMatchObject({ user: { extra } })
    expect(await ask(ofNode)).toMatchObject({ user: { extra } })
    reader.remove(resources.nodes, '', 'n1')
    expect(await ask(ofPod)).toMatchObject({ kind: 'user' })
    expect(await ask(ofNode)).toMatchObject({ kind: 'failed' })
  })

  test('signed claims that do not name one account are refused', async () => {
    const { tokenFor, ask } = setUp()
    const claims = claimsOf(await tokenFor())
    const own = claims['kubernetes.io'] as Record<string, unknown>
    const { name, uid } = own['serviceaccount'] as Record<string, unknown>
    const names = (change: Record<string, unknown>, sub = claims['sub']) => ({
      ...claims,
      sub,
      'kubernetes.io': { ...own, ...change },
    })
    const wrong: Record<string, unknown>[] = [
      { ...claims, sub: 'system:serviceaccount:a:admin' },
      { ...claims, sub: undefined },
      { ...claims, 'kubernetes.io': undefined },
      names({ namespace: '' }, 'system:serviceaccount::b'),
      names({ namespace: 7 }),
      names({ serviceaccount: { name: '', uid } }, 'system:serviceaccount:a:'),
      names({ serviceaccount: { name, uid: '' } }),
      names({ serviceaccount: { name } }),
      names({ serviceaccount: null }),
      names({ serviceaccount: 'b' }),
    ]
    expect(await ask(signClaims(names({}), signingKey))).toMatchObject({ kind: 'user' })
    for (const one of wrong) {
      expect(await ask(signClaims(one, signingKey))).toEqual({
        kind: 'failed',
        why: 'the claims do not name a service account',
      })
    }
  })

  test('audiences are a list or one text, and nothing else counts', async () => {
    const { tokenFor, ask } = setUp()
    const claims = claimsOf(await tokenFor())
    const withAudience = async (aud: unknown) =>
      await ask(signClaims({ ...claims, aud }, signingKey), ['vault'])
    expect(await withAudience('vault')).toMatchObject({ kind: 'user', audiences: ['vault'] })
    expect(await withAudience(['x', 'vault'])).toMatchObject({ audiences: ['vault'] })
    expect(await withAudience('x')).toMatchObject({ kind: 'failed' })
    expect(await withAudience(7)).toMatchObject({ kind: 'failed' })
  })

  test('a token without audiences is for those of the server', async () => {
    const { tokenFor, ask } = setUp()
    const { aud: _, ...claims } = claimsOf(await tokenFor())
    const token = signClaims(claims, signingKey)
    expect(await ask(token)).toMatchObject({ kind: 'user', audiences: [issuer] })
    expect(await ask(token, ['vault'])).toMatchObject({ kind: 'failed' })
  })

  test('where the server has no audiences, every audience will do', async () => {
    const { tokenFor, ask } = setUp({ apiAudiences: [] })
    const token = await tokenFor({ audiences: ['vault'] })
    expect(await ask(token)).toMatchObject({ kind: 'user', audiences: [] })
  })

  test('more than 16 KiB is left to other authenticators', async () => {
    const { tokenFor, ask } = setUp()
    const claims = claimsOf(await tokenFor())
    const long = signClaims({ ...claims, padding: 'x'.repeat(12_300) }, signingKey)
    expect(long.length).toBeGreaterThan(16_384)
    expect(await ask(long)).toMatchObject({ kind: 'none' })
    const shorter = signClaims({ ...claims, padding: 'x'.repeat(11_000) }, signingKey)
    expect(await ask(shorter)).toMatchObject({ kind: 'user' })
  })

  test('a token for another audience is refused, and asked for its own audience accepted', async () => {
    const { tokenFor, ask } = setUp()
    const token = await tokenFor({ audiences: ['vault', 'other'] })
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
    expect(await ask(token, ['x', 'vault'])).toMatchObject({ kind: 'user', audiences: ['vault'] })
  })

  test('a changed, foreign or unsigned token is refused', async () => {
    const { tokenFor, ask } = setUp()
    const token = await tokenFor()
    const [head, body, signature] = token.split('.') as [string, string, string]
    const forged = Buffer.from(
      JSON.stringify({ ...claimsOf(token), sub: 'system:serviceaccount:a:admin' }),
    ).toString('base64url')
    expect(await ask(`${head}.${forged}.${signature}`)).toMatchObject({ kind: 'failed' })
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await ask(`${none}.${body}.`)).toMatchObject({ kind: 'failed' })
    const foreign = parseSigningKey(privateKeyPem(generateKeyPair().privateKey))
    expect(await ask(signClaims(claimsOf(token), foreign))).toMatchObject({ kind: 'failed' })
  })

  test('the public key cannot be used as a shared secret', async () => {
    const { tokenFor, ask } = setUp()
    const secret = new TextEncoder().encode(publicKeyPem(keys.publicKey))
    const body = new TextEncoder().encode(JSON.stringify(claimsOf(await tokenFor())))
    const token = await new CompactSign(body).setProtectedHeader({ alg: 'HS256' }).sign(secret)
    expect(await ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('tokens of other issuers are left to other authenticators', async () => {
    const { tokenFor, ask } = setUp()
    const other = signClaims({ ...claimsOf(await tokenFor()), iss: 'https://x' }, signingKey)
    expect(await ask(other)).toMatchObject({ kind: 'none' })
    expect(await ask('junk')).toMatchObject({ kind: 'none' })
    expect(await ask('a.b.c')).toMatchObject({ kind: 'none' })
    const token = await tokenFor()
    expect(await ask(`${token}.d`)).toMatchObject({ kind: 'none' })
    for (const claims of ['null', '7', '[]', '{"iss":7}']) {
      const [head, , signature] = token.split('.')
      const body = Buffer.from(claims).toString('base64url')
      expect(await ask(`${head}.${body}.${signature}`)).toMatchObject({ kind: 'none' })
    }
  })

  test('a token that does not name its key, or one that is not known, may be of any of them', async () => {
    const { tokenFor, ask } = setUp({
      keys: [generateKeyPair(), keys].flatMap(({ publicKey }) =>
        parseVerificationKeys(publicKeyPem(publicKey)),
      ),
    })
    const body = new TextEncoder().encode(JSON.stringify(claimsOf(await tokenFor())))
    for (const header of [{}, { kid: 'old' }]) {
      const token = await new CompactSign(body)
        .setProtectedHeader({ alg: 'ES256', ...header })
        .sign(keys.privateKey)
      expect(await ask(token)).toMatchObject({ kind: 'user' })
    }
  })

  test('[AUTHN-019] [AUTHN-020] tokens of every given key are accepted, RSA and ECDSA', async () => {
    const rsa = generateKeyPair('rsa')
    const pems = [publicKeyPem(keys.publicKey), publicKeyPem(rsa.publicKey)]
    const { tokenFor, ask } = setUp({ keys: pems.flatMap(parseVerificationKeys) })
    const token = await tokenFor()
    const other = signClaims(claimsOf(token), parseSigningKey(privateKeyPem(rsa.privateKey)))
    expect(await ask(token)).toMatchObject({ kind: 'user' })
    expect(await ask(other)).toMatchObject({ kind: 'user' })
  })
})

describe('token requests', () => {
  async function failure(promise: Promise<unknown>): Promise<{ code: number; message: string }> {
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(StatusError)
    const { code, message } = error as StatusError
    return { code, message }
  }

  test('the answer carries audiences, duration and the time the token ends', async () => {
    const answer = await setUp().request()
    expect(answer).toMatchObject({
      metadata: { name: 'b', namespace: 'a', creationTimestamp: '2025-01-01T00:00:00Z' },
      spec: { audiences: [issuer], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: '2025-01-01T01:00:00Z' },
    })
  })

  test('less than ten minutes is refused', async () => {
    const { request } = setUp()
    expect(await failure(request({ expirationSeconds: 599 }))).toEqual({
      code: 422,
      message:
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    })
    expect((await failure(request({ expirationSeconds: 2 ** 32 + 1 }))).message).toContain('2^32')
  })

  test('an unknown account or bound object is not found', async () => {
    const { request, server } = setUp()
    const missing = { apiVersion: 'v1', kind: 'Pod', name: 'no' }
    expect(await failure(request({ boundObjectRef: missing }))).toEqual({
      code: 404,
      message: 'pods "no" not found',
    })
    const unknown = { namespace: 'a', name: 'no', request: { metadata: {} } }
    expect(await failure(server.createToken(unknown))).toEqual({
      code: 404,
      message: 'serviceaccounts "no" not found',
    })
  })

  test('a token is not bound to a pod of another account, to another life of it, or to anything else', async () => {
    const { request, reader } = setUp()
    reader.put(resources.pods, {
      metadata: { namespace: 'a', name: 'q' },
      spec: { serviceAccountName: 'z' },
    })
    const ref = (change: Record<string, string>) => ({
      boundObjectRef: { ...podRef.boundObjectRef, ...change },
    })
    expect(await failure(request(ref({ name: 'q' })))).toMatchObject({ code: 400 })
    expect(await failure(request(ref({ uid: 'old' })))).toMatchObject({ code: 409 })
    const node = (uid: string) => ref({ kind: 'Node', name: 'n1', uid })
    expect(await failure(request(node('old')))).toEqual({
      code: 409,
      message: expect.stringContaining('Operation cannot be fulfilled on Node "n1"'),
    })
    const uid = reader.get(resources.nodes, '', 'n1')?.metadata.uid ?? ''
    expect((await request(node(uid)))['status'].token).toEqual(expect.any(String))
    expect(await failure(request(ref({ kind: 'ConfigMap' })))).toEqual({
      code: 400,
      message: 'cannot bind token to object of type /v1, Kind=ConfigMap',
    })
  })

  test("the projected volume's token is extended to a year, but says one hour", async () => {
    const { request } = setUp()
    const answer = await request({ ...podRef, expirationSeconds: 3607 })
    expect(answer['status'].expirationTimestamp).toBe('2025-01-01T01:00:07Z')
    const claims = claimsOf(answer['status'].token as string) as { exp: number; iat: number }
    expect(claims.exp - claims.iat).toBe(365 * 86_400)
    expect(claims).toMatchObject({ 'kubernetes.io': { warnafter: claims.iat + 3607 } })
  })

  test('only a token for the server alone is extended, of a pod, for that very time', async () => {
    const { request } = setUp()
    const lifetime = async (spec: Record<string, unknown>): Promise<number> => {
      const token = (await request(spec))['status'].token as string
      const { exp, iat } = claimsOf(token) as { exp: number; iat: number }
      return exp - iat
    }
    const seconds = { expirationSeconds: 3607 }
    expect(await lifetime({ ...podRef, ...seconds, audiences: [issuer] })).toBe(365 * 86_400)
    expect(await lifetime({ ...podRef, ...seconds, audiences: [issuer, 'vault'] })).toBe(3607)
    expect(await lifetime({ ...podRef, expirationSeconds: 3608 })).toBe(3608)
    expect(await lifetime(seconds)).toBe(3607)
  })

  test('names the account of its path, or none', async () => {
    const { server } = setUp()
    const make = (metadata: Record<string, string>) =>
      server.createToken({ namespace: 'a', name: 'b', request: { metadata } })
    await make({ name: 'b', namespace: 'a' })
    await make({ name: '', namespace: '' })
    for (const [part, message] of [
      ['name', 'metadata.name: Invalid value: "x": must match the service account name if'],
      ['namespace', 'metadata.namespace: Invalid value: "x": must match the service account nam'],
    ] as const) {
      expect(await failure(make({ [part]: 'x' }))).toEqual({
        code: 422,
        message: expect.stringContaining(message),
      })
    }
  })

  test('keys are of RSA or ECDSA, at least one, and each is published once', async () => {
    const pem = publicKeyPem(keys.publicKey)
    const another = publicKeyPem(generateKeyPair().publicKey)
    expect(parseVerificationKeys(`text\n${pem}\n${another}`)).toHaveLength(2)
    const parameters =
      '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n'
    expect(parseVerificationKeys(parameters + pem)).toHaveLength(1)
    for (const text of ['', 'x', parameters]) {
      expect(() => parseVerificationKeys(text)).toThrow(
        'data does not contain any valid RSA or ECDSA public keys',
      )
    }
    const ed25519 = generateKeyPairSync('ed25519').publicKey
    const other = ed25519.export({ type: 'spki', format: 'pem' }).toString()
    expect(() => parseVerificationKeys(other)).toThrow(
      'data does not contain any valid RSA or ECDSA public keys',
    )
    expect(parseVerificationKeys(other + pem)).toHaveLength(1)
    const reader = new FakeReader()
    const server = createServiceAccountIssuer({
      apiAudiences: [issuer],
      reader,
      clock: new FakeClock(),
      dialect,
      issuer,
      signingKey,
      verificationKeys: parseVerificationKeys(pem + another),
    })
    const published = server.jwks().keys.map(({ kid }) => kid)
    expect(published).toHaveLength(2)
    expect(published[0]).toBe(signingKey.public.keyId)
  })

  test.each([
    ['rsa', 'pkcs1'],
    ['rsa', 'pkcs8'],
    ['ec', 'sec1'],
    ['ec', 'pkcs8'],
  ] as const)('a private key signs, and verifies by its public half: %s in %s', (kind, type) => {
    const { privateKey } =
      kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type, format: 'pem' } as never).toString()
    const parameters =
      '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n'
    const signer = parseSigningKey(parameters + pem)
    expect(parseVerificationKeys(pem).map(({ keyId }) => keyId)).toEqual([signer.public.keyId])
    expect(() => parseSigningKey(parameters)).toThrow(
      'data does not contain a valid RSA or ECDSA private key',
    )
  })

  test('the key set and the discovery document let others verify', async () => {
    const { server, tokenFor } = setUp()
    const [key] = server.jwks().keys
    const header = JSON.parse(
      Buffer.from((await tokenFor()).split('.')[0] ?? '', 'base64url').toString(),
    ) as { kid: string; alg: string }
    expect(key).toMatchObject({
      use: 'sig',
      kty: 'EC',
      kid: header.kid,
      alg: 'ES256',
      crv: 'P-256',
    })
    expect(key).not.toHaveProperty('d')
    expect(server.openidConfiguration('https://x/openid/v1/jwks')).toEqual({
      issuer,
      jwks_uri: 'https://x/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
  })
})

describe('tokens kept in Secrets', () => {
  async function legacy(world: ReturnType<typeof setUp>): Promise<string> {
    const claim = (name: string) => `kubernetes.io/serviceaccount/${name}`
    const token = signClaims(
      {
        iss: 'kubernetes/serviceaccount',
        sub: 'system:serviceaccount:a:b',
        [claim('namespace')]: 'a',
        [claim('secret.name')]: 't',
        [claim('service-account.name')]: 'b',
        [claim('service-account.uid')]: world.reader.get(resources.serviceAccounts, 'a', 'b')
          ?.metadata.uid,
      },
      signingKey,
    )
    world.reader.put(resources.secrets, secret(token))
    return token
  }

  const secret = (token: string, labels = {}): KubeObject => ({
    metadata: { namespace: 'a', name: 't', labels },
    type: 'kubernetes.io/service-account-token',
    data: { token: Buffer.from(token).toString('base64') },
  })

  test('a token holds while its Secret holds it', async () => {
    const world = setUp()
    const token = await legacy(world)
    expect(await world.ask(token)).toEqual({
      kind: 'user',
      audiences: [issuer],
      user: {
        name: 'system:serviceaccount:a:b',
        uid: world.reader.get(resources.serviceAccounts, 'a', 'b')?.metadata.uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:a'],
      },
    })
    world.reader.put(resources.secrets, secret('another'))
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    const invalidated = { 'kubernetes.io/legacy-token-invalid-since': '2025-01-01' }
    world.reader.put(resources.secrets, secret(token, invalidated))
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('a Secret without a token, or one that is being deleted, carries none', async () => {
    const world = setUp()
    const token = await legacy(world)
    const { data: _, ...empty } = secret(token)
    world.reader.put(resources.secrets, empty)
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    world.reader.put(resources.secrets, { ...empty, data: {} })
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    const whole = secret(token)
    const deletionTimestamp = '2025-01-01T00:00:00Z'
    world.reader.put(resources.secrets, {
      ...whole,
      metadata: { ...whole.metadata, deletionTimestamp },
    })
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    world.reader.put(resources.secrets, {
      ...whole,
      metadata: { namespace: 'a', name: 't' },
    })
    expect(await world.ask(token)).toMatchObject({ kind: 'user' })
  })

  test('a token with audiences is for those alone', async () => {
    const world = setUp({ lookup: false })
    const claims = { ...claimsOf(await legacy(world)), aud: ['vault'] }
    const token = signClaims(claims, signingKey)
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    expect(await world.ask(token, ['vault'])).toMatchObject({ kind: 'user' })
  })

  test('claims that do not name one account are refused, even when lookup is off', async () => {
    const world = setUp({ lookup: false })
    const claims = claimsOf(await legacy(world))
    for (const [change, sub] of [
      [{ namespace: '' }, 'system:serviceaccount::b'],
      [{ 'service-account.name': '' }, 'system:serviceaccount:a:'],
      [{ 'service-account.uid': '' }, claims['sub']],
      [{ 'service-account.name': 'admin' }, claims['sub']],
      [{ namespace: 'kube-system' }, claims['sub']],
      [{}, 'system:serviceaccount:a:admin'],
    ] as const) {
      const own = Object.entries(change).map(([name, value]) => [
        `kubernetes.io/serviceaccount/${name}`,
        value,
      ])
      const wrong = { ...claims, sub, ...(Object.fromEntries(own) as Record<string, string>) }
      expect(await world.ask(signClaims(wrong, signingKey))).toEqual({
        kind: 'failed',
        why: 'the claims do not name a service account',
      })
    }
  })

  test('an account that is made anew has none of the old tokens', async () => {
    const world = setUp()
    const token = await legacy(world)
    world.reader.remove(resources.serviceAccounts, 'a', 'b')
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
    world.reader.put(resources.serviceAccounts, { metadata: { namespace: 'a', name: 'b' } })
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('a token that names no Secret is refused, even when lookup is off', async () => {
    const world = setUp({ lookup: false })
    const claims = claimsOf(await legacy(world))
    expect(await world.ask(signClaims(claims, signingKey))).toMatchObject({ kind: 'user' })
    const { 'kubernetes.io/serviceaccount/secret.name': _, ...nameless } = claims
    const token = signClaims(nameless, signingKey)
    expect(await world.ask(token)).toMatchObject({ kind: 'failed' })
  })

  test('a deleted Secret revokes its token, unless lookup is off', async () => {
    for (const [lookup, kind] of [
      [true, 'failed'],
      [false, 'user'],
    ] as const) {
      const world = setUp({ lookup })
      const token = await legacy(world)
      expect(await world.ask(token)).toMatchObject({ kind: 'user' })
      world.reader.remove(resources.secrets, 'a', 't')
      expect(await world.ask(token)).toMatchObject({ kind })
    }
  })
})
