import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linearize } from './linearize.ts'
import type { Operation, Outcome, Request } from './operation.ts'
import { registerModel } from './register.ts'

let ids = 0

/** An operation on the one key, from `callMs` to `returnMs`. */
function op(callMs: number, returnMs: number, request: Request, outcome: Outcome): Operation {
  ids += 1
  return { id: ids, client: 'c', server: 's', key: 'k', request, callMs, returnMs, outcome }
}

const create = (value: string): Request => ({ verb: 'create', value })
const update = (value: string, expected?: number): Request =>
  expected === undefined ? { verb: 'update', value } : { verb: 'update', value, expected }
const get: Request = { verb: 'get' }
const remove: Request = { verb: 'delete' }
const written = (revision: number): Outcome => ({ result: 'written', revision })
const found = (value: string, revision: number): Outcome => ({ result: 'found', value, revision })
const absent: Outcome = { result: 'absent' }
const unknown: Outcome = { result: 'unknown' }
const deleted: Outcome = { result: 'deleted' }

function verdictOf(operations: readonly Operation[], mostSteps?: number) {
  const intervals = operations.map((operation) => {
    const { callMs, returnMs, outcome } = operation
    return { operation, callMs, returnMs: outcome.result === 'unknown' ? Infinity : returnMs }
  })
  return linearize(registerModel, intervals, mostSteps === undefined ? {} : { mostSteps }).result
}

test.each<[string, Operation[]]>([
  [
    'a stale read',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 3, update('b'), written(2)),
      op(4, 5, get, found('a', 1)),
    ],
  ],
  [
    'a lost update',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 5, update('b', 1), written(2)),
      op(2, 5, update('c', 1), written(3)),
    ],
  ],
  [
    'two creations of one name',
    [op(0, 5, create('a'), written(1)), op(0, 5, create('b'), written(2))],
  ],
  [
    'a deleted object that is back',
    [op(0, 1, create('a'), written(1)), op(2, 3, remove, deleted), op(4, 5, get, found('a', 1))],
  ],
  [
    'reads that go back',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 9, update('b'), written(2)),
      op(3, 4, get, found('b', 2)),
      op(5, 6, get, found('a', 1)),
    ],
  ],
  [
    'the write of a request that failed',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 3, update('b', 7), { result: 'conflict' }),
      op(4, 5, get, found('b', 2)),
    ],
  ],
  [
    'a conflict with the resourceVersion that the object has',
    [op(0, 1, create('a'), written(1)), op(2, 3, update('b', 1), { result: 'conflict' })],
  ],
  ['an object that is not found', [op(0, 1, create('a'), written(1)), op(2, 3, get, absent)]],
  [
    'a revision that goes back',
    [op(0, 1, create('a'), written(5)), op(2, 3, update('b'), written(4))],
  ],
  [
    'a lost write that is seen, gone, and seen again',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 3, update('b'), unknown),
      op(4, 5, get, found('b', 2)),
      op(6, 7, get, found('a', 1)),
      op(8, 9, get, found('b', 2)),
    ],
  ],
])('finds %s', (_, operations) => {
  expect(verdictOf(operations)).toBe('violated')
})

test.each<[string, Operation[]]>([
  [
    'concurrent writes in either order',
    [
      op(0, 9, create('a'), written(1)),
      op(0, 9, update('b'), written(2)),
      op(0, 9, remove, deleted),
      op(0, 9, create('c'), written(4)),
      op(10, 11, get, found('c', 4)),
    ],
  ],
  [
    'a read during a write that shows either',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 9, update('b'), written(2)),
      op(3, 4, get, found('a', 1)),
      op(5, 6, get, found('b', 2)),
    ],
  ],
  [
    'a write of unknown outcome that happens late',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 3, update('b'), unknown),
      op(4, 5, get, found('a', 1)),
      op(6, 7, get, found('b', 2)),
    ],
  ],
  [
    'a write of unknown outcome that never happens',
    [op(0, 1, create('a'), unknown), op(4, 5, get, absent), op(6, 7, create('b'), written(1))],
  ],
  [
    'a deletion of unknown outcome that others see',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 3, remove, unknown),
      op(4, 5, create('b'), written(3)),
    ],
  ],
  [
    'one of two updates that expect the same',
    [
      op(0, 1, create('a'), written(1)),
      op(2, 5, update('b', 1), written(2)),
      op(2, 5, update('c', 1), { result: 'conflict' }),
    ],
  ],
])('takes %s', (_, operations) => {
  expect(verdictOf(operations)).toBe('linearizable')
})

