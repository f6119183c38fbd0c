/** PEM texts in objects: which blocks they hold, and what is wrong with certificates and signing requests in them. */
import { createPublicKey, constants, verify, X509Certificate } from 'node:crypto'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { elementAt, elementsOf, tags } from './der.ts'

export interface PemBlock {
  readonly type: string
  readonly hasHeaders: boolean
  readonly der: Buffer
}

const beginMark = '-----BEGIN '
const endMark = '-----END '
const dashes = '-----'
const base64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Malformed blocks that are passed over: each costs a look at what follows. */
const mostMalformed = 100

/** The well-formed blocks in order; text around them and malformed ones are passed over, as Go's decoder does. */
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

/** Why the text of `status.certificate` is refused; undefined when it is fine. */
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

/** Why the text of a signing request is refused: no request, malformed, or not signed by its own key. */
export function signingRequestFault(pem: string): string | undefined {
  const block = pemBlocks(pem)[0]
  if (block === undefined || block.type !== 'CERTIFICATE REQUEST') {
    return 'PEM block type must be CERTIFICATE REQUEST'
  }
  const request = readRequest(block.der)
  return typeof request === 'string' ? request : signatureFault(request)
}

interface SigningRequest {
  readonly signed: Buffer
  readonly publicKeyInfo: Buffer
  /** DER of the object identifier's content, in hexadecimal. */
  readonly algorithm: string
  readonly signature: Buffer
}

const mismatch = "asn1: structure error: tags don't match"

/** The parts of a PKCS #10 request (RFC 2986) that its signature is checked with; a text says what is wrong. */
function readRequest(der: Buffer): SigningRequest | string {
  const whole = elementAt(der, 0)
  if (whole === undefined) return 'asn1: syntax error: data truncated'
  if (whole.raw.length !== der.length) return 'asn1: syntax error: trailing data'
  const parts =
    whole.tag === tags.sequence
      ? elementsOf(whole.content, [tags.sequence, tags.sequence, tags.bitString])
      : undefined
  const [info, algorithm, signature] = parts ?? []
  if (info === undefined || algorithm === undefined || signature === undefined) return mismatch
  const publicKeyInfo = elementsOf(info.content, [tags.integer, tags.sequence, tags.sequence])?.[2]
  const identifier = elementsOf(algorithm.content, [tags.objectIdentifier])?.[0]
  if (publicKeyInfo === undefined || identifier === undefined) return mismatch
  return {
    signed: info.raw,
    publicKeyInfo: publicKeyInfo.raw,
    algorithm: identifier.content.toString('hex'),
    signature: signature.content.subarray(1),
  }
}

/** Signature algorithms by their identifiers: the hash ('' is the key's own) and what Go says of a bad signature. */
const algorithms: Readonly<Record<string, { hash: string; bad: string }>> = Object.fromEntries([
  ...['sha1:05', 'sha256:0b', 'sha384:0c', 'sha512:0d'].map((entry) => {
    const [hash = '', last = ''] = entry.split(':')
    return [`2a864886f70d0101${last}`, { hash, bad: 'crypto/rsa: verification error' }]
  }),
  ['2a8648ce3d0401', { hash: 'sha1', bad: 'x509: ECDSA verification failure' }],
  ...['sha256:02', 'sha384:03', 'sha512:04'].map((entry) => {
    const [hash = '', last = ''] = entry.split(':')
    return [`2a8648ce3d0403${last}`, { hash, bad: 'x509: ECDSA verification failure' }]
  }),
  ['2b6570', { hash: '', bad: 'x509: Ed25519 verification failure' }],
])
const rsaPss = '2a864886f70d01010a'

function signatureFault(request: SigningRequest): string | undefined {
  const { signed, publicKeyInfo, algorithm, signature } = request
  const known = algorithms[algorithm]
  if (known === undefined && algorithm !== rsaPss) {
    return 'x509: cannot verify signature: algorithm unimplemented'
  }
  const bad = known?.bad ?? 'crypto/rsa: verification error'
  try {
    const key = createPublicKey({ key: publicKeyInfo, format: 'der', type: 'spki' })
    if (known !== undefined) {
      return verify(known.hash === '' ? null : known.hash, signed, key, signature) ? undefined : bad
    }
    const padding = constants.RSA_PKCS1_PSS_PADDING
    const holds = ['sha256', 'sha384', 'sha512'].some((hash) =>
      verify(hash, signed, { key, padding }, signature),
    )
    return holds ? undefined : bad
  } catch {
    // A key that OpenSSL does not take, or one of another kind than the algorithm's.
    return 'x509: cannot verify signature: algorithm unimplemented'
  }
}
