import { describe, expect, it } from 'vitest'
import { contradictionOf } from '../../../cluster/lab/contradictions.ts'
import type { FaultSpec, NetworkFault } from '../../../cluster/lab/fault-spec.ts'
import type { RequestAction } from '../../../components/component-base/request-fault.ts'

describe('two faults', () => {
  const network = (action: NetworkFault['action'], direction?: 'one-way'): FaultSpec => ({
    kind: 'network',
    fault: { from: 'a', to: 'b', action, ...(direction === undefined ? {} : { direction }) },
  })
  const back: FaultSpec = {
    kind: 'network',
    fault: { from: 'b', to: 'a', action: 'cut', direction: 'one-way' },
  }

  it('of the network contradict each other only in the same direction', () => {
    expect(contradictionOf(network('cut'), back)).toBe('both act on b -> a')
    expect(contradictionOf(network('cut', 'one-way'), back)).toBeUndefined()
    expect(contradictionOf(network({ delayMs: 5 }), network({ loss: 0.1 }))).toBeUndefined()
    expect(contradictionOf(network({ delayMs: 5 }), network('half-open'))).toBeDefined()
  })

  it('of requests may share them if one is for some of them only', () => {
    const refused: FaultSpec = {
      kind: 'requests',
      fault: { match: { verbs: ['create'] }, action: { status: { code: 503 } } },
    }
    const cut: FaultSpec = { ...refused, fault: { ...refused.fault, action: { cut: 'before' } } }
    expect(contradictionOf(refused, cut)).toBe('they match the same requests')
    expect(contradictionOf({ ...refused, times: 3 }, cut)).toBeUndefined()
  })

  const requests = (action: RequestAction, more: object = {}): FaultSpec => ({
    kind: 'requests',
    fault: { match: { verbs: ['get', 'list'] }, action },
    ...more,
  })
  const down = { status: { code: 503 } } as const
  const conflict = { status: { code: 409 } } as const
  const inOtherOrder = (action: RequestAction): FaultSpec => ({
    kind: 'requests',
    fault: { match: { verbs: ['list', 'get'] }, action },
  })

  it.each<[string, FaultSpec, FaultSpec]>([
    ['two statuses', requests(down), inOtherOrder(conflict)],
    ['a status and a cut before it', requests(down), requests({ cut: 'before' })],
    ['two delays', requests({ delayMs: 1 }), requests({ delayMs: 2 })],
    ['two cuts', requests({ cut: 'during' }), requests({ cut: 'after' })],
    [
      'two kinds of lost events',
      requests({ watch: { events: 'drop' } }),
      requests({ watch: { events: 'end' } }),
    ],
  ])('of the same requests: %s contradict each other', (_, one, other) => {
    expect(contradictionOf(one, other)).toBe('they match the same requests')
    expect(contradictionOf(other, one)).toBe('they match the same requests')
  })

  it.each<[string, FaultSpec, FaultSpec]>([
    ['one that happens by chance', requests(down), requests(conflict, { chance: 0.5 })],
    ['a delay and a status', requests({ delayMs: 5 }), requests(conflict)],
    ['a status and a cut in its answer', requests(down), requests({ cut: 'during' })],
    [
      'late events and no bookmarks',
      requests({ watch: { delayMs: 5 } }),
      requests({ watch: { bookmarks: 'withhold' } }),
    ],
  ])('of the same requests: %s hold together', (_, one, other) => {
    expect(contradictionOf(one, other)).toBeUndefined()
  })

  it('of the store contradict each other if both decide what becomes of the same writes', () => {
    const full: FaultSpec = { kind: 'store', fault: { full: true } }
    const failing: FaultSpec = { kind: 'store', fault: { fail: true } }
    expect(contradictionOf(full, failing)).toBeDefined()
    expect(contradictionOf(full, { kind: 'store', fault: { delayMs: 5 } })).toBeUndefined()
  })
})
