/** Short hashes for names: the same for the same text, of letters that form no words (upstream: util/hash, util/rand). Pure. */

/** No vowels and no digits that look like letters. */
const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** FNV-1 with 32 bits. */
function fnv32(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash, 0x01000193) ^ byte
  return hash >>> 0
}

export function safeHash(text: string): string {
  const digits = String(fnv32(new TextEncoder().encode(text)))
  return digits.replaceAll(/./g, (digit) => letters[digit.charCodeAt(0) % letters.length] ?? '')
}

/** JSON with sorted keys and without empty fields: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined && field !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`
}
