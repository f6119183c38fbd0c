import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { createPublicKey, KeyObject, X509Certificate } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { createAuthority, sign } from '../../../certs/authority.ts'
import type { Authority } from '../../../certs/authority.ts'
import { generateKeyPair, keyIdentifier } from '../../../certs/keys.ts'
import { decodePem } from '../../../certs/pem.ts'
import { authorityProfile, clientProfile } from '../../../certs/profiles.ts'
import type { Profile } from '../../../certs/profiles.ts'
import { clientCertificateAuthenticator } from '../../../components/api-server/authn/client-certificate.ts'
import type {
  HttpRequest,
  PeerCertificate,
} from '../../../components/api-server/request/request.ts'
import { readBundle } from '../../../components/api-server/x509/bundle.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')
const DAY = 86_400_000
const ca = createAuthority({ commonName: 'ca', nowMs: start })
const otherCa = createAuthority({ commonName: 'other', nowMs: start })
const keys = generateKeyPair()

const der = (pem: string): Buffer => decodePem(pem)[0]?.der as Buffer

function peerOf(authority: Authority, profile: Profile, more: Buffer[] = []): PeerCertificate {
  const pem = sign(authority, { profile, publicKey: keys.publicKey, nowMs: start })
  return { der: der(pem), intermediates: more }
}

function subordinate(issuer: Authority, profile = authorityProfile('middle')): Authority {
  const own = generateKeyPair()
  const pem = sign(issuer, { profile, publicKey: own.publicKey, nowMs: start })
  const certificate = new X509Certificate(pem)
  return { ...own, keyIdentifier: keyIdentifier(own.publicKey), certificatePem: pem, certificate }
}

const jane = clientProfile({ commonName: 'jane', organizations: ['a', 'b'] })

function authenticator(clock = new FakeClock(start), trusted = [ca, otherCa]) {
  const authorities = readBundle(trusted.map((one) => one.certificatePem).join(''))
  return clientCertificateAuthenticator({
    authorities: () => authorities,
    clock,
    dialect: dialects.kubernetes,
  })
}

const request = (peer: PeerCertificate | undefined): HttpRequest => ({ peer }) as HttpRequest
const ask = (peer: PeerCertificate | undefined) => authenticator().authenticate(request(peer))

