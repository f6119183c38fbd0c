import { describe, expect, it } from 'vitest'
import { jobIndex } from '../../../monitors/rules/job-index.ts'
import { leaseHolder } from '../../../monitors/rules/lease-holder.ts'
import { nodeName } from '../../../monitors/rules/node-name.ts'
import { ownedBy, tellTo } from '../told-history.ts'

describe('an index of a Job', () => {
  const pod = (name: string, more: object = {}, phase = 'Running') => ({
    metadata: {
      name,
      ownerReferences: [ownedBy('Job', 'sum', 'batch/v1')],
      annotations: { 'batch.kubernetes.io/job-completion-index': '3' },
      ...more,
    },
    status: { phase },
  })

  it('has one working pod', () => {
    const history = tellTo(jobIndex())
    expect(history.put('pods', pod('a'))).toEqual([])
    expect(history.put('pods', pod('b'))).toEqual([
      'Pod default/b (uid b-uid) of revision 102 and Pod default/a (uid a-uid) of revision 101 both work on index 3 of Job sum',
    ])
    expect(history.put('pods', pod('b'))).toEqual([])
  })

  it('gets another once the first has ended, failed, or is being deleted', () => {
    const history = tellTo(jobIndex())
    history.put('pods', pod('a'))
    history.put('pods', pod('a', {}, 'Failed'))
    expect(history.put('pods', pod('b'))).toEqual([])
    history.put('pods', pod('b', { deletionTimestamp: '2025-01-01T00:00:00Z' }))
    expect(history.put('pods', pod('c'))).toEqual([])
    history.remove('pods', 'c')
    expect(history.put('pods', pod('d'))).toEqual([])
  })
})

describe('a lease', () => {
  const start = () => {
    const history = tellTo(leaseHolder())
    const write = (holderIdentity: string, more: object = {}): string[] => {
      const now = new Date(history.nowMs()).toISOString()
      const times = { acquireTime: now, renewTime: now, leaseDurationSeconds: 15 }
      const spec = { holderIdentity, ...times, ...more }
      return history.put('leases', { metadata: { name: 'leader' }, spec })
    }
    return { ...history, write }
  }

  it('is not taken before its holder’s time is over', () => {
    const history = start()
    history.write('one')
    history.pass(10_000)
    history.write('one')
    history.pass(10_000)
    expect(history.write('two')).toEqual([
      'Lease default/leader (uid leader-uid) went from one to two at revision 103, 5.0 s before the hold of one (revision 102) ended',
    ])
  })

  it('may be taken when it has expired, or was released', () => {
    const history = start()
    history.write('one')
    history.pass(15_000)
    expect(history.write('two')).toEqual([])
    expect(history.write('')).toEqual([])
    expect(history.write('one')).toEqual([])
  })

  it('may be taken by a holder whose clock is behind, or in time that was advanced', () => {
    const history = start()
    history.write('one')
    history.pass(16_000)
    expect(history.write('two', { acquireTime: '2025-01-01T00:00:01Z' })).toEqual([])
    expect(history.write('one', { acquireTime: '2025-01-01T01:00:00Z' })).toEqual([])
  })
})

describe('a node name', () => {
  const node = (machineID: string) => ({
    metadata: { name: 'node-1' },
    status: { nodeInfo: { machineID }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  })

  it('is not used by two agents in turn', () => {
    const history = tellTo(nodeName())
    expect(history.put('nodes', node('a'))).toEqual([])
    expect(history.put('nodes', node('b'))).toEqual([])
    expect(history.put('nodes', node('a'))).toEqual([
      expect.stringContaining('Node node-1 (uid node-1-uid) is written by two agents in turn'),
    ])
  })

  it('may move to another machine, and back after a while', () => {
    const history = tellTo(nodeName())
    for (const machine of ['a', 'b', 'c']) expect(history.put('nodes', node(machine))).toEqual([])
    history.pass(3_600_000)
    expect(history.put('nodes', node('b'))).toEqual([])
  })
})
