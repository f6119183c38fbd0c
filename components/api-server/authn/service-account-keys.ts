/** Keys of service account tokens: PEM to JWS keys, their identifiers, and the published key set. Wraps jose, loaded when first needed. */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'

/** A key that checks signatures. */
export interface VerificationKey {
  readonly keyId: string
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512'
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

/** Every key in a PEM text; of a private key or a certificate the public half. Throws when there is none. */
export function parseVerificationKeys(pem: string): VerificationKey[] {
  const blocks = pem.match(/-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g) ?? []
  const keys = blocks
    .filter((block) => !block.includes('PARAMETERS-----'))
    .map((block) => describe(createPublicKey(block)))
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys')
  return keys
}

/** A key that signs, with the identifier its public half is published under. */
export function parseSigningKey(pem: string): { key: KeyObject; public: VerificationKey } {
  const key = createPrivateKey(pem)
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
export async function verifySignature(
  token: string,
  keys: readonly VerificationKey[],
): Promise<Record<string, unknown> | undefined> {
  const { compactVerify, decodeProtectedHeader } = await import('jose')
  let keyId: string | undefined
  try {
    keyId = decodeProtectedHeader(token).kid
  } catch {
    // Not a JWT at all.
    return undefined
  }
  const named = keys.filter((key) => key.keyId === keyId)
  for (const { key, algorithm } of named.length > 0 ? named : keys) {
    try {
      const { payload } = await compactVerify(token, key, { algorithms: [algorithm] })
      const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
      return typeof claims === 'object' && claims !== null
        ? (claims as Record<string, unknown>)
        : undefined
    } catch {
      // Another key may fit.
    }
  }
  return undefined
}

/** Signs the claims as a compact JWT. */
export async function signClaims(
  claims: Record<string, unknown>,
  signer: { key: KeyObject; public: VerificationKey },
): Promise<string> {
  const { CompactSign } = await import('jose')
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: signer.public.algorithm, kid: signer.public.keyId })
    .sign(signer.key)
}
