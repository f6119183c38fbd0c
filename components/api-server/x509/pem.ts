/** PEM texts in objects: their blocks, and faults of the certificates and signing requests in them, worded as Go words them. */
import { createPublicKey, constants, verify, X509Certificate } from 'node:crypto'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { tag } from '../../../certs/der.ts'
import { readSigningRequest, type SigningRequest } from '../../../certs/signing-request.ts'
import { elementAt, unlessMalformed } from './der.ts'

export interface PemBlock {
  readonly type: string
  readonly hasHeaders: boolean
  readonly der: Buffer
}

const beginMark = '-----BEGIN '
const endMark = '-----END '
const dashes = '-----'
const base64 = /^[A-Za-z0-9+/]*={0,2}$/
/** How many malformed blocks are skipped, since each makes the reader scan what follows. */
const mostMalformed = 100

/** The well-formed blocks in order. Text around them and malformed blocks are skipped, as Go's decoder does. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  let malformed = 0
  for (let at = 0; malformed <= mostMalformed;) {
    const begin = startOfLine(text, beginMark, at)
    if (begin < 0) break
    const { block, next } = readBlock(text, begin)
    if (block === undefined) malformed += 1
    else blocks.push(block)
    at = next
  }
  return blocks
}

/** Where the mark next begins a line; `at` is where one begins. */
function startOfLine(text: string, mark: string, at: number): number {
  if (text.startsWith(mark, at)) return at
  const found = text.indexOf(`\n${mark}`, at)
  return found < 0 ? -1 : found + 1
}

function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found < 0 ? text.length : found + 1
}

/** The block whose first line is at `begin`, unless it is malformed, and where to read on. */
function readBlock(text: string, begin: number): { block?: PemBlock; next: number } {
  let at = nextLine(text, begin)
  const label = text.slice(begin + beginMark.length, at).trimEnd()
  if (!label.endsWith(dashes)) return { next: at }
  const type = label.slice(0, -dashes.length)
  let hasHeaders = false
  for (
    let next = nextLine(text, at);
    text.slice(at, next).includes(':');
    next = nextLine(text, at)
  ) {
    hasHeaders = true
    at = next
  }
  const end = startOfLine(text, endMark, at)
  const after = end + endMark.length + type.length + dashes.length
  const isEnded =
    end >= 0 &&
    text.startsWith(type + dashes, end + endMark.length) &&
    text.slice(after, nextLine(text, after)).trim() === ''
  const data = isEnded ? text.slice(at, end).replace(/\s/g, '') : ''
  if (!isEnded || data.length % 4 !== 0 || !base64.test(data)) return { next: at }
  const block = { type, hasHeaders, der: Buffer.from(data, 'base64') }
  return { block, next: nextLine(text, after) }
}

/** Why the text of `status.certificate` is invalid; undefined when it is valid. */
export function certificatesFault(pem: string): string | undefined {
  const blocks = pemBlocks(pem)
  for (const { type, hasHeaders, der } of blocks) {
    if (type !== 'CERTIFICATE') {
      return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(type)}`
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
  const block = pemBlocks(pem)[0]
  if (block === undefined || block.type !== 'CERTIFICATE REQUEST') {
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
