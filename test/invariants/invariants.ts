/** The list of all invariants, and what it takes to judge a cluster by them. */
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { cascade } from './cascade.ts'
import type { Change, Invariant } from './change.ts'
import { disruptionBudget } from './disruption-budget.ts'
import { hotLoop } from './hot-loop.ts'
import { jobCounts } from './job-counts.ts'
import { nodeRoom } from './node-room.ts'
import { quotaLimits } from './quota-limits.ts'
import { statefulIdentity } from './stateful-identity.ts'

export interface InvariantOptions {
  readonly dialect: Dialect
  /** How long the garbage collector may take. */
  readonly patienceMs: number
}

/** The kinds that the invariants look at. */
export function watchedKinds(dialect: Dialect): Resource[] {
  const resources = resourcesOf(dialect)
  return [
    resources.nodes,
    resources.pods,
    resources.services,
    resources.endpointSlices,
    resources.persistentVolumeClaims,
    resources.resourceQuotas,
    resources.replicationControllers,
    resources.replicaSets,
    resources.deployments,
    resources.statefulSets,
    resources.daemonSets,
    resources.controllerRevisions,
    resources.jobs,
    resources.cronJobs,
    resources.podDisruptionBudgets,
    resources.horizontalPodAutoscalers,
  ]
}

/** Collects violations; a bound keeps one fault that repeats from filling the memory. */
export interface Judge {
  take(change: Change): void
  /** The same for a cluster in which nothing has happened for a while. */
  rest(nowMs: number): void
  /** `invariant: what and where`, in the order they were found. */
  readonly violations: readonly string[]
}

const mostViolations = 100

export function createJudge(options: InvariantOptions): Judge {
  const { dialect, patienceMs } = options
  const invariants: readonly Invariant[] = [
    statefulIdentity(),
    disruptionBudget(),
    nodeRoom(),
    jobCounts(),
    quotaLimits(dialect),
    cascade({ watched: watchedKinds(dialect), patienceMs }),
    hotLoop(),
  ]
  const violations: string[] = []
  const note = (name: string, found: readonly string[]): void => {
    for (const one of found)
      if (violations.length < mostViolations) violations.push(`${name}: ${one}`)
  }
  return {
    violations,
    take: (change) => {
      for (const { name, take } of invariants) note(name, take(change))
    },
    rest: (nowMs) => {
      for (const { name, rest } of invariants) note(name, rest?.(nowMs) ?? [])
    },
  }
}
