import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createAuthority, loadAuthority, sign } from '../../certs/authority.ts'
import { generateKeyPair, privateKeyPem } from '../../certs/keys.ts'
import type { KeyKind } from '../../certs/keys.ts'
import { credentialNames, createPki, issue } from '../../certs/pki.ts'
import { clientProfile, nodeSubject, servingProfile } from '../../certs/profiles.ts'
import { inspectCertificates } from '../../certs/inspect.ts'
import { openssl, temporaryFiles } from './openssl.ts'

const nowMs = Date.now()
const DAY = 24 * 60 * 60 * 1000

test.each<KeyKind>(['ec', 'rsa'])(
  'openssl verifies every certificate of a %s pki against its authority, for its purpose',
  (keyKind) => {
    const folder = temporaryFiles()
    const pki = createPki({ nowMs, keyKind, apiServer: { serviceName: 'kubernetes' } })
    const ca = folder.file('ca.crt', pki.authority.certificatePem)
    const frontProxyCa = folder.file('front.crt', pki.frontProxyAuthority.certificatePem)
    for (const name of credentialNames) {
      const file = folder.file(`${name}.crt`, pki.credentials[name].certificatePem)
      const issuer = name === 'front-proxy-client' ? frontProxyCa : ca
      const serving = name === 'apiserver' || name.endsWith('-serving')
      const purpose = serving ? 'sslserver' : 'sslclient'
      const out = openssl('verify', '-x509_strict', '-purpose', purpose, '-CAfile', issuer, file)
      expect(out).toBe(`${file}: OK\n`)
      const wrong = serving ? 'sslclient' : 'sslserver'
      expect(() => openssl('verify', '-purpose', wrong, '-CAfile', issuer, file)).toThrow()
    }
  },
)

test('a certificate of another authority does not verify', () => {
  const folder = temporaryFiles()
  const [mine, other] = [
    createPki({ nowMs, apiServer: { serviceName: 'a' } }),
    createAuthority({ commonName: 'a', nowMs }),
  ]
  const file = folder.file('admin.crt', mine.credentials.admin.certificatePem)
  const ca = folder.file('other.crt', other.certificatePem)
  expect(() => openssl('verify', '-CAfile', ca, file)).toThrow()
})

test('the API server certificate names the service, localhost and what was asked for', () => {
  const pki = createPki({
    nowMs,
    apiServer: { serviceName: 'kubernetes', hostNames: ['box.test'], ipAddresses: ['fd00::10'] },
  })
  const certificate = new X509Certificate(pki.credentials.apiserver.certificatePem)
  for (const host of [
    'kubernetes',
    'kubernetes.default.svc.cluster.local',
    'localhost',
    'box.test',
  ]) {
    expect(certificate.checkHost(host)).toBe(host)
  }
  for (const ip of ['127.0.0.1', '::1', '10.96.0.1', 'fd00::10']) {
    expect(certificate.checkIP(ip)).toBeDefined()
  }
  expect(certificate.checkHost('example.com')).toBeUndefined()
  expect(certificate.subject).toBe('CN=kube-apiserver')
})

test('inspection tells identity, usages and time left', async () => {
  const authority = createAuthority({ commonName: 'kubernetes', nowMs })
  const { certificatePem } = issue(authority, { profile: clientProfile(nodeSubject('n1')), nowMs })
  const [node, ca] = await inspectCertificates(certificatePem + authority.certificatePem, nowMs)
  expect(node).toMatchObject({
    commonName: 'system:node:n1',
    organizations: ['system:nodes'],
    issuer: 'CN=kubernetes',
    usages: ['digital signature', 'client auth'],
    isAuthority: false,
    keyType: 'ec',
  })
  expect(Math.abs((node?.remainingMs ?? 0) - 365 * DAY)).toBeLessThan(1000)
  expect(ca).toMatchObject({
    isAuthority: true,
    usages: ['digital signature', 'key encipherment', 'cert sign'],
    alternativeNames: ['DNS:kubernetes'],
  })
})

test('a certificate never outlives its authority and starts a little before now', () => {
  const authority = createAuthority({ commonName: 'short', nowMs, lifetimeMs: DAY })
  const certificate = new X509Certificate(
    sign(authority, {
      profile: clientProfile(nodeSubject('n1')),
      publicKey: generateKeyPair().publicKey,
      nowMs,
    }),
  )
  expect(certificate.validTo).toBe(authority.certificate.validTo)
  expect(Date.parse(certificate.validFrom)).toBeLessThan(nowMs - 4 * 60 * 1000)
})

test('dates from 2050 on are readable', () => {
  const far = Date.UTC(2055, 1, 3, 4, 5, 6)
  const authority = createAuthority({ commonName: 'far', nowMs: far })
  expect(authority.certificate.validToDate.getUTCFullYear()).toBe(2065)
})

test('an authority made by openssl signs certificates that openssl verifies', () => {
  const folder = temporaryFiles()
  const key = `${folder.path}/ca.key`
  const crt = `${folder.path}/ca.crt`
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    crt,
    '-days',
    '9',
    '-subj',
    '/O=Örg/OU=unit/CN=Own CA',
    '-utf8',
    '-addext',
    'keyUsage=critical,keyCertSign',
  )
  const authority = loadAuthority({
    certificatePem: openssl('x509', '-in', crt),
    privateKeyPem: openssl('pkey', '-in', key),
  })
  const profile = servingProfile({
    subject: { commonName: 'x', organizations: ['ä', 'b'] },
    dnsNames: ['x'],
    ipAddresses: [],
  })
  const file = folder.file('x.crt', issue(authority, { profile, nowMs }).certificatePem)
  expect(openssl('verify', '-CAfile', crt, file)).toContain('OK')
})

test('an authority is refused with a foreign key or when it may not sign', () => {
  const pki = createPki({ nowMs, apiServer: { serviceName: 'kubernetes' } })
  const { authority, frontProxyAuthority, credentials } = pki
  const { certificatePem } = authority
  expect(() =>
    loadAuthority({ certificatePem, privateKeyPem: privateKeyPem(frontProxyAuthority.privateKey) }),
  ).toThrow(/does not belong/)
  expect(() => loadAuthority(credentials.admin)).toThrow(/not an authority/)
})
