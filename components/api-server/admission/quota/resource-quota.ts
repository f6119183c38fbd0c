/**
 * ResourceQuota: rejects what a namespace's quotas have no room for, and reserves room for the rest (upstream:
 * apiserver/pkg/admission/plugin/resourcequota).
 */
import type { Dialect } from '../../../api/dialect.ts'
import type { ResourceQuota } from '../../../api/generated/types.ts'
import { createQuotaEvaluators } from '../../../api/quota/quota-evaluators.ts'
import { resourcesOf } from '../../../api/resources.ts'
import type { Clock } from '../../../component-base/clock.ts'
import { ExpiringCache } from '../../../component-base/expiring-cache.ts'
import { splitKey } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import type { OwnClient } from '../own-client.ts'
import { createPendingWrites } from './pending-writes.ts'
import { checkQuotas, type LimitedResource, type QuotaRequest } from './quota-check.ts'
import { raiseToFloor } from './quota-floor.ts'
import { createReserve } from './reservations.ts'

export interface ResourceQuotaOptions {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly clock: Clock
  readonly client: OwnClient
  /** All kinds that are served now. */
  readonly served: () => readonly Resource[]
  /** Default: none. */
  readonly limited?: readonly LimitedResource[] | undefined
}

const none: readonly ResourceQuota[] = []

/** As upstream's (release 1.32, resource_access.go). */
const mostLookups = 100
const lookupMs = 30_000

/**
 * Where the server has seen no quota of a namespace, another one may just have written the first: catches up with the store, for
 * each namespace every 30 s at most. Undefined: there is nothing to wait for.
 */
function createLiveLookup(
  reader: ObjectReader,
  clock: Clock,
): (namespace: string) => Promise<unknown> | undefined {
  const lookups = new ExpiringCache<Promise<unknown>>({ most: mostLookups, clock })
  return (namespace) => {
    const known = lookups.get(namespace)
    if (known !== undefined) return known
    const lookup = reader.refresh?.()
    if (lookup !== undefined) lookups.set(namespace, lookup, lookupMs)
    return lookup
  }
}

/** The quotas of a namespace. A namespace without quotas, which is the usual case, costs one look-up. */
function createQuotaLookup(reader: ObjectReader, resource: Resource) {
  let counts: Map<string, number> | undefined
  reader.onChange(resource, ({ type, key }) => {
    if (counts === undefined || type === 'MODIFIED') return
    const { namespace } = splitKey(key)
    const count = (counts.get(namespace) ?? 0) + (type === 'ADDED' ? 1 : -1)
    if (count > 0) counts.set(namespace, count)
    else counts.delete(namespace)
  })
  const countAll = (): Map<string, number> => {
    const found = new Map<string, number>()
    for (const { metadata } of reader.list(resource)) {
      const { namespace = '' } = metadata
      found.set(namespace, (found.get(namespace) ?? 0) + 1)
    }
    return found
  }
  return (namespace: string): readonly ResourceQuota[] => {
    counts ??= countAll()
    return counts.has(namespace)
      ? (reader.list(resource, namespace) as readonly ResourceQuota[])
      : none
  }
}

export function resourceQuotaAdmission(options: ResourceQuotaOptions): AdmissionPlugin {
  const { reader, dialect, clock, client, limited = [] } = options
  const { resourceQuotas, namespaces } = resourcesOf(dialect)
  const evaluators = createQuotaEvaluators(dialect)
  const quotasOf = createQuotaLookup(reader, resourceQuotas)
  const lookUp = createLiveLookup(reader, clock)
  const pending = createPendingWrites()
  const reserve = createReserve({
    quotasOf,
    client,
    resource: resourceQuotas,
    limited,
    pending,
    clock,
  })

  /** The request as quotas see it; undefined when they do not. */
  function quotaRequest(request: AdmissionRequest): QuotaRequest | undefined {
    const { operation, resource, object } = request
    const evaluator = object === undefined ? undefined : evaluators.of(resource)
    if (object === undefined || evaluator === undefined) return undefined
    if (operation === 'UPDATE' && !evaluator.changesOnUpdate) return undefined
    return { request: request as QuotaRequest['request'], evaluator }
  }

  function check(ask: QuotaRequest): Promise<void> | undefined {
    const { request } = ask
    const quotas = quotasOf(request.namespace)
    if (quotas.length === 0 && limited.length === 0) return undefined
    const charged = checkQuotas(ask, quotas, { limited, nowMs: clock.now() })
    if (request.dryRun || quotas.length === 0) return undefined
    request.release = () => pending.remove(ask)
    if (charged !== quotas) return reserve(ask)
    // A quota whose status is not counted yet must not miss it.
    pending.add(ask)
    return undefined
  }

  return {
    name: 'ResourceQuota',
    mutate({ operation, resource, subresource, object, old }) {
      if (resource !== resourceQuotas || operation !== 'UPDATE' || subresource !== 'status') return
      if (object === undefined || old === undefined) return
      const change = { draft: object as ResourceQuota, stored: old as ResourceQuota }
      const raise = (): void =>
        raiseToFloor({ ...options, evaluators, pending }, change, clock.now())
      // What other servers have stored counts, too.
      const refreshed = reader.refresh?.()
      return refreshed === undefined ? raise() : refreshed.then(raise)
    },
    validate(request) {
      const { operation, resource, subresource, namespace } = request
      if (subresource !== '' || namespace === '' || resource === namespaces) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const isUnseen = quotasOf(namespace).length === 0
      const lookup = isUnseen ? lookUp(namespace) : undefined
      if (isUnseen && lookup === undefined && limited.length === 0) return
      const ask = quotaRequest(request)
      if (ask === undefined) return
      return lookup === undefined ? check(ask) : lookup.then(() => check(ask))
    },
  }
}
