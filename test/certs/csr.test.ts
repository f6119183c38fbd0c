import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAuthority, sign } from '../../certs/authority.ts'
import {
  createCertificateRequest,
  parseCertificateRequest,
  parseRequestedNames,
  samePublicKey,
} from '../../certs/csr.ts'
import { readOid, readOne, tag } from '../../certs/der.ts'
import { generateKeyPair } from '../../certs/keys.ts'
import type { KeyKind } from '../../certs/keys.ts'
import { decodePem, encodePem } from '../../certs/pem.ts'
import { nodeSubject, profileOfRequest } from '../../certs/profiles.ts'
import { X509Certificate } from 'node:crypto'
import { openssl, temporaryFiles } from './openssl.ts'

const wanted = {
  subject: nodeSubject('n1'),
  dnsNames: ['n1', 'n1.local'],
  ipAddresses: ['10.0.0.7', '::ffff:1.2.3.4', '2001:db8::1'],
}

test.each<KeyKind>(['ec', 'rsa'])('openssl accepts a request made with an %s key', (kind) => {
  const folder = temporaryFiles()
  const file = folder.file('x.csr', createCertificateRequest(generateKeyPair(kind), wanted))
  const text = openssl('req', '-in', file, '-verify', '-noout', '-text', '-nameopt', 'RFC2253')
  expect(text).toContain('Subject: CN=system:node:n1,O=system:nodes')
  expect(text).toContain('DNS:n1, DNS:n1.local, IP Address:10.0.0.7')
})

test('a request reads back as it was made', () => {
  const keys = generateKeyPair()
  const request = parseCertificateRequest(createCertificateRequest(keys, wanted))
  expect(request).toMatchObject({
    subject: wanted.subject,
    dnsNames: wanted.dnsNames,
    ipAddresses: ['10.0.0.7', '::ffff:102:304', '2001:db8::1'],
    emailAddresses: [],
    uris: [],
    keyType: 'ec',
  })
  expect(samePublicKey(request.publicKey, keys.publicKey)).toBe(true)
})

test('what other readers may read otherwise is refused', () => {
  const request = createCertificateRequest(generateKeyPair(), wanted)
  const second = request + createCertificateRequest(generateKeyPair(), wanted)
  expect(() => parseCertificateRequest(second)).toThrow('more than one PEM block')
  const disguised = `-----BEGIN X-----AAAA-----END Y-----\n${request}`
  expect(() => parseCertificateRequest(disguised)).toThrow('more than one PEM block')
  // The identifier of the organization, with a leading zero that says nothing.
  const padded = Buffer.from('06048055040a', 'hex')
  expect(() => readOid(readOne(padded, tag.oid))).toThrow('not minimal')
})

test('a request made by openssl is read, whatever its key', () => {
  const folder = temporaryFiles()
  for (const algorithm of ['rsa:2048', 'ed25519', 'ec']) {
    const extra = algorithm === 'ec' ? ['-pkeyopt', 'ec_paramgen_curve:P-384'] : []
    const pem = openssl(
      'req',
      '-new',
      '-newkey',
      algorithm,
      ...extra,
      '-nodes',
      '-keyout',
      `${folder.path}/k`,
      '-subj',
      '/C=DE/O=a/O=b/CN=jane',
      '-addext',
      'subjectAltName=email:a@b.c,URI:spiffe://x/y,DNS:d',
    )
    expect(parseCertificateRequest(pem)).toMatchObject({
      subject: { commonName: 'jane', organizations: ['a', 'b'] },
      dnsNames: ['d'],
      emailAddresses: ['a@b.c'],
      uris: ['spiffe://x/y'],
    })
  }
})

test('a certificate signed for a request has its names and the granted usages', () => {
  const keys = generateKeyPair()
  const request = parseCertificateRequest(createCertificateRequest(keys, wanted))
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'ca', nowMs })
  const profile = profileOfRequest(request, {
    usages: ['digital signature', 'client auth'],
    lifetimeMs: 600_000,
  })
  const certificate = new X509Certificate(
    sign(authority, { profile, publicKey: request.publicKey, nowMs }),
  )
  expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:n1')
  expect(certificate.subjectAltName).toContain('DNS:n1.local, IP Address:10.0.0.7')
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  expect(certificate.checkPrivateKey(keys.privateKey)).toBe(true)
})

test('a request whose signature does not hold is refused', () => {
  const der = decodePem(createCertificateRequest(generateKeyPair(), wanted))[0]?.der as Buffer
  const at = der.indexOf('system:node:n1')
  der.write('system:node:n2', at)
  expect(() => parseCertificateRequest(encodePem('CERTIFICATE REQUEST', der))).toThrow(/signature/)
})

test('the names of a request can be read alone, by the same rules but for the signature', () => {
  const pem = createCertificateRequest(generateKeyPair(), wanted)
  const { publicKey: _, keyType: __, ...names } = parseCertificateRequest(pem)
  expect(parseRequestedNames(pem)).toEqual(names)
  expect(() => parseRequestedNames(`${pem}${pem}`)).toThrow('more than one PEM block')
  expect(() => parseRequestedNames('junk')).toThrow('PEM block type must be CERTIFICATE REQUEST')
})

test('text that is no request is refused with a reason', () => {
  expect(() => parseCertificateRequest('junk')).toThrow(
    'PEM block type must be CERTIFICATE REQUEST',
  )
  const der = Buffer.from('3003020100', 'hex')
  expect(() => parseCertificateRequest(encodePem('CERTIFICATE REQUEST', der))).toThrow()
})

test('no damaged request is ever accepted', () => {
  const der = decodePem(createCertificateRequest(generateKeyPair(), wanted))[0]?.der as Buffer
  fc.assert(
    fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Buffer.from(der)
      damaged[at] = (damaged[at] ?? 0) ^ flip
      expect(() => parseCertificateRequest(encodePem('CERTIFICATE REQUEST', damaged))).toThrow(
        Error,
      )
    }),
    { numRuns: 1000 },
  )
})
