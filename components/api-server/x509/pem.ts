/** PEM texts in objects: faults of the certificates and signing requests in them, worded as Go words them. */
import { createPublicKey, constants, verify, X509Certificate } from 'node:crypto'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { tag } from '../../../certs/der.ts'
import { readSigningRequest, type SigningRequest } from '../../../certs/signing-request.ts'
import { decodePem } from '../../../certs/pem.ts'
import { elementAt, unlessMalformed } from './der.ts'

/** Why the text of `status.certificate` is invalid; undefined when it is valid. */
export function certificatesFault(pem: string): string | undefined {
  const blocks = decodePem(pem)
  for (const { label, hasHeaders, der } of blocks) {
    if (label !== 'CERTIFICATE') {
      return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(label)}`
    }
    if (hasHeaders) return 'no PEM block headers are permitted'
    if (der.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
    if (parseCertificate(der) === undefined) return 'x509: malformed certificate'
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined
}

export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der)
  } catch {
    // The caller words the fault; OpenSSL's own says less than "malformed".
    return undefined
  }
}

/** Why the text of a signing request is invalid: no request, malformed, or not signed by its own key; undefined when valid. */
export function signingRequestFault(pem: string): string | undefined {
  const block = decodePem(pem)[0]
  if (block === undefined || block.label !== 'CERTIFICATE REQUEST') {
    return 'PEM block type must be CERTIFICATE REQUEST'
  }
  const request = readRequest(block.der)
  return typeof request === 'string' ? request : signatureFault(request)
}

const mismatch = "asn1: structure error: tags don't match"

/** The parts of a request, or Go's error text. */
function readRequest(der: Buffer): SigningRequest | string {
  const whole = elementAt(der, 0)
  if (whole === undefined) return 'asn1: syntax error: data truncated'
  if (whole.raw.length !== der.length) return 'asn1: syntax error: trailing data'
  if (whole.tag !== tag.sequence) return mismatch
  return unlessMalformed(() => readSigningRequest(whole.content)) ?? mismatch
}

/** Signature algorithms: the hash (null is the key's own), and Go's error for an invalid signature. */
const algorithms: Readonly<Record<string, { hash: string | null; bad: string }>> =
  Object.fromEntries([
    ...['sha1:5', 'sha256:11', 'sha384:12', 'sha512:13'].map((entry) => {
      const [hash = '', last = ''] = entry.split(':')
      return [`1.2.840.113549.1.1.${last}`, { hash, bad: 'crypto/rsa: verification error' }]
    }),
    ['1.2.840.10045.4.1', { hash: 'sha1', bad: 'x509: ECDSA verification failure' }],
    ...['sha256:2', 'sha384:3', 'sha512:4'].map((entry) => {
      const [hash = '', last = ''] = entry.split(':')
      return [`1.2.840.10045.4.3.${last}`, { hash, bad: 'x509: ECDSA verification failure' }]
    }),
    ['1.3.101.112', { hash: null, bad: 'x509: Ed25519 verification failure' }],
  ])
const rsaPss = '1.2.840.113549.1.1.10'

function signatureFault(request: SigningRequest): string | undefined {
  const { info, keyInfo, algorithm, signature } = request
  const known = algorithms[algorithm]
  if (known === undefined && algorithm !== rsaPss) {
    return 'x509: cannot verify signature: algorithm unimplemented'
  }
  const bad = known?.bad ?? 'crypto/rsa: verification error'
  try {
    const key = createPublicKey({ key: keyInfo.raw, format: 'der', type: 'spki' })
    if (known !== undefined) {
      return verify(known.hash, info.raw, key, signature) ? undefined : bad
    }
    const padding = constants.RSA_PKCS1_PSS_PADDING
    const holds = ['sha256', 'sha384', 'sha512'].some((hash) =>
      verify(hash, info.raw, { key, padding }, signature),
    )
    return holds ? undefined : bad
  } catch {
    // OpenSSL does not know the key, or the key is of another kind than the algorithm's.
    return 'x509: cannot verify signature: algorithm unimplemented'
  }
}
