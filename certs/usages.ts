/** Key usages by upstream's names (CertificateSigningRequest `spec.usages`), and their X.509 extensions. */
import { namedBits, oid, sequence } from './der.ts'

const keyUsageBits = {
  signing: 0,
  'digital signature': 0,
  'content commitment': 1,
  'key encipherment': 2,
  'data encipherment': 3,
  'key agreement': 4,
  'cert sign': 5,
  'crl sign': 6,
  'encipher only': 7,
  'decipher only': 8,
} as const

const extendedUsageIds = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
} as const

export type KeyUsage = keyof typeof keyUsageBits | keyof typeof extendedUsageIds

/** Whether the text is one of upstream's usage names. */
export function isKeyUsage(usage: string): usage is KeyUsage {
  return Object.hasOwn(keyUsageBits, usage) || Object.hasOwn(extendedUsageIds, usage)
}

/** The KeyUsage bit string, or undefined when no bit is asked for. */
export function encodeKeyUsage(usages: readonly KeyUsage[]): Buffer | undefined {
  const bits = usages.filter((usage) => usage in keyUsageBits)
  if (bits.length === 0) return undefined
  return namedBits(bits.map((usage) => keyUsageBits[usage as keyof typeof keyUsageBits]))
}

/** The ExtKeyUsage sequence, or undefined when no extended usage is asked for. */
export function encodeExtendedKeyUsage(usages: readonly KeyUsage[]): Buffer | undefined {
  const ids = usages
    .filter((usage) => usage in extendedUsageIds)
    .map((usage) => extendedUsageIds[usage as keyof typeof extendedUsageIds])
  return ids.length === 0 ? undefined : sequence(...[...new Set(ids)].map(oid))
}

/** Upstream's names of the bits in a KeyUsage flag word (bit n is `1 << n`). */
export function keyUsageNames(flags: number): KeyUsage[] {
  const names = Object.entries(keyUsageBits) as [KeyUsage, number][]
  return names
    .filter(([name, bit]) => name !== 'signing' && (flags & (1 << bit)) !== 0)
    .map(([name]) => name)
}

/** Upstream's name of an extended usage, or the identifier itself when it has none. */
export function extendedUsageName(id: string): string {
  return Object.entries(extendedUsageIds).find(([, known]) => known === id)?.[0] ?? id
}
