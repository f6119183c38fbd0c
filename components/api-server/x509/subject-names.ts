/** Names in certificates (RFC 5280, GeneralNames): the names of a subject, and the names that constrain an authority. */
import { tag as tags, type DerElement } from '../../../certs/der.ts'
import { elementsOf } from './der.ts'

export interface SubjectNames {
  /** The extension's value, to compare certificates by. */
  readonly raw: Buffer
  readonly dns: readonly string[]
  readonly emails: readonly string[]
  readonly uris: readonly string[]
  /** 4 or 16 bytes each. */
  readonly ips: readonly Buffer[]
}

/** The names of one kind in a constraint; an IP address is followed by its mask. */
export type NameSet = Omit<SubjectNames, 'raw'>

export interface NameConstraints {
  /** Undefined: everything. A kind without names is not limited. */
  readonly permitted: NameSet | undefined
  readonly excluded: NameSet | undefined
  /** Whether it constrains kinds of names that this server does not support. */
  readonly hasOthers: boolean
}

const malformed = (what: string): Error => new Error(`x509: ${what}`)

const kinds = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const

function ia5({ content }: DerElement, what: string): string {
  if (content.some((byte) => byte > 0x7f)) throw malformed(`${what} is malformed`)
  return content.toString('latin1')
}

/** The names of the known kinds, and whether there are others. Throws for one that is malformed. */
function namesOf(
  elements: readonly DerElement[],
  ipLengths: readonly number[],
): NameSet & { readonly hasOthers: boolean } {
  const of = (tag: number): DerElement[] => elements.filter((element) => element.tag === tag)
  const ips = of(kinds.ip).map(({ content }) => content)
  if (ips.some(({ length }) => !ipLengths.includes(length))) {
    throw malformed('cannot parse IP address')
  }
  const known: readonly number[] = Object.values(kinds)
  return {
    dns: of(kinds.dns).map((element) => ia5(element, 'SAN dNSName')),
    emails: of(kinds.email).map((element) => ia5(element, 'SAN rfc822Name')),
    uris: of(kinds.uri).map((element) => ia5(element, 'SAN uniformResourceIdentifier')),
    ips,
    hasOthers: elements.some(({ tag }) => !known.includes(tag)),
  }
}

/** Reads the value of the extension subjectAltName. Throws an Error when it is malformed. */
export function readSubjectNames(raw: Buffer): SubjectNames {
  const [sequence, more] = elementsOf(raw, [tags.sequence]) ?? []
  const elements = sequence && more === undefined ? elementsOf(sequence.content) : undefined
  if (elements === undefined) throw malformed('invalid subject alternative names')
  return { raw, ...namesOf(elements, [4, 16]) }
}

function readSubtrees(element: DerElement | undefined): ReturnType<typeof namesOf> | undefined {
  if (element === undefined) return undefined
  const bases = elementsOf(element.content)?.map(({ tag, content }) =>
    // Minimum and maximum would follow; RFC 5280 has neither.
    tag === tags.sequence ? elementsOf(content) : undefined,
  )
  const trees = bases?.map((base) => (base?.length === 1 ? base[0] : undefined))
  if (trees === undefined || trees.some((tree) => tree === undefined)) {
    throw malformed('invalid NameConstraints extension')
  }
  return namesOf(
    trees.filter((tree) => tree !== undefined),
    [8, 32],
  )
}

const permittedTag = 0xa0
const excludedTag = 0xa1

/** Reads the value of the extension nameConstraints. Throws an Error when it is malformed. */
export function readNameConstraints(raw: Buffer): NameConstraints {
  const [sequence, more] = elementsOf(raw, [tags.sequence]) ?? []
  const elements = sequence && more === undefined ? elementsOf(sequence.content) : undefined
  const isKnown = elements?.every(({ tag }) => tag === permittedTag || tag === excludedTag)
  if (elements === undefined || elements.length === 0 || isKnown !== true) {
    throw malformed('invalid NameConstraints extension')
  }
  const permitted = readSubtrees(elements.find(({ tag }) => tag === permittedTag))
  const excluded = readSubtrees(elements.find(({ tag }) => tag === excludedTag))
  const hasOthers = permitted?.hasOthers === true || excluded?.hasOthers === true
  return { permitted, excluded, hasOthers }
}
