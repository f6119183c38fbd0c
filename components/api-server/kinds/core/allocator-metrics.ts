/**
 * Metrics of the addresses and node ports that Services use (upstream: pkg/registry/core/service/ipallocator/metrics.go and
 * portallocator/metrics.go). Dry runs do not count.
 */
import type { Metrics } from '../../../component-base/metrics.ts'
import type { ServicePool } from './service-pool.ts'

/** A value that a client names is static. */
type Scope = 'static' | 'dynamic'

type CountAllocation = (scope: Scope, isOk: boolean) => void

/** How many values there are, and how many Services use. */
type Use = () => { readonly used: number; readonly size: number }

interface Declaration {
  readonly prefix: string
  /** In names: `allocated_ips`. */
  readonly unit: string
  /** In help texts. */
  readonly noun: string
  /** The label that tells ranges apart; undefined: there is one. */
  readonly cidr?: string
}

function declare(
  metrics: Metrics,
  { prefix, unit, noun, cidr }: Declaration,
  use: Use,
): CountAllocation {
  const labels = cidr === undefined ? [] : ['cidr']
  const values = cidr === undefined ? [] : [cidr]
  const gauge = (state: string, read: () => number): void =>
    metrics.observed(
      {
        kind: 'gauge',
        name: `${prefix}_${state}_${unit}`,
        help: `Gauge measuring the number of ${state} ${noun} for Services`,
        labels,
      },
      () => [{ labels: values, value: read() }],
    )
  gauge('allocated', () => use().used)
  gauge('available', () => use().size - use().used)
  const allocations = metrics.counter({
    name: `${prefix}_allocation_total`,
    help: `Number of allocations of ${noun}: static, of those that clients name, and dynamic.`,
    labels: [...labels, 'scope'],
  })
  const errors = metrics.counter({
    name: `${prefix}_allocation_errors_total`,
    help: `Number of errors trying to allocate ${noun}.`,
    labels: [...labels, 'scope'],
  })
  return (scope, isOk) => (isOk ? allocations : errors).with(...values, scope).inc()
}

function countedPool<T>(pool: ServicePool<T>, count: CountAllocation): ServicePool<T> {
  return {
    take: (value, request) => {
      const why = pool.take(value, request)
      if (!request.dryRun) count('static', why === undefined)
      return why
    },
    next: (request) => {
      const value = pool.next(request)
      if (!request.dryRun) count('dynamic', value !== undefined)
      return value
    },
    isPicked: (value, request) => pool.isPicked(value, request),
    release: (draft) => pool.release(draft),
  }
}

/** The same pool of cluster IPs. */
export function countedAddresses(
  pool: ServicePool<string>,
  { metrics, cidr, use }: { readonly metrics: Metrics; readonly cidr: string; readonly use: Use },
): ServicePool<string> {
  const prefix = 'kube_apiserver_clusterip_allocator'
  return countedPool(pool, declare(metrics, { prefix, unit: 'ips', noun: 'IPs', cidr }, use))
}

/** The same pool of node ports. */
export function countedPorts(
  pool: ServicePool<number>,
  { metrics, use }: { readonly metrics: Metrics; readonly use: Use },
): ServicePool<number> {
  const prefix = 'kube_apiserver_nodeport_allocator'
  return countedPool(pool, declare(metrics, { prefix, unit: 'ports', noun: 'NodePorts' }, use))
}
