import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { observedGeneration } from '../../../monitors/rules/observed-generation.ts'
import { tellTo } from '../told-history.ts'

const patienceMs = 30_000
const deployment = (generation: number, observed?: number) => ({
  metadata: { name: 'web', generation },
  ...(observed === undefined ? {} : { status: { observedGeneration: observed } }),
})

function start() {
  const rule = observedGeneration({ patienceMs })
  const history = tellTo(rule)
  return { ...history, rest: () => rule.rest(history.nowMs()).map(({ text }) => text) }
}

describe('observedGeneration', () => {
  it('catches up, and is told once when it does not', () => {
    const history = start()
    history.put('deployments', deployment(1, 1))
    history.put('deployments', deployment(2, 1))
    history.pass(29_000)
    expect(history.rest()).toEqual([])
    history.pass(2000)
    expect(history.rest()).toEqual([
      'Deployment default/web (uid web-uid) of revision 102 has observedGeneration 1 31 s after its generation became 2',
    ])
    expect(history.rest()).toEqual([])
    history.put('deployments', deployment(2, 2))
    history.put('deployments', deployment(3, 2))
    history.pass(31_000)
    expect(history.rest()).toHaveLength(1)
  })

  it('is never ahead', () => {
    expect(start().put('deployments', deployment(1, 2))).toEqual([
      expect.stringContaining(
        'has observedGeneration 2 at revision 101, which is newer than its generation 1',
      ),
    ])
  })

  it('is expected of kinds that have it', () => {
    const history = start()
    history.put('deployments', deployment(1))
    history.pass(31_000)
    expect(history.rest()).toEqual([])
    history.put('deployments', { ...deployment(1, 1), metadata: { name: 'other', generation: 1 } })
    expect(history.rest()).toEqual([expect.stringContaining('has no observedGeneration')])
  })

  it('of a controller that is never later than allowed is never told, however often the spec changes', () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 29_000 })), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(steps, (all) => {
        const history = start()
        let [generation, observed, behindMs] = [1, 1, 0]
        const found = history.put('deployments', deployment(1, 1))
        for (const [isSpec, ms] of all) {
          const late = behindMs + ms >= patienceMs
          if (isSpec && !late) generation += 1
          else observed = generation
          found.push(...history.put('deployments', deployment(generation, observed)))
          if (observed === generation) behindMs = 0
          const passed = observed === generation ? ms : Math.min(ms, patienceMs - behindMs - 1)
          if (observed !== generation) behindMs += passed
          history.pass(passed)
          found.push(...history.rest())
        }
        expect(found).toEqual([])
      }),
    )
  })
})
