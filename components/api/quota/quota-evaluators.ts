/** QuotaEvaluators: how each kind is counted, and the kinds that never are (upstream: pkg/quota/v1/install/registry.go). */
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiGroup, type Dialect } from '../dialect.ts'
import { objectCountQuota } from './object-count-quota.ts'
import { podQuota } from './pod-quota.ts'
import type { QuotaEvaluator } from './quota-evaluator.ts'
import { resourceClaimQuota } from './resource-claim-quota.ts'
import { serviceQuota } from './service-quota.ts'
import { volumeClaimQuota } from './volume-claim-quota.ts'

export interface QuotaEvaluators {
  /** How objects of the kind count; undefined for kinds that quotas ignore. Any kind not known before counts by number. */
  of(kind: Pick<Resource, 'group' | 'plural'>): QuotaEvaluator | undefined
  /** Those that count more than numbers, or under an older name too. */
  readonly special: readonly QuotaEvaluator[]
}

/** Core kinds that also count under their bare name. */
const aliased = ['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets']

function ignoredKinds(dialect: Dialect): ReadonlySet<string> {
  const reviews = {
    authentication: ['tokenreviews', 'selfsubjectreviews'],
    authorization: [
      'subjectaccessreviews',
      'selfsubjectaccessreviews',
      'localsubjectaccessreviews',
      'selfsubjectrulesreviews',
    ],
    events: ['events'],
  }
  const inGroups = Object.entries(reviews).flatMap(([stem, plurals]) =>
    plurals.map((plural) => `${apiGroup(dialect, stem)}/${plural}`),
  )
  return new Set(['/bindings', '/componentstatuses', '/events', ...inGroups])
}

export function createQuotaEvaluators(dialect: Dialect): QuotaEvaluators {
  const special = [
    podQuota(dialect),
    serviceQuota,
    volumeClaimQuota(dialect),
    resourceClaimQuota(dialect),
    ...aliased.map((plural) => objectCountQuota({ group: '', plural }, plural)),
  ]
  const keyOf = ({ group, plural }: Pick<Resource, 'group' | 'plural'>): string =>
    `${group}/${plural}`
  const ignored = ignoredKinds(dialect)
  const known = new Map(special.map((evaluator) => [keyOf(evaluator), evaluator]))
  return {
    special,
    of: (kind) => {
      const key = keyOf(kind)
      if (ignored.has(key)) return undefined
      const found = known.get(key) ?? objectCountQuota(kind)
      known.set(key, found)
      return found
    },
  }
}
