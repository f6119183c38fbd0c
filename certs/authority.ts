/** Certificate authorities: made, loaded, and signing what a profile says. */
import { X509Certificate, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import {
  bitString,
  boolean,
  expect,
  explicit,
  implicit,
  octetString,
  oid,
  readAll,
  readOne,
  sequence,
  smallInteger,
  tag,
  time,
  unsignedInteger,
} from './der.ts'
import type { KeyKind } from './keys.ts'
import {
  generateKeyPair,
  keyIdentifier,
  parsePrivateKey,
  publicKeyInfo,
  signatureAlgorithm,
  signBytes,
} from './keys.ts'
import { encodePem } from './pem.ts'
import type { Profile } from './profiles.ts'
import { authorityProfile } from './profiles.ts'
import { encodeAlternativeNames, encodeSubject, noAlternativeNames } from './subject.ts'
import { encodeExtendedKeyUsage, encodeKeyUsage } from './usages.ts'

/** Certificates are valid from a little before they are signed, so that clocks may differ (as upstream's signers). */
export const BACKDATE_MS = 5 * 60 * 1000

/** A certificate together with the key that signs for it. */
export interface Authority {
  readonly certificatePem: string
  readonly certificate: X509Certificate
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** Of the public key; every certificate it signs names it. */
  readonly keyIdentifier: Buffer
}

interface Issuer {
  /** DER of the issuer's Name; equal byte for byte to its certificate's subject. */
  readonly name: Buffer
  readonly privateKey: KeyObject
  readonly keyIdentifier: Buffer
}

/** The subject exactly as the certificate has it: another encoder may have chosen other string types. */
function subjectNameOf(certificate: X509Certificate): Buffer {
  const [body] = readAll(readOne(certificate.raw, tag.sequence).content)
  const fields = readAll(expect(body, tag.sequence).content)
  // An explicit version comes first in every v3 certificate; then serial, algorithm, issuer, validity, subject.
  return expect(fields[fields[0]?.tag === 0xa0 ? 5 : 4], tag.sequence).raw
}

function extensions(profile: Profile, subjectKey: KeyObject, issuer: Issuer): Buffer {
  const list: Buffer[] = []
  const add = (id: string, value: Buffer | undefined, critical = false): void => {
    if (value === undefined) return
    list.push(sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value)))
  }
  add('2.5.29.15', encodeKeyUsage(profile.usages), true)
  add('2.5.29.37', encodeExtendedKeyUsage(profile.usages))
  add('2.5.29.19', profile.isAuthority ? sequence(boolean(true)) : sequence(), true)
  if (profile.isAuthority) add('2.5.29.14', octetString(keyIdentifier(subjectKey)))
  add('2.5.29.35', sequence(implicit(0, issuer.keyIdentifier)))
  add(
    '2.5.29.17',
    encodeAlternativeNames({ ...noAlternativeNames, ...profile }),
    profile.subject.commonName === '' && profile.subject.organizations.length === 0,
  )
  return explicit(3, sequence(...list))
}

function encodeCertificate(options: {
  profile: Profile
  publicKey: KeyObject
  issuer: Issuer
  notBeforeMs: number
  notAfterMs: number
}): string {
  const { profile, publicKey, issuer } = options
  const algorithm = signatureAlgorithm(issuer.privateKey)
  // 63 bits of randomness, the first bit clear: a positive serial of at most 8 bytes, as upstream's.
  const serial = randomBytes(8)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = sequence(
    explicit(0, smallInteger(2)),
    unsignedInteger(serial),
    algorithm,
    issuer.name,
    sequence(time(options.notBeforeMs), time(options.notAfterMs)),
    encodeSubject(profile.subject),
    publicKeyInfo(publicKey),
    extensions(profile, publicKey, issuer),
  )
  const der = sequence(body, algorithm, bitString(signBytes(issuer.privateKey, body)))
  return encodePem('CERTIFICATE', der)
}

/** A self-signed authority with a new key. `lifetimeMs` defaults to ten years. */
export function createAuthority(options: {
  commonName: string
  nowMs: number
  keyKind?: KeyKind
  lifetimeMs?: number
}): Authority {
  const keys = generateKeyPair(options.keyKind)
  const signer = { privateKey: keys.privateKey, keyIdentifier: keyIdentifier(keys.publicKey) }
  const profile = authorityProfile(options.commonName, options.lifetimeMs)
  const certificatePem = encodeCertificate({
    profile,
    publicKey: keys.publicKey,
    issuer: { name: encodeSubject(profile.subject), ...signer },
    notBeforeMs: options.nowMs - BACKDATE_MS,
    notAfterMs: options.nowMs + profile.lifetimeMs,
  })
  return { certificatePem, certificate: new X509Certificate(certificatePem), ...keys, ...signer }
}

/** An authority from its files. Throws when the key is not the certificate's or the certificate may not sign. */
export function loadAuthority(files: { certificatePem: string; privateKeyPem: string }): Authority {
  const certificate = new X509Certificate(files.certificatePem)
  const keys = parsePrivateKey(files.privateKeyPem)
  if (!certificate.checkPrivateKey(keys.privateKey)) {
    throw new Error('the private key does not belong to the authority certificate')
  }
  if (!certificate.ca) throw new Error('the certificate is not an authority: CA is not true')
  return {
    certificatePem: files.certificatePem,
    certificate,
    ...keys,
    keyIdentifier: keyIdentifier(keys.publicKey),
  }
}

/**
 * A certificate for the public key, as the profile says, in PEM. It is valid from five minutes ago for the
 * profile's lifetime, but never outlives the authority.
 */
export function sign(
  authority: Authority,
  wanted: { profile: Profile; publicKey: KeyObject; nowMs: number },
): string {
  const authorityEnd = Date.parse(authority.certificate.validTo)
  return encodeCertificate({
    profile: wanted.profile,
    publicKey: wanted.publicKey,
    issuer: {
      name: subjectNameOf(authority.certificate),
      privateKey: authority.privateKey,
      keyIdentifier: authority.keyIdentifier,
    },
    notBeforeMs: wanted.nowMs - BACKDATE_MS,
    notAfterMs: Math.min(wanted.nowMs + wanted.profile.lifetimeMs, authorityEnd),
  })
}