describe('client certificates', () => {
  test('[AUTHN-010] [AUTHN-011] the common name is the user and each organization a group', () => {
    expect(ask(peerOf(ca, jane))).toMatchObject({
      kind: 'user',
      user: { name: 'jane', groups: ['a', 'b'] },
    })
  })

  test('[AUTHN-009] certificates of every given authority are accepted, of others refused', () => {
    const third = createAuthority({ commonName: 'ca', nowMs: start })
    expect(ask(peerOf(ca, jane))).toMatchObject({ kind: 'user' })
    expect(ask(peerOf(otherCa, jane))).toMatchObject({ kind: 'user' })
    expect(ask(peerOf(third, jane))).toMatchObject({ kind: 'failed' })
  })

  test('without a certificate, or with one that names nobody, there is no user', () => {
    expect(ask(undefined)).toEqual({ kind: 'none', why: 'no client certificate' })
    const nobody = clientProfile({ commonName: '', organizations: ['system:masters'] })
    expect(ask(peerOf(ca, nobody))).toMatchObject({ kind: 'none' })
  })

  test('a text inside a name never becomes another name or group', () => {
    const tricky = clientProfile({
      commonName: 'x\nO=system:masters',
      organizations: ['a+O=system:masters'],
    })
    expect(ask(peerOf(ca, tricky))).toMatchObject({
      user: { name: 'x\nO=system:masters', groups: ['a+O=system:masters'] },
    })
  })

  test('a serving certificate is no client certificate', () => {
    const serving: Profile = { ...jane, usages: ['digital signature', 'server auth'] }
    expect(ask(peerOf(ca, serving))).toMatchObject({ kind: 'failed' })
    expect(ask(peerOf(ca, { ...jane, usages: ['digital signature'] }))).toMatchObject({
      kind: 'user',
    })
    expect(ask(peerOf(ca, { ...jane, usages: ['any'] }))).toMatchObject({ kind: 'user' })
  })

  test('a certificate expires on an open connection', async () => {
    const clock = new FakeClock(start)
    const subject = authenticator(clock)
    const peer = peerOf(ca, { ...jane, lifetimeMs: DAY })
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
    await clock.step(DAY + 1000)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'failed' })
  })

  test('a certificate that is not valid yet becomes valid on an open connection', async () => {
    const clock = new FakeClock(start - DAY)
    const subject = authenticator(clock)
    const peer = peerOf(ca, jane)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'failed' })
    await clock.step(DAY)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
  })

  test('a path through intermediates that the client sent is followed', () => {
    const middle = subordinate(ca)
    const low = subordinate(middle, authorityProfile('low'))
    const chain = [der(low.certificatePem), der(middle.certificatePem)]
    expect(ask(peerOf(low, jane, chain))).toMatchObject({ kind: 'user', user: { name: 'jane' } })
    expect(ask(peerOf(low, jane, chain.toReversed()))).toMatchObject({ kind: 'user' })
    expect(ask(peerOf(low, jane, chain.slice(0, 1)))).toMatchObject({ kind: 'failed' })
  })

  test('an authority with a path length has no more authorities below it than that', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
    const rootKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const name = 'CN=short'
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      name,
      keys: rootKeys,
      signingAlgorithm: algorithm,
      notBefore: new Date(start - DAY),
      notAfter: new Date(start + DAY),
      extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
    })
    const pem = `${root.toString('pem')}\n`
    const short: Authority = {
      ...ca,
      certificatePem: pem,
      certificate: new X509Certificate(pem),
      privateKey: KeyObject.from(rootKeys.privateKey),
    }
    const middle = subordinate(short)
    const low = subordinate(middle, authorityProfile('low'))
    const chain = [der(low.certificatePem), der(middle.certificatePem)]
    const subject = authenticator(new FakeClock(start), [short])
    expect(subject.authenticate(request(peerOf(short, jane)))).toMatchObject({ kind: 'user' })
    expect(subject.authenticate(request(peerOf(middle, jane, chain)))).toMatchObject({
      kind: 'user',
    })
    expect(subject.authenticate(request(peerOf(low, jane, chain)))).toMatchObject({
      kind: 'failed',
    })
  })

  test('authorities that issue each other are not followed in every order', () => {
    const mesh = createAuthority({ commonName: 'mesh', nowMs: start })
    const profile = authorityProfile('mesh')
    const others = Array.from({ length: 8 }, () =>
      der(sign(mesh, { profile, publicKey: mesh.publicKey, nowMs: start })),
    )
    const verify = vi.spyOn(X509Certificate.prototype, 'verify')
    try {
      expect(ask(peerOf(mesh, jane, others))).toMatchObject({ kind: 'failed' })
      expect(verify.mock.calls.length).toBeLessThanOrEqual(20)
    } finally {
      verify.mockRestore()
    }
  })

  test('huge RSA keys are refused, of the client and of authorities that it sends', () => {
    const rsa = (bits: number): KeyObject => {
      const modulus = Buffer.alloc(bits / 8, 0xff)
      const [n, e] = [modulus.toString('base64url'), Buffer.from([1, 0, 1]).toString('base64url')]
      return createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' })
    }
    const signed = (profile: Profile, bits: number): Buffer =>
      der(sign(ca, { profile, publicKey: rsa(bits), nowMs: start }))
    const large = signed(jane, 8192)
    expect(ask({ der: large, intermediates: [] })).toMatchObject({ kind: 'user' })
    const refused = { kind: 'failed', why: 'x509: RSA key larger than 8192 bits' }
    expect(ask({ der: signed(jane, 8200), intermediates: [] })).toMatchObject(refused)
    const middle = signed(authorityProfile('middle'), 16_384)
    expect(ask({ der: large, intermediates: [middle] })).toMatchObject(refused)
  })

  test('a client certificate cannot issue another', () => {
    const fake = subordinate(ca, clientProfile({ commonName: 'low', organizations: [] }))
    const peer = peerOf(fake, { ...jane, subject: { commonName: 'admin', organizations: [] } }, [
      der(fake.certificatePem),
    ])
    expect(ask(peer)).toMatchObject({ kind: 'failed' })
  })

  test('an intermediate restricted to servers issues no clients', () => {
    const middle = subordinate(ca, {
      ...authorityProfile('middle'),
      usages: ['cert sign', 'server auth'],
    })
    expect(ask(peerOf(middle, jane, [der(middle.certificatePem)]))).toMatchObject({
      kind: 'failed',
    })
  })

  test('an expired intermediate breaks the path', () => {
    const middle = subordinate(ca, authorityProfile('middle', -60_000))
    expect(ask(peerOf(middle, jane, [der(middle.certificatePem)]))).toMatchObject({
      kind: 'failed',
    })
  })

  test('an intermediate that expires ends an open connection, though the certificate would go on', async () => {
    const long = subordinate(ca)
    const pem = sign(ca, {
      profile: authorityProfile('middle', DAY),
      publicKey: createPublicKey(long.privateKey),
      nowMs: start,
    })
    const peer = peerOf(long, jane, [der(pem)])
    const clock = new FakeClock(start)
    const subject = authenticator(clock)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
    await clock.step(DAY - 1000)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
    await clock.step(2000)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'failed' })
  })

  test('a certificate holds from its beginning on, also when the clock is set back', () => {
    const clock = new FakeClock(start)
    let nowMs = start
    clock.now = () => nowMs
    const subject = authenticator(clock)
    const peer = peerOf(ca, jane)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
    nowMs -= DAY
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'failed' })
  })

  test('a verdict is kept with the connection: a user as long as the certificate holds, a refusal until a certificate of either end begins or ends', async () => {
    const clock = new FakeClock(start)
    const subject = authenticator(clock)
    const known = peerOf(ca, jane)
    const first = subject.authenticate(request(known))
    const stranger = peerOf(createAuthority({ commonName: 'ca', nowMs: start }), {
      ...jane,
      lifetimeMs: 2 * DAY,
    })
    const verify = vi.spyOn(X509Certificate.prototype, 'verify')
    try {
      await clock.step(DAY)
      expect(subject.authenticate(request(known))).toBe(first)
      expect(verify).not.toHaveBeenCalled()
      await subject.authenticate(request(stranger))
      const calls = verify.mock.calls.length
      expect(calls).toBeGreaterThan(0)
      await clock.step(DAY - 1)
      await subject.authenticate(request(stranger))
      expect(verify).toHaveBeenCalledTimes(calls)
      await clock.step(1001)
      expect(subject.authenticate(request(stranger))).toEqual({
        kind: 'failed',
        why: 'x509: certificate has expired or is not yet valid',
      })
    } finally {
      verify.mockRestore()
    }
  })

  test('of the certificates that a client sends besides its own, eight are looked at', () => {
    const middle = subordinate(ca)
    const others = Array.from({ length: 8 }, () => der(otherCa.certificatePem))
    const sent = (count: number) => [...others.slice(0, count), der(middle.certificatePem)]
    expect(ask(peerOf(middle, jane, sent(7)))).toMatchObject({ kind: 'user' })
    expect(ask(peerOf(middle, jane, sent(8)))).toMatchObject({ kind: 'failed' })
  })

  test('of several common names the last counts; without an organization there are no groups', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
    const issuerKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const window = { notBefore: new Date(start - DAY), notAfter: new Date(start + DAY) }
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      ...window,
      name: 'CN=root',
      keys: issuerKeys,
      signingAlgorithm: algorithm,
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
    })
    const leafOf = async (...names: string[]) => {
      const leaf = await x509.X509CertificateGenerator.create({
        ...window,
        subject: new x509.Name(names.map((name) => ({ CN: [name] }))).toString(),
        issuer: root.subject,
        publicKey: issuerKeys.publicKey,
        signingKey: issuerKeys.privateKey,
        signingAlgorithm: algorithm,
      })
      return { der: Buffer.from(leaf.rawData), intermediates: [] }
    }
    const authorities = readBundle(`${root.toString('pem')}\n`)
    const subject = clientCertificateAuthenticator({
      authorities: () => authorities,
      clock: new FakeClock(start),
      dialect: dialects.kubernetes,
    })
    expect(subject.authenticate(request(await leafOf('first', 'second')))).toMatchObject({
      user: { name: 'second', groups: [] },
    })
    expect(subject.authenticate(request(await leafOf('first', '')))).toEqual({
      kind: 'none',
      why: 'the certificate has no common name',
    })
    expect(subject.name).toBe('x509')
  })

  test('bytes that are no certificate fail and do not throw', () => {
    const junk = Buffer.from('junk')
    expect(ask({ der: junk, intermediates: [] })).toEqual({
      kind: 'failed',
      why: expect.stringMatching(/./),
    })
    const { der: good } = peerOf(ca, jane)
    expect(ask({ der: good, intermediates: [junk] })).toMatchObject({ kind: 'failed' })
  })

  test('a changed set of authorities counts at once', () => {
    let authorities = readBundle(ca.certificatePem)
    const subject = clientCertificateAuthenticator({
      authorities: () => authorities,
      clock: new FakeClock(start),
      dialect: dialects.kubernetes,
    })
    const peer = peerOf(ca, jane)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'user' })
    authorities = readBundle(otherCa.certificatePem)
    expect(subject.authenticate(request(peer))).toMatchObject({ kind: 'failed' })
  })

  test('the extra field names the credential', () => {
    const peer = peerOf(ca, jane)
    const result = ask(peer) as unknown as { user: { extra: Record<string, string[]> } }
    const [id] = result.user.extra['authentication.kubernetes.io/credential-id'] ?? []
    expect(id).toMatch(/^X509SHA256=[0-9a-f]{64}$/)
  })
})
