/** Tokens that live in Secrets: JWTs without an end, bound to their Secret by name (upstream: serviceaccount LegacyClaims). */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'

const curves: Readonly<Record<string, { alg: string; hash: string }>> = {
  prime256v1: { alg: 'ES256', hash: 'sha256' },
  secp384r1: { alg: 'ES384', hash: 'sha384' },
  secp521r1: { alg: 'ES512', hash: 'sha512' },
}

export interface TokenSigner {
  /** Signs the claims as a compact JWT. */
  sign(claims: Readonly<Record<string, unknown>>): string
}

function algorithmOf(key: KeyObject): { alg: string; hash: string } {
  const algorithm =
    key.asymmetricKeyType === 'rsa'
      ? { alg: 'RS256', hash: 'sha256' }
      : curves[key.asymmetricKeyDetails?.namedCurve ?? '']
  if (algorithm === undefined) throw new Error('service account keys must be RSA or ECDSA')
  return algorithm
}

/** A signer for a private key in PEM. Throws for what is no RSA or ECDSA key. */
export function createTokenSigner(privateKeyPem: string): TokenSigner {
  const key = createPrivateKey(privateKeyPem)
  const { alg, hash } = algorithmOf(key)
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const kid = createHash('sha256').update(spki).digest('base64url')
  const encode = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString('base64url')
  return {
    sign: (claims) => {
      const signed = `${encode({ alg, kid })}.${encode(claims)}`
      const signature = sign(hash, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
      return `${signed}.${signature.toString('base64url')}`
    },
  }
}

/** The claims of a Secret's token. */
export function legacyClaims(
  at: {
    readonly namespace: string
    readonly secret: string
    readonly account: { readonly name: string; readonly uid: string }
  },
  dialect: Dialect,
): Record<string, string> {
  const own = `${dialect.labelDomain}/serviceaccount`
  return {
    iss: `${dialect.name}/serviceaccount`,
    [`${own}/namespace`]: at.namespace,
    [`${own}/secret.name`]: at.secret,
    [`${own}/service-account.name`]: at.account.name,
    [`${own}/service-account.uid`]: at.account.uid,
    sub: `system:serviceaccount:${at.namespace}:${at.account.name}`,
  }
}
