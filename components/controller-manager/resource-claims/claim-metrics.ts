/** The metrics of the resourceclaim controller (upstream: pkg/controller/resourceclaim/metrics as of 1.32, controller.go, enqueueResourceClaim). */
import type { ResourceClaim } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import type { Metrics } from '../../component-base/metrics.ts'

type ClaimCache = Pick<Informer<ResourceClaim>, 'list'>

export type ResourceClaimMetrics = ReturnType<typeof declareResourceClaimMetrics>

/** The two gauges are shown once the controller has named its cache of claims, which they count when they are read. */
export function declareResourceClaimMetrics(metrics: Metrics) {
  const subsystem = 'resourceclaim_controller'
  let cache: ClaimCache | undefined
  const count = (name: string, help: string, isCounted: (claim: ResourceClaim) => boolean): void =>
    metrics.observed({ kind: 'gauge', name: `${subsystem}_${name}`, help }, () =>
      cache === undefined ? [] : [{ value: cache.list().filter(isCounted).length }],
    )
  count('resource_claims', 'Number of ResourceClaims', () => true)
  count(
    'allocated_resource_claims',
    'Number of allocated ResourceClaims',
    ({ status }) => status?.allocation !== undefined,
  )
  return {
    follow: (claims: ClaimCache): void => void (cache = claims),
    attempts: metrics.counter({
      name: `${subsystem}_create_attempts_total`,
      help: 'Number of ResourceClaims creation requests',
    }),
    failures: metrics.counter({
      name: `${subsystem}_create_failures_total`,
      help: 'Number of ResourceClaims creation request failures',
    }),
  }
}
