/** journal-query: the query of `/explain/requests`: which records a client wants. */
import { badRequest } from '../../machinery/objects/status-error.ts'
import { mostWrites } from '../filters/request-journal.ts'
import { isProbe } from '../request/probes.ts'
import type { KeptRequest } from '../filters/kept-request.ts'

const usualRecords = 500
/** More than are kept. */
const mostRecords = 2 * mostWrites

export interface JournalQuery {
  readonly follow: boolean
  /** Of what is kept, the newest this many. */
  readonly limit: number
  /** Only records after this position; 0: all. */
  readonly since: number
  readonly matches: (record: KeptRequest) => boolean
}

const parameters = [
  'limit',
  'since',
  'follow',
  'all',
  'user',
  'verb',
  'resource',
  'namespace',
  'name',
  'writes',
  'minStatus',
]
/** What any GET may carry. */
const common = new Set(['pretty', 'timeout'])

function flagOf(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false'
  if (text === '' || text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw badRequest(`${name} must be true or false, not ${JSON.stringify(text)}`)
}

function numberOf(
  query: URLSearchParams,
  name: string,
  { usual, least, most }: { usual: number; least: number; most: number },
): number {
  const text = query.get(name)
  if (text === null) return usual
  const number = /^\d{1,16}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= most) return number
  throw badRequest(`${name} must be a whole number from ${least} to ${most}`)
}

/** `pods`, `pods/status`, `deployments.apps`, `deployments.apps/scale`; without a sub-resource, all of them and none. */
function resourceTest(text: string | null): (record: KeptRequest) => boolean {
  if (text === null) return () => true
  const [, plural = '', group, , subresource] =
    /^([^./]+)(?:\.([^/]+))?(\/([^/]+))?$/.exec(text) ?? []
  if (plural === '') {
    throw badRequest(
      `resource ${JSON.stringify(text)} is invalid: name it as pods, pods/status or deployments.apps`,
    )
  }
  return (record) =>
    record.resource === plural &&
    (group === undefined || record.group === group) &&
    (subresource === undefined || record.subresource === subresource)
}

function refuseUnknown(query: URLSearchParams): void {
  for (const name of query.keys()) {
    if (parameters.includes(name) || common.has(name)) continue
    throw badRequest(`unknown parameter ${JSON.stringify(name)}: use ${parameters.join(', ')}`)
  }
}

/** Throws 400 for an invalid query. */
export function journalQueryOf(query: URLSearchParams): JournalQuery {
  refuseUnknown(query)
  const [user, verb] = [query.get('user'), query.get('verb')]
  const [namespace, name] = [query.get('namespace'), query.get('name')]
  const isResource = resourceTest(query.get('resource'))
  const [onlyWrites, withProbes] = [flagOf(query, 'writes'), flagOf(query, 'all')]
  const minStatus = numberOf(query, 'minStatus', { usual: 0, least: 100, most: 599 })
  return {
    follow: flagOf(query, 'follow'),
    limit: numberOf(query, 'limit', { usual: usualRecords, least: 1, most: mostRecords }),
    since: numberOf(query, 'since', { usual: 0, least: 0, most: Number.MAX_SAFE_INTEGER }),
    matches: (record) =>
      (user === null || record.user === user) &&
      (verb === null || record.verb === verb) &&
      (namespace === null || record.namespace === namespace) &&
      (name === null || record.name === name) &&
      record.status >= minStatus &&
      (!onlyWrites || record.isWrite) &&
      isResource(record) &&
      (withProbes || !isProbe(record)),
  }
}
