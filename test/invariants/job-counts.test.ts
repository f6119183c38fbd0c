import { describe, expect, it } from 'vitest'
import { jobCounts } from './job-counts.ts'
import { ownedBy, tellTo } from '../monitors/told-history.ts'

const held = ['batch.kubernetes.io/job-tracking']
const pod = (name: string, phase: string, finalizers: string[] = held) => ({
  metadata: { name, finalizers, ownerReferences: [ownedBy('Job', 'sum', 'batch/v1')] },
  status: { phase },
})
const complete = { conditions: [{ type: 'Complete', status: 'True' }] }
const job = (status: object = {}, spec: object = {}) => ({
  metadata: { name: 'sum' },
  spec: { completions: 2, ...spec },
  status,
})
const uncounted = (...succeeded: string[]) => ({ uncountedTerminatedPods: { succeeded } })

function start(spec: object = {}) {
  const history = tellTo(jobCounts())
  history.put('jobs', job({}, spec))
  return history
}

describe('a Job', () => {
  it('names a pod, releases it, and counts it', () => {
    const history = start()
    history.put('pods', pod('a', 'Succeeded'))
    expect(history.put('jobs', job(uncounted('a-uid')))).toEqual([])
    history.put('pods', pod('a', 'Succeeded', []))
    expect(history.put('jobs', job({ succeeded: 1, ...complete }))).toEqual([])
  })

  it('does not count a pod twice', () => {
    const history = start()
    history.put('pods', pod('a', 'Succeeded'))
    history.put('jobs', job(uncounted('a-uid')))
    history.put('pods', pod('a', 'Succeeded', []))
    history.put('jobs', job({ succeeded: 1 }))
    expect(history.put('jobs', job({ succeeded: 2 }))).toEqual([
      'Job default/sum (uid sum-uid) at revision 106: 2 succeeded, but 1 pods have been named and released',
    ])
    expect(history.put('jobs', job({ succeeded: 1, ...uncounted('a-uid') }))).toEqual([
      expect.stringContaining('pod a-uid is named as succeeded a second time'),
      expect.stringContaining('1 succeeded, but 0 pods'),
    ])
  })

  it('never counts down', () => {
    const history = start()
    history.put('jobs', job(uncounted('a-uid')))
    history.put('jobs', job({ succeeded: 1 }))
    expect(history.put('jobs', job({}))).toEqual([expect.stringContaining('0 succeeded, but 1')])
  })

  it('does not count a pod that it has not released', () => {
    const history = start()
    history.put('pods', pod('a', 'Succeeded'))
    history.put('jobs', job(uncounted('a-uid')))
    expect(history.put('jobs', job({ succeeded: 1 }))).toEqual([
      expect.stringContaining(
        'Pod default/a (uid a-uid) counts as succeeded and still has the finalizer',
      ),
    ])
  })

  it('does not lose a pod', () => {
    const history = start()
    history.put('pods', pod('a', 'Failed'))
    history.put('pods', pod('a', 'Failed', []))
    expect(history.put('jobs', job(complete))).toEqual([
      'Job default/sum (uid sum-uid) ended at revision 104 and never counted Pod default/a (uid a-uid) as failed',
    ])
  })

  it('may leave a pod uncounted that it released before its end', () => {
    const history = start()
    history.put('pods', pod('a', 'Running'))
    history.put('pods', pod('a', 'Running', []))
    history.put('pods', pod('a', 'Failed', []))
    expect(history.put('jobs', job(complete))).toEqual([])
  })

  it('may count a pod as failed that was being deleted, and succeeded all the same', () => {
    const going = (phase: string, finalizers = held) => {
      const one = pod('a', phase, finalizers)
      return { ...one, metadata: { ...one.metadata, deletionTimestamp: '2025-01-01T00:00:30Z' } }
    }
    const named = { uncountedTerminatedPods: { failed: ['a-uid'] } }
    const history = start()
    history.put('pods', pod('a', 'Running'))
    history.put('pods', going('Running'))
    history.put('jobs', job(named))
    history.put('pods', going('Succeeded'))
    history.put('pods', going('Succeeded', []))
    expect(history.put('jobs', job({ failed: 1, ...complete }))).toEqual([])
  })

  it('may leave a pod uncounted that it deleted when the pod had just ended', () => {
    const history = start()
    history.put('pods', pod('a', 'Running'))
    history.put('pods', pod('a', 'Succeeded'))
    history.put('pods', pod('a', 'Succeeded', []))
    const one = pod('a', 'Succeeded', [])
    const deletionTimestamp = '2025-01-01T00:00:30Z'
    history.put('pods', { ...one, metadata: { ...one.metadata, deletionTimestamp } })
    expect(history.put('jobs', job(complete))).toEqual([])
  })

  it('does not end with pods that are named and not counted', () => {
    const history = start()
    expect(history.put('jobs', job({ ...uncounted('a-uid'), ...complete }))).toEqual([
      expect.stringContaining('ended at revision 102 with pods that are named as succeeded'),
    ])
  })

  it('with indexes has succeeded as often as it has completed indexes', () => {
    const indexed = { completionMode: 'Indexed' }
    const history = start(indexed)
    const at = (status: object) => history.put('jobs', job(status, indexed))
    expect(at({ succeeded: 1, completedIndexes: '0' })).toEqual([])
    expect(at({ succeeded: 1, completedIndexes: '0,1' })).toEqual([
      expect.stringContaining('1 succeeded, but the completed indexes are "0,1"'),
    ])
    expect(at({ succeeded: 1, completedIndexes: '1' })).toEqual([
      expect.stringContaining('completed indexes went from "0,1" to "1"'),
    ])
  })

  it('that somebody else manages is not judged', () => {
    const history = start({ managedBy: 'example.com/queue' })
    expect(history.put('jobs', job({ succeeded: 7 }, { managedBy: 'example.com/queue' }))).toEqual(
      [],
    )
  })
})
