/** Signatures of certificates: whether one key signed another's certificate, with the algorithms that Go's x509 takes. */
import { keyOf, type Certificate } from './certificate.ts'
import { tag as tags } from '../../../certs/der.ts'
import { elementsOf } from './der.ts'

/** Identifiers in hexadecimal: SHA-256, SHA-384 and SHA-512 with each kind of key. SHA-1, MD5 and DSA are insecure. */
const algorithms: Readonly<Record<string, 'rsa' | 'ec' | 'ed25519'>> = {
  '2a864886f70d01010b': 'rsa',
  '2a864886f70d01010c': 'rsa',
  '2a864886f70d01010d': 'rsa',
  '2a864886f70d01010a': 'rsa',
  '2a8648ce3d040302': 'ec',
  '2a8648ce3d040303': 'ec',
  '2a8648ce3d040304': 'ec',
  '2b6570': 'ed25519',
}
const rsaPss = '2a864886f70d01010a'
/** SHA-256, SHA-384, SHA-512, as the parameters of RSA-PSS name them; its default is SHA-1. */
const pssHashes = ['608648016503040201', '608648016503040202', '608648016503040203']
const sha1 = '2b0e03021a'
const curves = ['secp224r1', 'prime256v1', 'secp384r1', 'secp521r1']
/** Go's crypto/rsa rejects shorter RSA keys, its crypto/tls longer ones. */
const leastRsaBits = 1024
export const mostRsaBits = 8192

/** 0 for keys of other kinds. */
export function rsaBits(certificate: Certificate): number {
  return keyOf(certificate)?.asymmetricKeyDetails?.modulusLength ?? 0
}

function algorithmOf({ signatureAlgorithm }: Certificate): 'rsa' | 'ec' | 'ed25519' | undefined {
  const [sequence] = elementsOf(signatureAlgorithm, [tags.sequence]) ?? []
  const [identifier, parameters] = (sequence && elementsOf(sequence.content, [tags.oid])) ?? []
  const id = identifier?.content.toString('hex') ?? ''
  if (id === rsaPss) {
    const text = parameters?.content.toString('hex') ?? ''
    if (text.includes(sha1) || !pssHashes.some((hash) => text.includes(hash))) return undefined
  }
  return algorithms[id]
}

/** Whether the issuer's key signed the certificate, with an algorithm and a key that are strong enough. */
export function isSignedBy(certificate: Certificate, issuer: Certificate): boolean {
  const key = keyOf(issuer)
  const kind = algorithmOf(certificate)
  if (key === undefined || kind === undefined || key.asymmetricKeyType !== kind) return false
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  if (kind === 'rsa' && (modulusLength < leastRsaBits || modulusLength > mostRsaBits)) return false
  if (kind === 'ec' && !curves.includes(namedCurve)) return false
  return certificate.x509.verify(key)
}
