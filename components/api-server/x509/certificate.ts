/** Certificate (RFC 5280): the fields that chains are verified by, read from DER as Go's x509.ParseCertificate reads them. */
import { type KeyObject, X509Certificate } from 'node:crypto'
import { tag as tags, type DerElement } from '../../../certs/der.ts'
import { elementAt, elementsOf } from './der.ts'
import {
  readNameConstraints,
  readSubjectNames,
  type NameConstraints,
  type SubjectNames,
} from './subject-names.ts'

export interface Certificate {
  /** OpenSSL's view, for the key and the signature. */
  readonly x509: X509Certificate
  readonly raw: Buffer
  readonly version: number
  /** DER. */
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly keyInfo: Buffer
  readonly fromMs: number
  readonly untilMs: number
  /** DER of the AlgorithmIdentifier. */
  readonly signatureAlgorithm: Buffer
  /** Undefined without the extension. */
  readonly basics: { readonly isAuthority: boolean; readonly pathLength: number } | undefined
  /** Whether the key usage allows signing certificates; true without a key usage. */
  readonly maySign: boolean
  /** Hexadecimal identifiers of extended key usages; an empty list allows every use. */
  readonly uses: readonly string[]
  readonly names: SubjectNames | undefined
  readonly constraints: NameConstraints | undefined
  readonly subjectKeyId: Buffer | undefined
  readonly authorityKeyId: Buffer | undefined
  /** Whether a critical extension is not supported. */
  readonly hasUnhandled: boolean
}

const malformed = (): Error => new Error('x509: malformed certificate')

interface Extension {
  readonly id: string
  readonly isCritical: boolean
  readonly value: Buffer
}

function readExtension({ tag, content }: DerElement): Extension {
  const parts = tag === tags.sequence ? elementsOf(content, [tags.oid]) : undefined
  const [id, second, third] = parts ?? []
  const critical = second?.tag === tags.boolean ? second : undefined
  const value = critical === undefined ? second : third
  if (id === undefined || value?.tag !== tags.octetString) throw malformed()
  return {
    id: id.content.toString('hex'),
    isCritical: critical?.content[0] === 0xff,
    value: value.content,
  }
}

const ids = {
  subjectKeyId: '551d0e',
  keyUsage: '551d0f',
  subjectNames: '551d11',
  basics: '551d13',
  constraints: '551d1e',
  authorityKeyId: '551d23',
  uses: '551d25',
} as const

/** Revocation lists and policies. Policies matter only with policy constraints. */
const withoutEffect = ['551d1f', '551d20', '551d21', '551d36']
/** Requires policies, which this server does not evaluate: rejected, critical or not. */
const policyConstraints = '551d24'

const known: readonly string[] = [...Object.values(ids), ...withoutEffect]

function sequenceIn(value: Buffer): readonly DerElement[] {
  const [sequence] = elementsOf(value, [tags.sequence]) ?? []
  const elements = sequence && elementsOf(sequence.content)
  if (elements === undefined) throw malformed()
  return elements
}

function readBasics(value: Buffer | undefined): Certificate['basics'] {
  if (value === undefined) return undefined
  const elements = sequenceIn(value)
  const flag = elements.find(({ tag }) => tag === tags.boolean)
  const length = elements.find(({ tag }) => tag === tags.integer)
  if (length !== undefined && (length.content.length === 0 || length.content.length > 4)) {
    throw malformed()
  }
  return {
    isAuthority: flag?.content[0] === 0xff,
    pathLength: length?.content.readIntBE(0, length.content.length) ?? Infinity,
  }
}

const certificateSigning = 0x04 // bit 5 of the first byte

function readMaySign(value: Buffer | undefined): boolean {
  if (value === undefined) return true
  const [bits] = elementsOf(value, [tags.bitString]) ?? []
  if (bits === undefined) throw malformed()
  const flags = bits.content.subarray(1)
  // Go treats empty flags as an absent key usage.
  return flags.every((byte) => byte === 0) || ((flags[0] ?? 0) & certificateSigning) !== 0
}

