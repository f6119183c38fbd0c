/** The pod-template-hash of a Deployment's ReplicaSets: short, of safe letters, the same for the same template. Pure. */
import type { PodTemplateSpec } from '../../api/generated/types.ts'

/** No vowels and no digits that look like letters, so that no word comes out (upstream: apimachinery util/rand). */
const letters = 'bcdfghjklmnpqrstvwxz2456789'

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined && field !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`
}

/** FNV-1 with 32 bits, as upstream's hash. */
function fnv32(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash, 0x01000193) ^ byte
  return hash >>> 0
}

/** `collisions` makes another hash of the same template, for when a name is taken. */
export function templateHash(template: PodTemplateSpec, collisions = 0): string {
  const text = canonical(template) + (collisions === 0 ? '' : `#${collisions}`)
  const digits = String(fnv32(new TextEncoder().encode(text)))
  return digits.replaceAll(/./g, (digit) => letters[digit.charCodeAt(0) % letters.length] ?? '')
}
