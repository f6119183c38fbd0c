/** What users and trouble do to workloads in a random story: rounds of steps that are under way at the same time. */
import fc from 'fast-check'

const kind = <const T extends string>(value: T): fc.Arbitrary<T> => fc.constant(value)
/** Few names, so that steps meet. */
const name = fc.constantFrom('a', 'b')
const replicas = fc.nat({ max: 4 })
/** Which of those that there are, counted round and round. */
const which = fc.nat({ max: 20 })

const workload = fc.constantFrom('statefulSets', 'deployments', 'daemonSets', 'jobs')
const scalable = fc.constantFrom('statefulSets', 'deployments')
const rolled = fc.constantFrom('statefulSets', 'deployments', 'daemonSets')

const createSet = fc.record({ kind: kind('create-set'), name, replicas, isParallel: fc.boolean() })
const createDeployment = fc.record({ kind: kind('create-deployment'), name, replicas })
const createDaemonSet = fc.record({ kind: kind('create-daemon-set'), name })
const createJob = fc.record({
  kind: kind('create-job'),
  name,
  completions: fc.integer({ min: 1, max: 6 }),
  parallelism: fc.integer({ min: 1, max: 4 }),
  isIndexed: fc.boolean(),
  fails: fc.constantFrom(false, false, true),
})
const createBudget = fc.record({
  kind: kind('create-budget'),
  name,
  of: scalable,
  minAvailable: fc.constantFrom(1, 2, '50%'),
})
const createQuota = fc.record({ kind: kind('create-quota'), pods: fc.integer({ min: 1, max: 8 }) })
const createScaler = fc.record({ kind: kind('create-autoscaler'), name })
const scale = fc.record({ kind: kind('scale'), of: scalable, name, replicas })
const roll = fc.record({ kind: kind('roll'), of: rolled, name, image: fc.nat({ max: 3 }) })
const suspend = fc.record({ kind: kind('suspend'), name, suspended: fc.boolean() })
const parallelize = fc.record({
  kind: kind('parallelize'),
  name,
  parallelism: fc.integer({ min: 1, max: 4 }),
})
const remove = fc.record({
  kind: kind('delete'),
  of: workload,
  name,
  propagation: fc.constantFrom('Background', 'Background', 'Foreground', 'Orphan'),
})
const removeBudget = fc.record({ kind: kind('delete-budget'), name })
const evict = fc.record({ kind: kind('evict'), which })
const deletePod = fc.record({ kind: kind('delete-pod'), which })
const cordon = fc.record({ kind: kind('cordon'), which, cordoned: fc.boolean() })
const drain = fc.record({ kind: kind('drain'), which })

const step = fc.oneof(
  { weight: 4, arbitrary: createSet },
  { weight: 3, arbitrary: createDeployment },
  { weight: 1, arbitrary: createDaemonSet },
  { weight: 4, arbitrary: createJob },
  { weight: 3, arbitrary: createBudget },
  { weight: 1, arbitrary: createQuota },
  { weight: 1, arbitrary: createScaler },
  { weight: 4, arbitrary: scale },
  { weight: 3, arbitrary: roll },
  { weight: 2, arbitrary: suspend },
  { weight: 1, arbitrary: parallelize },
  { weight: 2, arbitrary: remove },
  { weight: 1, arbitrary: removeBudget },
  { weight: 6, arbitrary: evict },
  { weight: 3, arbitrary: deletePod },
  { weight: 1, arbitrary: cordon },
  { weight: 2, arbitrary: drain },
)
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** The process that is killed or held, and how long after the round's beginning. */
export interface Kill {
  readonly component: 'controller-manager' | 'api-server' | 'scheduler' | 'node'
  readonly which: number
  readonly afterMs: number
  /** It is stopped this long and goes on where it was; 0: it is killed. Longer than a leader's lease. */
  readonly heldMs: number
}

export interface Round {
  readonly steps: readonly Step[]
  readonly kills: readonly Kill[]
  /** The pause before the next round. */
  readonly pauseMs: number
}

const component = fc.constantFrom(
  'controller-manager' as const,
  'controller-manager' as const,
  'api-server' as const,
  'api-server' as const,
  'scheduler' as const,
  'node' as const,
)
const kill = fc.record({
  component,
  which,
  afterMs: fc.nat({ max: 800 }),
  heldMs: fc.constantFrom(0, 0, 0, 0, 6000),
})

/** Stories of up to so many rounds. */
export function workloadStories(rounds: number): fc.Arbitrary<Round[]> {
  const round = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 4 }),
    kills: fc.array(kill, { maxLength: 1 }),
    pauseMs: fc.constantFrom(0, 100, 500, 1500),
  })
  return fc.array(round, { minLength: 4, maxLength: rounds })
}
