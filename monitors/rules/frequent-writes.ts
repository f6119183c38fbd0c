/**
 * No client writes one object more than so often within a minute, whether the writes change something or not. Needs the request journal: a
 * watch does not show writes that change nothing.
 */
import type { RequestRecord } from '../../components/api/request-record.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import type { Finding, Rule, RuleContext, ViolatingObject } from '../monitor.ts'

const windowMs = 60_000
/** Pairs of actor and object that are counted; the one that wrote least recently is forgotten. */
const mostCounted = 5000

interface Counted {
  atMs: number[]
  isReported: boolean
}

/** `deployments.apps shop/web`. */
const whereOf = ({ resource, group, namespace, name }: RequestRecord): string =>
  `${group === '' ? resource : `${resource}.${group}`} ${namespace === '' ? name : `${namespace}/${name}`}`

/** A request knows the plural alone; of kinds that are not watched, it stands for the kind. */
function writtenObject(
  { group, resource, namespace, name }: RequestRecord,
  watched: ReturnType<RuleContext['watched']>,
): ViolatingObject {
  const known = watched.find((one) => one.group === group && one.plural === resource)
  return {
    apiVersion: known === undefined ? group : apiVersionOf(known),
    kind: known?.kind ?? resource,
    ...(namespace === '' ? {} : { namespace }),
    name,
  }
}

const isCounted = ({ verb, name, dryRun, status }: RequestRecord): boolean =>
  (verb === 'update' || verb === 'patch') && name !== '' && dryRun !== true && status < 500

/** `most`: writes a minute. */
export function frequentWrites(
  { watched }: Pick<RuleContext, 'watched'>,
  { most }: { readonly most: number },
): Required<Pick<Rule, 'request'>> {
  const counted = new Map<string, Counted>()
  return {
    request: (record): Finding[] => {
      if (!isCounted(record)) return []
      const { user, userAgent, atMs } = record
      const key = JSON.stringify([user, userAgent, whereOf(record)])
      const known = counted.get(key) ?? { atMs: [], isReported: false }
      counted.delete(key)
      counted.set(key, known)
      if (counted.size > mostCounted) counted.delete(counted.keys().next().value ?? '')
      known.atMs = [...known.atMs.filter((at) => at > atMs - windowMs), atMs]
      // Told again once it has been quiet in between.
      if (known.atMs.length <= most / 2) known.isReported = false
      if (known.isReported || known.atMs.length <= most) return []
      known.isReported = true
      const revisions = record.revision === undefined ? [] : [record.revision]
      const text = `${user} (${userAgent}) wrote ${whereOf(record)} ${known.atMs.length} times within a minute, last with ${record.verb} and status ${record.status}`
      return [{ object: writtenObject(record, watched()), revisions, text }]
    },
  }
}
