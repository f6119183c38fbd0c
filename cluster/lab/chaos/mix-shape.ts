/** The shape of a mix as a user writes it, in a file, a scenario or code: `{ every: 20s, faults: [{ fault, weight, for: [5s, 1m] }] }`. */
import { ClusterError } from '../../cluster-error.ts'
import { pathText } from '../../path.ts'
import { described, duration, object, optional, list } from '../../shape.ts'
import type { Issue, Shape, ShapeType } from '../../shape.ts'
import { faultShape } from '../check-fault.ts'
import type { FaultSpec } from '../fault-spec.ts'
import { weightNumber } from '../fault-shape.ts'
import type { ChaosMix } from './chaos-mix.ts'

/** A mix says itself when its faults begin and end. */
const mixedFault: Shape<FaultSpec> = {
  ...faultShape,
  check: (value, path, issues) => {
    const spec = faultShape.check(value, path, issues)
    for (const field of ['name', 'forMs', 'times'] as const)
      if (spec?.[field] !== undefined)
        issues.push({ path: [...path, field], message: 'cannot be set in a mix' })
    return spec
  },
}

const span: Shape<number[]> = {
  ...list(duration),
  what: 'a list of two durations, the shorter first',
  check: (value, path, issues) => {
    const before = issues.length
    const checked = list(duration).check(value, path, issues)
    const [least, most] = checked
    if (issues.length > before || (checked.length === 2 && !(Number(least) > Number(most))))
      return checked
    issues.push({ path, message: 'must be a list of two durations, the shorter first' })
    return checked
  },
}

export const mixShape = object({
  every: described('Mean time from the beginning of one fault to that of the next.', duration),
  faults: list(
    object({
      fault: described('A fault; * for a part stands for any that can have it.', mixedFault),
      weight: described(
        "How often it is taken, beside the others'. Default: 1.",
        optional(weightNumber),
      ),
      for: described(
        'How long it lasts: a time between these two. Default: 5s to 1m.',
        optional(span),
      ),
    }),
  ),
})

/** A seed, of a generator of 32 bits. */
export const seedShape: Shape<number> = {
  what: 'a whole number from 0 to 4294967295',
  schema: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
  check: (value, path, issues) => {
    if (!(Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32))
      issues.push({
        path,
        message: `must be a whole number from 0 to 4294967295, not ${JSON.stringify(value)}`,
      })
    return value as number
  },
}

/** The checked mix in milliseconds. Throws a ClusterError for one that could never begin a fault. */
export function mixOf({ every, faults }: ShapeType<typeof mixShape>): ChaosMix {
  if (every === 0 || faults.length === 0)
    throw new ClusterError(
      'usage',
      'the mix says nothing: every must be above 0, and faults not empty',
    )
  return {
    everyMs: every,
    faults: faults.map(({ fault, weight, for: [least, most] = [] }) => ({
      fault,
      ...(weight === undefined ? {} : { weight }),
      ...(least === undefined || most === undefined ? {} : { forMs: [least, most] as const }),
    })),
  }
}

/** A mix of unknown origin. `where`: the file. Throws a ClusterError of kind `usage` with a line for each problem. */
export function checkMix(value: unknown, where: string): ChaosMix {
  const issues: Issue[] = []
  const checked = mixShape.check(value, [], issues)
  if (issues.length === 0) return mixOf(checked)
  const [first = '', ...details] = issues.map(({ path, message }) =>
    [pathText(path), message].filter((part) => part !== '').join(': '),
  )
  throw new ClusterError('usage', `invalid mix in ${where}: ${first}`, { details })
}
