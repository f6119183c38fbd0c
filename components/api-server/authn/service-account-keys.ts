/** Keys of service account tokens: PEM to JWS keys, their identifiers, and the published key set. */
import { createHash, createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { decodePem } from '../../../certs/pem.ts'
import { parseJws, signJws, verifiedClaims } from './compact-jws.ts'
import type { JwsAlgorithm } from './compact-jws.ts'

/** A key that checks signatures. */
export interface VerificationKey {
  readonly keyId: string
  readonly algorithm: JwsAlgorithm
  readonly key: KeyObject
}

const curveAlgorithms: Readonly<Record<string, VerificationKey['algorithm']>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

function describe(key: KeyObject): VerificationKey {
  const algorithm =
    key.asymmetricKeyType === 'rsa'
      ? 'RS256'
      : curveAlgorithms[key.asymmetricKeyDetails?.namedCurve ?? '']
  if (algorithm === undefined) throw new Error('service account keys must be RSA or ECDSA')
  const spki = key.export({ type: 'spki', format: 'der' })
  return { keyId: createHash('sha256').update(spki).digest('base64url'), algorithm, key }
}

/** The first result of the readers that do not throw. */
function firstRead<T>(readers: readonly (() => T)[]): T | undefined {
  for (const read of readers) {
    try {
      return read()
    } catch {
      // Another reader may know the form.
    }
  }
  return undefined
}

const privateKeyForms = ['pkcs1', 'pkcs8', 'sec1'] as const

/** The public half of a key or certificate, whatever its label says; undefined for anything else. */
function publicKeyOf(der: Buffer): VerificationKey | undefined {
  return firstRead([
    ...privateKeyForms.map((type) => () => {
      const key = createPrivateKey({ key: der, format: 'der', type })
      return describe(createPublicKey(key))
    }),
    () => describe(createPublicKey({ key: der, format: 'der', type: 'spki' })),
    () => describe(new X509Certificate(der).publicKey),
  ])
}

/**
 * Every RSA and ECDSA key in a PEM text; of a private key or a certificate the public half. Other blocks are skipped. Throws if
 * the text has no key (upstream: keyutil.ParsePublicKeysPEM, which does not know ECDSA keys in PKCS #8).
 */
export function parseVerificationKeys(pem: string): VerificationKey[] {
  const keys = decodePem(pem).flatMap(({ der }) => publicKeyOf(der) ?? [])
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys')
  return keys
}

const privateKeyLabels: Readonly<Record<string, (typeof privateKeyForms)[number]>> = {
  'EC PRIVATE KEY': 'sec1',
  'RSA PRIVATE KEY': 'pkcs1',
  'PRIVATE KEY': 'pkcs8',
}

/**
 * The first key that signs, with the identifier its public half is published under. Other blocks, such as `EC PARAMETERS`, are
 * skipped. Throws if the text has no such key (upstream: keyutil.ParsePrivateKeyPEM).
 */
export function parseSigningKey(pem: string): { key: KeyObject; public: VerificationKey } {
  const key = firstRead(
    decodePem(pem).map(({ label, der }) => () => {
      const type = privateKeyLabels[label]
      if (type === undefined) throw new Error(`${label} is not a private key`)
      return createPrivateKey({ key: der, format: 'der', type })
    }),
  )
  if (key === undefined) throw new Error('data does not contain a valid RSA or ECDSA private key')
  return { key, public: describe(createPublicKey(key)) }
}

/** The document at `/openid/v1/jwks`. */
export function jsonWebKeySet(keys: readonly VerificationKey[]): { keys: JsonWebKey[] } {
  return {
    keys: keys.map(({ key, keyId, algorithm }) => {
      const { kty, ...rest } = key.export({ format: 'jwk' })
      return { use: 'sig', kty: kty ?? '', kid: keyId, alg: algorithm, ...rest }
    }),
  }
}

/** The payload when one of the keys signed the token; undefined otherwise. A `kid` narrows the keys to try. */
export function verifySignature(
  token: string,
  keys: readonly VerificationKey[],
): Record<string, unknown> | undefined {
  const jws = parseJws(token)
  if (jws === undefined) return undefined
  const named = keys.filter((key) => key.keyId === jws.header['kid'])
  for (const key of named.length > 0 ? named : keys) {
    const claims = verifiedClaims(jws, key)
    if (claims !== undefined) return claims
  }
  return undefined
}

/** Signs the claims as a compact JWT. */
export function signClaims(
  claims: Record<string, unknown>,
  { key, public: { algorithm, keyId } }: { key: KeyObject; public: VerificationKey },
): string {
  return signJws(claims, { key, algorithm, header: { kid: keyId } })
}
