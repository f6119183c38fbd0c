import { describe, expect, it } from 'vitest'
import { disruptionBudget } from '../../../monitors/rules/disruption-budget.ts'
import { tellTo } from '../told-history.ts'

const labels = { app: 'web' }
const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }
const mark = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }
const evicted = { status: { ...ready, conditions: [...ready.conditions, mark] } }

const budget = (disruptionsAllowed: number, disruptedPods: Record<string, string> = {}) => ({
  metadata: { name: 'web', generation: 1 },
  spec: { selector: { matchLabels: labels } },
  status: {
    observedGeneration: 1,
    currentHealthy: 3,
    desiredHealthy: 2,
    disruptionsAllowed,
    disruptedPods,
  },
})

/** Three ready pods, of which two are needed, as the controller has counted long ago. */
function start() {
  const history = tellTo(disruptionBudget())
  for (const name of ['a', 'b', 'c'])
    history.put('pods', { metadata: { name, labels }, status: ready })
  history.put('podDisruptionBudgets', budget(1))
  history.pass(60_000)
  return history
}

describe('an eviction', () => {
  it('takes a disruption that the budget allows', () => {
    const history = start()
    expect(history.put('podDisruptionBudgets', budget(0, { a: 'now' }))).toEqual([])
    expect(history.change('pods', 'a', evicted)).toEqual([])
  })

  it('does not go past the budget', () => {
    expect(start().change('pods', 'a', evicted)).toEqual([
      'Pod default/a (uid a-uid) was evicted at revision 105 without a grant of PodDisruptionBudget default/web (revision 104)',
    ])
  })

  it('is not granted twice for one disruption', () => {
    const history = start()
    history.put('podDisruptionBudgets', budget(0, { a: 'now' }))
    expect(history.put('podDisruptionBudgets', budget(0, { a: 'now', b: 'now' }))).toEqual([
      'PodDisruptionBudget default/web (uid web-uid) granted the eviction of b at revision 106 and went from 0 to 0 allowed disruptions',
    ])
  })

  it('is not granted by a count of an older generation', () => {
    const history = start()
    const newer = budget(1)
    history.put('podDisruptionBudgets', { ...newer, metadata: { name: 'web', generation: 2 } })
    const granted = budget(0, { a: 'now' })
    expect(
      history.put('podDisruptionBudgets', { ...granted, metadata: { name: 'web', generation: 2 } }),
    ).toEqual([expect.stringContaining('before generation 2 was counted')])
  })

  it('is not granted by a count that is too high', () => {
    const history = start()
    history.change('pods', 'c', { status: unready })
    history.pass(60_000)
    // The controller counts a pod that is not ready.
    history.put('podDisruptionBudgets', {
      ...budget(1),
      status: { ...budget(1).status, expectedPods: 3 },
    })
    history.pass(60_000)
    history.put('podDisruptionBudgets', budget(0, { a: 'now' }))
    expect(history.change('pods', 'a', evicted)).toEqual([
      'Pod default/a (uid a-uid) was evicted at revision 108 and left 1 healthy pods to PodDisruptionBudget default/web (revision 107), which needs 2',
    ])
  })

  it('may meet a pod that has failed since the count', () => {
    const history = start()
    history.change('pods', 'c', { status: unready })
    history.put('podDisruptionBudgets', budget(0, { a: 'now' }))
    expect(history.change('pods', 'a', evicted)).toEqual([])
  })

  it('of a pod that is not ready costs nothing while enough others are', () => {
    const history = start()
    history.put('pods', { metadata: { name: 'd', labels }, status: unready })
    const conditions = [...unready.conditions, mark]
    expect(history.change('pods', 'd', { status: { ...unready, conditions } })).toEqual([])
  })

  it('of a pod that no budget covers is free', () => {
    const history = start()
    history.put('pods', { metadata: { name: 'other' }, status: ready })
    expect(history.change('pods', 'other', evicted)).toEqual([])
  })
})
