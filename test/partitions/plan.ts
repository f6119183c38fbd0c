/** Plan: which faults come when, and what each client asks. A seed gives the same plan on every machine. */
import fc from 'fast-check'
import { faultKinds, type FaultKind } from './faults.ts'

export interface Fault {
  readonly kind: FaultKind
  /** Chooses the host, by its number. */
  readonly which: number
  readonly forMs: number
  /** From its start to the next fault's: less than `forMs` if they overlap. */
  readonly nextAfterMs: number
}

export interface Step {
  readonly verb: 'create' | 'update' | 'patch' | 'delete' | 'get' | 'cached-get'
  readonly key: string
  readonly server: number
  /** Expects the resourceVersion that the client has seen last. */
  readonly isConditional: boolean
  readonly waitMs: number
}

export const keys = ['k1', 'k2', 'k3', 'k4', 'k5']

/** Every kind of fault once, one after the other. */
export function eachFault(seed: number): readonly Fault[] {
  const order = fc.shuffledSubarray([...faultKinds], { minLength: faultKinds.length })
  const faults = order.chain((kinds) =>
    fc.tuple(
      ...kinds.map((kind) =>
        fc.record({ which: fc.nat(59), forMs: fc.integer({ min: 300, max: 1500 }) }).map((one) => {
          return { kind, ...one, nextAfterMs: one.forMs + 200 }
        }),
      ),
    ),
  )
  return drawn(faults, seed)
}

/** Faults of any kind and length, that overlap, for `forMs`. */
export function manyFaults(seed: number, forMs: number): readonly Fault[] {
  const fault = fc.record({
    kind: fc.constantFrom(...faultKinds),
    which: fc.nat(59),
    // Longer than a call of etcd may take, now and then.
    forMs: fc.oneof(fc.integer({ min: 50, max: 2500 }), fc.integer({ min: 2500, max: 9000 })),
    nextAfterMs: fc.integer({ min: 100, max: 4000 }),
  })
  const all = drawn(fc.array(fault, { minLength: 200, maxLength: 200 }), seed)
  let atMs = 0
  return all.filter(({ nextAfterMs }) => {
    atMs += nextAfterMs
    return atMs <= forMs
  })
}

/** What one client asks, one after the other. */
export function stepsOf(options: {
  readonly seed: number
  readonly client: number
  readonly servers: number
  readonly writers: 'first' | 'all'
}): readonly Step[] {
  const { seed, client, servers, writers } = options
  const step = fc.record({
    verb: fc.oneof(
      { weight: 3, arbitrary: fc.constant('create' as const) },
      { weight: 4, arbitrary: fc.constant('update' as const) },
      { weight: 3, arbitrary: fc.constant('patch' as const) },
      { weight: 2, arbitrary: fc.constant('delete' as const) },
      { weight: 5, arbitrary: fc.constant('get' as const) },
      { weight: 2, arbitrary: fc.constant('cached-get' as const) },
    ),
    key: fc.constantFrom(...keys),
    server: fc.nat(servers - 1),
    isConditional: fc.boolean(),
    waitMs: fc.integer({ min: 0, max: 60 }),
  })
  const steps = fc.array(step, { minLength: 2000, maxLength: 2000 })
  return drawn(steps, seed * 1000 + client).map((one) => {
    const isRead = one.verb === 'get' || one.verb === 'cached-get'
    return isRead || writers === 'all' ? one : { ...one, server: 0 }
  })
}

function drawn<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  // Without a bias towards small values.
  const [value] = fc.sample(fc.noBias(arbitrary), { seed, numRuns: 1 })
  if (value === undefined) throw new Error('fast-check has drawn nothing')
  return value
}
