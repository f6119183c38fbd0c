/** `spec.usages` of signing requests: known key usages, each once. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'

const knownUsages: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]

/** Kinds of faults that the stored usages have already are let pass. */
export function validateUsages(
  usages: readonly string[],
  old: readonly string[] | undefined,
  at: FieldPath,
): void {
  if (usages.length === 0) at.required('usages must be provided')
  if (old === undefined || old.every((usage) => knownUsages.includes(usage))) {
    for (const [i, usage] of usages.entries()) {
      if (!knownUsages.includes(usage)) at.index(i).unsupported(usage, knownUsages)
    }
  }
  if (old !== undefined && new Set(old).size < old.length) return
  const seen = new Set<string>()
  for (const [i, usage] of usages.entries()) {
    if (seen.has(usage)) at.index(i).duplicate(usage)
    seen.add(usage)
  }
}
