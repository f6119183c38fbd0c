/** record-filter: which records a viewer wants to see. Pure. */
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { actorOf, targetOf, verbOf } from './record-text.ts'

/** Each word must be in the actor, the user, the verb, the target, the status or the user agent. */
export function matches(record: RequestRecord, words: string): boolean {
  const text =
    `${actorOf(record)} ${record.user} ${verbOf(record)} ${targetOf(record)} ${record.status} ${record.userAgent}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

const signs = new Set(['leases', 'events'])

/** Signs of life, which would drown everything else. */
export function isHeartbeat({ resource, subresource, user }: RequestRecord): boolean {
  if (signs.has(resource)) return true
  return resource === 'nodes' && subresource === 'status' && user.startsWith('system:node:')
}

/** Denied: the credential or the right was missing. */
export function isDenied({ status }: RequestRecord): boolean {
  return status === 401 || status === 403
}
