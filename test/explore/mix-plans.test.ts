/** Mixes of faults: which are drawn. */
import { describe, expect, it } from 'vitest'
import { mixPlans } from '../../explore/mix-plans.ts'
import type { PlannedFault } from '../../explore/planned-fault.ts'

const at = { verb: 'update', resource: 'configmaps', namespace: 'default', name: 'one', nth: 1 }
const faults: readonly PlannedFault[] = [
  { kind: 'kill-before', at },
  { kind: 'refuse', at, code: 409 },
  { kind: 'refuse', at: { ...at, nth: 2 }, code: 409 },
  { kind: 'late-events', resource: 'configmaps', ms: 1000 },
  { kind: 'relist', resource: 'configmaps', step: 1 },
  { kind: 'slow', ms: 300 },
]

describe('mixes', () => {
  const mixes = mixPlans(faults, { count: 1000, seed: 7 })

  it('are the same for the same seed, and others for another one', () => {
    expect(mixPlans(faults, { count: 5, seed: 7 })).toEqual(mixes.slice(0, 5))
    expect(mixPlans(faults, { count: 5, seed: 8 })).not.toEqual(mixes.slice(0, 5))
  })

  it('are of two or three faults, each at most once and in their order, no two mixes alike', () => {
    for (const { kind, faults: mixed } of mixes) {
      expect(kind).toBe('mix')
      expect(mixed.length === 2 || mixed.length === 3).toBe(true)
      expect(faults.filter((one) => mixed.includes(one))).toEqual(mixed)
    }
    expect(new Set(mixes.map((one) => JSON.stringify(one))).size).toBe(mixes.length)
  })

  it('are all that there are where more are asked for: no two faults of one request or one watch', () => {
    // Subjects: two faults, one, two, one. Pairs of different ones: 13, triples: 12.
    expect(mixes).toHaveLength(25)
  })

  it.each([[[]], [faults.slice(0, 1)], [faults.slice(0, 2)]])('are none of %j', (few) => {
    expect(mixPlans(few, { count: 10, seed: 7 })).toEqual([])
  })
})
