import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { podsToDelete } from '../../../components/controller-manager/replica-set/pod-ranking.ts'
import { slowStartSizes } from '../../../components/controller-manager/batches.ts'

const nowMs = Date.parse('2025-01-02T00:00:00Z')
const costKey = 'controller.kubernetes.io/pod-deletion-cost'

interface Facts {
  node?: string
  phase?: string
  readyAt?: string
  cost?: string
  restarts?: number
  createdAt?: string
}

function pod(name: string, facts: Facts = {}): Pod {
  const { node, phase = 'Running', readyAt, cost, restarts } = facts
  return {
    metadata: {
      name,
      uid: name,
      creationTimestamp: facts.createdAt ?? '2025-01-01T00:00:00Z',
      ...(cost === undefined ? {} : { annotations: { [costKey]: cost } }),
    },
    spec: { containers: [], ...(node === undefined ? {} : { nodeName: node }) },
    status: {
      phase,
      ...(readyAt === undefined
        ? {}
        : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: readyAt }] }),
      ...(restarts === undefined
        ? {}
        : {
            containerStatuses: [
              { name: 'c', ready: true, image: '', imageID: '', restartCount: restarts },
            ],
          }),
    },
  }
}

function first(...pods: Pod[]): string | undefined {
  const [chosen] = podsToDelete(pods, 1, { related: pods, deletionCostKey: costKey, nowMs })
  return chosen?.metadata.name
}

describe('which pod goes first', () => {
  const ready = '2025-01-01T00:00:00Z'
  it.each<[string, Facts, Facts]>([
    ['one without a node', {}, { node: 'n' }],
    ['a pending one', { node: 'n', phase: 'Pending' }, { node: 'n' }],
    ['one that is not ready', { node: 'n' }, { node: 'n', readyAt: ready }],
    ['the cheapest', { node: 'n', readyAt: ready, cost: '-5' }, { node: 'n', readyAt: ready }],
    [
      'one that became ready much later',
      { node: 'n', readyAt: '2025-01-01T23:59:00Z' },
      { node: 'n', readyAt: ready },
    ],
    ['the one with more restarts', { node: 'n', restarts: 3 }, { node: 'n', restarts: 1 }],
    ['a much younger one', { node: 'n', createdAt: '2025-01-01T23:59:00Z' }, { node: 'n' }],
  ])('%s', (_, goes, stays) => {
    expect(first(pod('goes', goes), pod('stays', stays))).toBe('goes')
    expect(first(pod('stays', stays), pod('goes', goes))).toBe('goes')
  })

  it('one that shares its node with more of its kind', () => {
    const pods = [pod('alone', { node: 'a' }), pod('b1', { node: 'b' }), pod('b2', { node: 'b' })]
    expect(first(...pods)).toMatch(/^b/)
  })

  it('of two that are about equally old, the uid decides', () => {
    const a = pod('a', { node: 'n', readyAt: '2025-01-01T00:00:00Z' })
    const b = pod('b', { node: 'n', readyAt: '2025-01-01T00:10:00Z' })
    expect(first(b, a)).toBe('a')
  })
})

it('slow start doubles its batches', () => {
  expect(slowStartSizes(10)).toEqual([1, 2, 4, 3])
  expect(slowStartSizes(0)).toEqual([])
})
