/**
 * PKCS#12 bundles for browsers and keychains: the one place that uses node-forge, for the password-based parts.
 * Its own bundler knows RSA keys only, so the bags are put together here (RFC 7292). Loaded when first needed.
 */
import { createHash, createHmac, createPrivateKey, randomBytes } from 'node:crypto'
import {
  element,
  explicit,
  octetString,
  oid,
  sequence,
  setOf,
  smallInteger,
  tag,
  unsignedInteger,
} from './der.ts'
import { decodePem } from './pem.ts'
import type { Credential } from './pki.ts'

const DATA = '1.2.840.113549.1.7.1'
const SHROUDED_KEY_BAG = '1.2.840.113549.1.12.10.1.2'
const CERTIFICATE_BAG = '1.2.840.113549.1.12.10.1.3'
const X509_CERTIFICATE = '1.2.840.113549.1.9.22.1'
const LOCAL_KEY_ID = '1.2.840.113549.1.9.21'
const FRIENDLY_NAME = '1.2.840.113549.1.9.20'
const SHA1 = '1.3.14.3.2.26'

/** Deriving the integrity key is step 3 of RFC 7292, appendix B. */
const INTEGRITY_KEY = 3
const ITERATIONS = 20_000

export interface BundleOptions {
  readonly credential: Credential
  /** Shown in the keychain. */
  readonly friendlyName: string
  readonly password: string
  /** Certificates put beside the credential's own, in PEM. */
  readonly authoritiesPem?: string
  /** `3des` (default) is what every keychain reads; `aes256` needs a recent one. */
  readonly encryption?: '3des' | 'aes256'
}

const contentInfo = (content: Buffer): Buffer =>
  sequence(oid(DATA), explicit(0, octetString(content)))

function bagAttributes(friendlyName: string, keyId: Buffer): Buffer {
  const name = element(tag.bmpString, Buffer.from(friendlyName, 'utf16le').swap16())
  return setOf(
    sequence(oid(FRIENDLY_NAME), setOf(name)),
    sequence(oid(LOCAL_KEY_ID), setOf(octetString(keyId))),
  )
}

const certificateBag = (der: Buffer, ...attributes: Buffer[]): Buffer =>
  sequence(
    oid(CERTIFICATE_BAG),
    explicit(0, sequence(oid(X509_CERTIFICATE), explicit(0, octetString(der)))),
    ...attributes,
  )

/** The bundle's bytes (`.p12`): the key encrypted under the password, the certificates, and an integrity check. */
export async function createPkcs12(options: BundleOptions): Promise<Buffer> {
  const { default: forge } = await import('node-forge')
  const { password, credential } = options
  const [own, ...chain] = decodePem(credential.certificatePem)
  if (own === undefined) throw new Error('the credential has no certificate')
  const authorities = decodePem(options.authoritiesPem ?? '')
  const keyInfo = createPrivateKey(credential.privateKeyPem).export({
    type: 'pkcs8',
    format: 'der',
  })
  const encrypted = forge.pki.encryptPrivateKeyInfo(
    forge.asn1.fromDer(keyInfo.toString('latin1')),
    password,
    { algorithm: options.encryption ?? '3des', count: ITERATIONS, saltSize: 16 },
  )
  const attributes = bagAttributes(
    options.friendlyName,
    createHash('sha1').update(own.der).digest(),
  )
  const keyBag = sequence(
    oid(SHROUDED_KEY_BAG),
    explicit(0, Buffer.from(forge.asn1.toDer(encrypted).getBytes(), 'latin1')),
    attributes,
  )
  const certificateBags = [
    certificateBag(own.der, attributes),
    ...[...chain, ...authorities].map((block) => certificateBag(block.der)),
  ]
  const safe = sequence(contentInfo(sequence(...certificateBags)), contentInfo(sequence(keyBag)))
  const salt = randomBytes(16)
  const macKey = forge.pkcs12.generateKey(
    password,
    forge.util.createBuffer(salt.toString('latin1')),
    INTEGRITY_KEY,
    ITERATIONS,
    20,
  )
  const mac = createHmac('sha1', Buffer.from(macKey.getBytes(), 'latin1')).update(safe).digest()
  const iterations = Buffer.alloc(4)
  iterations.writeUInt32BE(ITERATIONS)
  return sequence(
    smallInteger(3),
    contentInfo(safe),
    sequence(
      sequence(sequence(oid(SHA1), element(0x05)), octetString(mac)),
      octetString(salt),
      unsignedInteger(iterations),
    ),
  )
}
