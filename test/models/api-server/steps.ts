/** What clients do in a random story: rounds of requests that are under way at the same time. */
import fc from 'fast-check'
import { everything, selections } from './selections.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd')
const label = fc.constantFrom('x', 'y', undefined)
const selection = fc.oneof(
  { weight: 1, arbitrary: fc.constant(everything) },
  { weight: 2, arbitrary: fc.constantFrom(...selections) },
)
/** Which of the versions heard of so far: 0 is the newest. */
const age = fc.nat({ max: 12 })
const kind = <const T extends string>(value: T): fc.Arbitrary<T> => fc.constant(value)

const create = fc.record({
  kind: kind('create'),
  name,
  label,
  finalizer: fc.boolean(),
})
const put = fc.record({
  kind: kind('put'),
  name,
  label,
  version: fc.constantFrom('none', 'known', 'stale'),
})
const patch = fc.record({
  kind: kind('patch'),
  name,
  label,
  type: fc.constantFrom('merge', 'json', 'strategic'),
  version: fc.constantFrom('none', 'known', 'stale'),
  releases: fc.boolean(),
})
const remove = fc.record({
  kind: kind('delete'),
  name,
  precondition: fc.constantFrom('none', 'version', 'uid', 'stale'),
})
const removeMany = fc.record({ kind: kind('deletecollection'), selection })
const get = fc.record({
  kind: kind('get'),
  name,
  at: fc.constantFrom('newest', 'zero', 'known', 'future'),
})
const list = fc.record({
  kind: kind('list'),
  selection,
  limit: fc.constantFrom(0, 1, 1, 2, 3),
  mode: fc.constantFrom('newest', 'zero', 'plain', 'not-older', 'exact', 'exact', 'future'),
  age,
})
/** Goes on with the oldest list that has more pages. */
const page = fc.record({ kind: kind('page'), limit: fc.constantFrom(0, 1, 1, 2) })
const watch = fc.record({
  kind: kind('watch'),
  selection,
  mode: fc.constantFrom('unset', 'zero', 'from', 'from', 'initial', 'initial-from'),
  bookmarks: fc.boolean(),
  age,
})
/** Ends one of the open watches and opens it again where it was. */
const reconnect = fc.record({ kind: kind('reconnect'), which: fc.nat({ max: 5 }) })

const request = fc.oneof(
  { weight: 6, arbitrary: create },
  { weight: 5, arbitrary: put },
  { weight: 5, arbitrary: patch },
  { weight: 4, arbitrary: remove },
  { weight: 1, arbitrary: removeMany },
  { weight: 2, arbitrary: get },
  { weight: 5, arbitrary: list },
  { weight: 6, arbitrary: page },
  { weight: 4, arbitrary: watch },
  { weight: 2, arbitrary: reconnect },
)
export type Request = typeof request extends fc.Arbitrary<infer T> ? T : never
export type StepOf<K extends Request['kind']> = Extract<Request, { kind: K }>

/** `kill` ends the server while the requests are under way; `minutes` pass before the next round. */
export interface Round {
  readonly requests: readonly Request[]
  readonly kill: boolean
  readonly minutes: number
}

/** Stories of a length; `kills` and `time` say what may happen besides requests. */
export function stories(allowed: {
  kills: boolean
  time: boolean
  rounds: number
}): fc.Arbitrary<Round[]> {
  const rare = (isAllowed: boolean): fc.Arbitrary<boolean> =>
    isAllowed ? fc.nat({ max: 7 }).map((roll) => roll === 7) : fc.constant(false)
  const round = fc.record({
    requests: fc.array(request, { minLength: 1, maxLength: 3 }),
    kill: rare(allowed.kills),
    minutes: rare(allowed.time).chain((passes) => fc.constantFrom(...(passes ? [2, 6] : [0]))),
  })
  return fc.array(round, { minLength: 3, maxLength: allowed.rounds })
}