test('says when it gave up', () => {
  const writes = Array.from({ length: 12 }, (_, at) => op(0, 100, update(`v${at}`), unknown))
  const history = [op(-2, -1, create('a'), written(1)), ...writes, op(50, 101, get, absent)]
  expect(verdictOf(history, 1000)).toBe('gave-up')
})

/** A register that does as it should, told by clients that overlap. */
function honestHistory(random: { verb: number; lengthMs: number; isLost: boolean }[]): Operation[] {
  let revision = 0
  let held: { value: string; revision: number } | undefined
  const answer = (request: Request): Outcome => {
    if (request.verb === 'get') return held === undefined ? absent : { result: 'found', ...held }
    if (request.verb === 'create' && held !== undefined) return { result: 'exists' }
    if (request.verb !== 'create' && held === undefined) return absent
    revision += 1
    held = 'value' in request ? { value: request.value, revision } : undefined
    return 'value' in request ? written(revision) : deleted
  }
  return random.map(({ verb, lengthMs, isLost }, at) => {
    const requests = [create(`v${at}`), update(`v${at}`), remove, get]
    const request = requests[verb] ?? get
    const outcome = answer(request)
    return op(at - lengthMs, at + lengthMs, request, isLost ? unknown : outcome)
  })
}

const someRequests = fc.array(
  fc.record({
    verb: fc.nat(3),
    lengthMs: fc.double({ min: 0, max: 4, noNaN: true }),
    isLost: fc.boolean(),
  }),
  { maxLength: 40 },
)

test('takes every history of a register that does as it should', () => {
  fc.assert(
    fc.property(someRequests, (random) => {
      expect(verdictOf(honestHistory(random))).toBe('linearizable')
    }),
  )
})

test('agrees with a search through all orders', () => {
  const short = fc.array(
    fc.record({ verb: fc.nat(3), lengthMs: fc.constantFrom(0.1, 1, 2), isLost: fc.boolean() }),
    { minLength: 2, maxLength: 6 },
  )
  let violations = 0
  fc.assert(
    fc.property(short, fc.nat(5), fc.nat(5), (random, one, other) => {
      const history = honestHistory(random)
      const [a, b] = [history[one % history.length], history[other % history.length]]
      if (a === undefined || b === undefined) return
      // Two answers change places, so that most histories are wrong.
      const swapped = history.map((each) =>
        each === a
          ? { ...a, outcome: b.outcome }
          : each === b
            ? { ...b, outcome: a.outcome }
            : each,
      )
      const isPossible = hasOrder(swapped, registerModel.initial)
      if (!isPossible) violations += 1
      expect(verdictOf(swapped)).toBe(isPossible ? 'linearizable' : 'violated')
    }),
    { numRuns: 1000 },
  )
  expect(violations).toBeGreaterThan(100)
})

function hasOrder(left: readonly Operation[], state: typeof registerModel.initial): boolean {
  if (left.every(({ outcome }) => outcome.result === 'unknown')) return true
  const firstReturnMs = Math.min(
    ...left.map(({ outcome, returnMs }) => (outcome.result === 'unknown' ? Infinity : returnMs)),
  )
  return left.some((next) => {
    if (next.callMs > firstReturnMs) return false
    const after = registerModel.step(state, next)
    return (
      after !== undefined &&
      hasOrder(
        left.filter((one) => one !== next),
        after,
      )
    )
  })
}
