/** What two servers answer to the same create, without what differs from server to server. */
import type { Answer } from '../bench/load.ts'

const uid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g
const address = /"10\.96\.\d+\.\d+"/g
/** Go prints pointers as addresses. */
const pointer = /0x[\da-f]{6,}/g
/** Skiff says what it accepts and does not act on. */
const ownWarning = /(, )?299 - "this cluster has no [^"]*"/g
/** Go names the file of its scheme by how it was built. */
const scheme = /in scheme \\"[^"]*\\"/g

interface Status {
  readonly kind?: string
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly Record<string, string>[] }
}

/** Go walks maps in any order: causes are compared as a set, and a message only where there are none. */
function statusForm({ code, reason, message, details }: Status): unknown {
  const causes = (details?.causes ?? []).map((cause) => JSON.stringify(sorted(cause))).sort()
  return causes.length > 0 ? { code, reason, causes } : { code, reason, message }
}

function objectForm(object: Record<string, unknown>): unknown {
  const metadata = { ...(object['metadata'] as Record<string, unknown>) }
  for (const own of ['uid', 'creationTimestamp', 'resourceVersion']) delete metadata[own]
  const managed = metadata['managedFields'] as { fieldsV1: unknown }[] | undefined
  metadata['managedFields'] = managed?.map(({ fieldsV1 }) => fieldsV1)
  return { ...object, metadata }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

/** Text that is the same for answers that say the same. */
export function comparable({ status, bytes, warning }: Answer): string {
  const body = JSON.parse(bytes.toString()) as Record<string, unknown>
  const form = body['kind'] === 'Status' ? statusForm(body) : objectForm(body)
  return JSON.stringify(sorted({ status, body: form, warning: warning.replaceAll(ownWarning, '') }))
    .replaceAll(uid, 'UID')
    .replaceAll(address, '"ADDRESS"')
    .replaceAll(scheme, 'in scheme')
    .replaceAll(pointer, 'POINTER')
}

/** Both texts from shortly before the first place at which they differ. */
export function difference(ours: string, theirs: string): readonly [string, string] {
  let at = 0
  while (ours[at] === theirs[at]) at += 1
  const from = Math.max(0, at - 100)
  return [ours.slice(from, at + 300), theirs.slice(from, at + 300)]
}
