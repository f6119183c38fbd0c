import { describe, expect, it } from 'vitest'
import { quotaLimits } from './quota-limits.ts'
import { tellTo } from '../monitors/told-history.ts'

const quota = (pods: string, used: string) => ({
  metadata: { name: 'few' },
  spec: { hard: { pods } },
  status: { hard: { pods }, used: { pods: used } },
})
const pod = (name: string, phase = 'Pending') => ({
  metadata: { name },
  spec: { containers: [{ name: 'c' }] },
  status: { phase },
})

/** A limit of two pods, long in force, and one pod. */
function start() {
  const history = tellTo(quotaLimits())
  history.put('resourceQuotas', quota('2', '1'))
  history.put('pods', pod('a'))
  history.pass(60_000)
  return history
}

describe('a quota', () => {
  it('has room for what it allows', () => {
    expect(start().put('pods', pod('b'))).toEqual([])
  })

  it('is not exceeded by what is there, whatever its status says', () => {
    const history = start()
    history.put('pods', pod('b'))
    expect(history.put('pods', pod('c'))).toEqual([
      'Pod default/c (uid c-uid) was created at revision 104 beyond ResourceQuota default/few: used pods=3, limited pods=2',
    ])
  })

  it('does not count above its limit', () => {
    expect(start().put('resourceQuotas', quota('2', '3'))).toEqual([
      'ResourceQuota default/few (uid few-uid) counts pods=3 at revision 103, above pods=2',
    ])
  })

  it('has the room back of what has ended', () => {
    const history = start()
    history.put('pods', pod('b', 'Running'))
    history.put('pods', pod('b', 'Succeeded'))
    expect(history.put('pods', pod('c'))).toEqual([])
  })

  it('may be lowered below what is there, and then takes no more', () => {
    const history = start()
    history.put('pods', pod('b'))
    expect(history.put('resourceQuotas', quota('1', '2'))).toEqual([])
    history.pass(60_000)
    expect(history.put('pods', pod('c'))).toHaveLength(1)
  })

  it('of another namespace does not count', () => {
    const history = start()
    history.put('pods', pod('b'))
    const other = { name: 'c', namespace: 'other' }
    expect(history.put('pods', { ...pod('c'), metadata: other })).toEqual([])
  })
})
