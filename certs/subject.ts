/** Subjects and subject alternative names: who a certificate is about, to and from DER. */
import {
  DerError,
  expect,
  implicit,
  oid,
  readAll,
  readOid,
  readText,
  sequence,
  setOf,
  tag,
  text,
} from './der.ts'
import type { DerElement } from './der.ts'

/** A distinguished name: the user is `commonName`, the groups are `organizations`. */
export interface Subject {
  readonly commonName: string
  readonly organizations: readonly string[]
}

export interface SubjectAlternativeNames {
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly uris: readonly string[]
}

export const noAlternativeNames: SubjectAlternativeNames = {
  dnsNames: [],
  ipAddresses: [],
  emailAddresses: [],
  uris: [],
}

const COMMON_NAME = '2.5.4.3'
const ORGANIZATION = '2.5.4.10'

/** Organizations first, then the common name, in the order upstream's encoder uses. */
export function encodeSubject(subject: Subject): Buffer {
  const attribute = (type: string, value: string): Buffer => sequence(oid(type), text(value))
  const relative: Buffer[] = []
  if (subject.organizations.length > 0) {
    relative.push(setOf(...subject.organizations.map((name) => attribute(ORGANIZATION, name))))
  }
  if (subject.commonName !== '') relative.push(setOf(attribute(COMMON_NAME, subject.commonName)))
  return sequence(...relative)
}

/** Reads a Name. The last common name wins, as upstream; other attributes are left out. */
export function decodeSubject(name: DerElement): Subject {
  let commonName = ''
  const organizations: string[] = []
  for (const relative of readAll(expect(name, tag.sequence).content)) {
    for (const pair of readAll(expect(relative, tag.set).content)) {
      const [type, value] = readAll(expect(pair, tag.sequence).content)
      const id = readOid(type)
      if (id === COMMON_NAME) commonName = readText(value)
      if (id === ORGANIZATION) organizations.push(readText(value))
    }
  }
  return { commonName, organizations }
}

function dottedBytes(text: string): number[] | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number)
  return parts?.every((part) => part < 256) ? parts : undefined
}

/** The bytes of colon-separated groups; the last group may be dotted. */
function groupBytes(text: string): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    const dotted = index === groups.length - 1 ? dottedBytes(group) : undefined
    if (dotted !== undefined) bytes.push(...dotted)
    else if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
    } else return undefined
  }
  return bytes
}

/** Four or sixteen bytes, or undefined. Not node:net, whose first check of an IPv6 address costs 7 ms. */
function parseAddress(address: string): number[] | undefined {
  if (!address.includes(':')) return dottedBytes(address)
  const [head = '', tail, ...more] = address.split('::')
  const left = groupBytes(head)
  const right = tail === undefined ? [] : groupBytes(tail)
  if (left === undefined || right === undefined || more.length > 0) return undefined
  const missing = 16 - left.length - right.length
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined
  return [...left, ...Array<number>(missing).fill(0), ...right]
}

/** Throws a TypeError on text that is no address. */
function addressBytes(address: string): Buffer {
  const bytes = parseAddress(address)
  if (bytes === undefined) throw new TypeError(`not an IP address: ${address}`)
  return Buffer.from(bytes)
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.')
  if (bytes.length !== 16) throw new DerError('an IP address has 4 or 16 bytes')
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

const EMAIL = 1
const DNS = 2
const URI = 6
const IP = 7

/** GeneralNames in DER, or undefined if the list is empty. */
export function encodeAlternativeNames(names: SubjectAlternativeNames): Buffer | undefined {
  const items = [
    ...names.dnsNames.map((name) => implicit(DNS, Buffer.from(name, 'latin1'))),
    ...names.emailAddresses.map((name) => implicit(EMAIL, Buffer.from(name, 'latin1'))),
    ...names.ipAddresses.map((name) => implicit(IP, addressBytes(name))),
    ...names.uris.map((name) => implicit(URI, Buffer.from(name, 'latin1'))),
  ]
  return items.length === 0 ? undefined : sequence(...items)
}

/** Reads GeneralNames; kinds of names that upstream ignores are left out. */
export function decodeAlternativeNames(names: DerElement): SubjectAlternativeNames {
  const found = {
    dnsNames: [] as string[],
    ipAddresses: [] as string[],
    emailAddresses: [] as string[],
    uris: [] as string[],
  }
  for (const name of readAll(expect(names, tag.sequence).content)) {
    const value = name.content.toString('latin1')
    if (name.tag === (0x80 | DNS)) found.dnsNames.push(value)
    if (name.tag === (0x80 | EMAIL)) found.emailAddresses.push(value)
    if (name.tag === (0x80 | URI)) found.uris.push(value)
    if (name.tag === (0x80 | IP)) found.ipAddresses.push(addressText(name.content))
  }
  return found
}
