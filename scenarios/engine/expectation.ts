/** Expectation: conditions on a selection of objects, judged state by state. PURE. */
import { brief } from '../../components/machinery/objects/differences.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import {
  count,
  Deferred,
  described,
  either,
  object,
  optional,
  readable,
} from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'
import { missingFrom } from './subset.ts'
import { parseCondition, parsePath } from './where.ts'
import type { Condition } from './where.ts'
import { describeObject } from './find-resource.ts'

export const countShape = either(
  count,
  object({
    atLeast: described('At least this many.', optional(count)),
    atMost: described('At most this many.', optional(count)),
  }),
)
export const conditionShape = readable('a condition', parseCondition)
export const pathShape = readable('a path in an object', parsePath)

export interface Expectation {
  /** Every one must hold for an object. */
  readonly where: readonly string[]
  /** CEL over `object`, which must be true; the evaluator is large, so it is given. */
  readonly cel?:
    { readonly texts: readonly string[]; readonly parse: (text: string) => Condition } | undefined
  /** Fields that an object must have. */
  readonly match?: unknown
  /** How many objects must match. Default: every selected object, and at least one. */
  readonly count?: ShapeType<typeof countShape> | undefined
  /** No object may match. */
  readonly absent: boolean
}

export interface Verdict {
  readonly holds: boolean
  readonly matching: readonly KubeObject[]
  /** Those that do not. */
  readonly others: readonly KubeObject[]
  /** The selected objects, each with the reason why it does not match. */
  readonly report: () => string[]
}

function faults(one: KubeObject, conditions: readonly Condition[], match: unknown): string[] {
  const unmet = conditions.flatMap((condition) => {
    const { holds, values } = condition.test(one)
    if (holds) return []
    const is = values.map((value) => brief(value)).join(', ')
    return [`${condition.text}: ${values.length === 0 ? 'it is missing' : `it is ${is}`}`]
  })
  const missing = match === undefined ? [] : missingFrom(one, match)
  const differing = missing.map(
    ({ path, wanted, got }) => `${path}: wanted ${brief(wanted)}, got ${brief(got)}`,
  )
  return [...unmet, ...differing]
}

function countHolds(count: Expectation['count'], good: number): boolean {
  if (typeof count === 'number') return good === count
  const { atLeast = 0, atMost = Infinity } = count ?? {}
  return good >= atLeast && good <= atMost
}

/** Compiles an expectation. Throws a WhereError for an invalid condition. */
export function createJudge(expectation: Expectation): (objects: readonly KubeObject[]) => Verdict {
  const { match, count, absent, cel } = expectation
  const conditions = [
    ...expectation.where.map(parseCondition),
    ...(cel?.texts.map((text) => cel.parse(text)) ?? []),
  ]
  return (objects) => {
    const judged = objects.map((one) => ({ one, why: faults(one, conditions, match) }))
    const matching = judged.filter(({ why }) => why.length === 0).map(({ one }) => one)
    const others = judged.filter(({ why }) => why.length > 0).map(({ one }) => one)
    const good = matching.length
    const holds = absent
      ? good === 0
      : count === undefined
        ? good > 0 && good === objects.length
        : countHolds(count, good)
    const report = (): string[] => {
      if (judged.length === 0) return ['no such object']
      const shown = judged
        .slice(0, 10)
        .flatMap(({ one, why }) => [
          `${describeObject(one)}${why.length === 0 ? ' meets it' : ''}`,
          ...why.map((line) => `  ${line}`),
        ])
      const more = judged.length > 10 ? [`and ${judged.length - 10} more objects`] : []
      const total = count === undefined ? [] : [`${good} of ${judged.length} objects meet it`]
      return [...total, ...shown, ...more]
    }
    return { holds, matching, others, report }
  }
}

/** The expectation as lines of text. */
export function describeExpectation(expectation: Expectation): string[] {
  const { where, match, count, absent, cel } = expectation
  const lines = [...where, ...(cel?.texts ?? [])]
  if (match !== undefined) lines.push(`holds ${brief(match, 400)}`)
  if (absent) lines.push('there is no such object')
  if (typeof count === 'number' || count instanceof Deferred)
    lines.push(`exactly ${String(count)} such objects`)
  else if (count !== undefined) {
    const { atLeast, atMost } = count
    if (atLeast !== undefined) lines.push(`at least ${atLeast} such objects`)
    if (atMost !== undefined) lines.push(`at most ${atMost} such objects`)
  }
  return lines
}
