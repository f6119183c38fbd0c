/** The list of all invariants, and what it takes to judge a cluster by them. */
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Change } from '../../monitors/change.ts'
import type { Finding, Rule } from '../../monitors/monitor.ts'
import { cascade } from '../../monitors/rules/cascade.ts'
import { disruptionBudget } from '../../monitors/rules/disruption-budget.ts'
import { hotLoop } from '../../monitors/rules/hot-loop.ts'
import { statefulIdentity } from '../../monitors/rules/stateful-identity.ts'
import { linesOf, type Invariant } from './invariant.ts'
import { jobCounts } from './job-counts.ts'
import { nodeRoom } from './node-room.ts'
import { quotaLimits } from './quota-limits.ts'

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

/** A monitor's rule, or an invariant of the tests alone. */
type Judged =
  Invariant | (Required<Pick<Rule, 'take'>> & Pick<Rule, 'rest'> & { readonly name: string })

export function createJudge(options: InvariantOptions): Judge {
  const { dialect, patienceMs } = options
  const watched = watchedKinds(dialect)
  const invariants: readonly Judged[] = [
    { name: 'one pod per StatefulSet identity', ...statefulIdentity() },
    { name: 'an eviction never breaks a budget', ...disruptionBudget() },
    nodeRoom(),
    jobCounts(),
    quotaLimits(dialect),
    { name: 'no orphan stays after a cascade', ...cascade({ watched: () => watched, patienceMs }) },
    { name: 'nothing spins', ...hotLoop() },
  ]
  const violations: string[] = []
  const note = (name: string, found: readonly (Finding | string)[]): void => {
    for (const one of linesOf(found))
      if (violations.length < mostViolations) violations.push(`${name}: ${one}`)
  }
  return {
    violations,
    take: (change) => {
      for (const { name, take } of invariants) note(name, take(change))
    },
    rest: (nowMs) => {
      for (const one of invariants) if ('rest' in one) note(one.name, one.rest?.(nowMs) ?? [])
    },
  }
}