const keyIdTag = 0x80

function readExtensions(
  elements: readonly DerElement[],
): Pick<
  Certificate,
  | 'basics'
  | 'maySign'
  | 'uses'
  | 'names'
  | 'constraints'
  | 'subjectKeyId'
  | 'authorityKeyId'
  | 'hasUnhandled'
> {
  const extensions = new Map(elements.map(readExtension).map((one) => [one.id, one]))
  if (extensions.size !== elements.length) throw malformed() // a duplicate extension
  const valueOf = (id: string): Buffer | undefined => extensions.get(id)?.value
  const read = <T>(id: string, reader: (value: Buffer) => T): T | undefined => {
    const value = valueOf(id)
    return value === undefined ? undefined : reader(value)
  }
  const names = read(ids.subjectNames, readSubjectNames)
  const constraints = read(ids.constraints, readNameConstraints)
  const kinds = [names?.dns, names?.emails, names?.uris, names?.ips]
  const hasNoKnownName = kinds.every((list = []) => list.length === 0)
  const isUnhandled = ({ id, isCritical }: Extension): boolean =>
    id === policyConstraints ||
    (isCritical &&
      (!known.includes(id) ||
        (id === ids.subjectNames && hasNoKnownName) ||
        (id === ids.constraints && constraints?.hasOthers === true)))
  return {
    basics: readBasics(valueOf(ids.basics)),
    maySign: readMaySign(valueOf(ids.keyUsage)),
    uses: (read(ids.uses, sequenceIn) ?? []).map(({ content }) => content.toString('hex')),
    names,
    constraints,
    subjectKeyId: read(ids.subjectKeyId, (value) => elementAt(value, 0)?.content),
    authorityKeyId: read(
      ids.authorityKeyId,
      (value) => sequenceIn(value).find(({ tag }) => tag === keyIdTag)?.content,
    ),
    hasUnhandled: [...extensions.values()].some(isUnhandled),
  }
}

const versionTag = 0xa0
const extensionsTag = 0xa3

/** Reads a certificate. Throws an Error when it is malformed. */
export function readCertificate(der: Buffer): Certificate {
  let x509: X509Certificate
  try {
    x509 = new X509Certificate(der)
  } catch (error) {
    throw new Error('x509: malformed certificate', { cause: error })
  }
  const { raw } = x509
  const whole = elementAt(raw, 0)
  const [signed, signatureAlgorithm] =
    (whole && elementsOf(whole.content, [tags.sequence, tags.sequence, tags.bitString])) ?? []
  const parts = signed && elementsOf(signed.content)
  if (parts === undefined || signatureAlgorithm === undefined) throw malformed()
  const hasVersion = parts[0]?.tag === versionTag
  const version = hasVersion ? (parts[0]?.content.at(-1) ?? 0) + 1 : 1
  const [, , issuer, , subject, keyInfo, ...rest] = hasVersion ? parts.slice(1) : parts
  if (issuer === undefined || subject === undefined || keyInfo === undefined) throw malformed()
  const extensions = rest.find(({ tag }) => tag === extensionsTag)
  return {
    x509,
    raw,
    version,
    issuer: issuer.raw,
    subject: subject.raw,
    keyInfo: keyInfo.raw,
    fromMs: x509.validFromDate.getTime(),
    untilMs: x509.validToDate.getTime(),
    signatureAlgorithm: signatureAlgorithm.raw,
    ...readExtensions(extensions === undefined ? [] : sequenceIn(extensions.content)),
  }
}

/** The key, or undefined for one that OpenSSL does not read. */
export function keyOf({ x509 }: Certificate): KeyObject | undefined {
  try {
    return x509.publicKey
  } catch {
    // An unknown kind or curve: no signature of this key can be checked.
    return undefined
  }
}
