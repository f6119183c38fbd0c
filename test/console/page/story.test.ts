/** Stories of the timeline, filters and figures of requests: pure parts of the page. */
import { describe, expect, test } from 'vitest'
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { inOrder } from '../../../console/page/records/in-order.ts'
import { isDenied, isHeartbeat, matches } from '../../../console/page/records/record-filter.ts'
import { actorOf, targetOf, verbOf } from '../../../console/page/records/record-text.ts'
import { ratesOf } from '../../../console/page/records/rates.ts'
import { storyOf } from '../../../console/page/records/story.ts'

function record(seq: number, more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    seq,
    id: `id-${seq}`,
    atMs: seq * 1000,
    durationMs: seq,
    user: 'jane',
    userAgent: 'kubectl/v1.32.0',
    verb: 'create',
    group: '',
    resource: 'pods',
    subresource: '',
    namespace: 'default',
    name: `p${seq}`,
    path: `/api/v1/namespaces/default/pods/p${seq}`,
    status: 201,
    revision: String(100 + seq),
    ...more,
  }
}

const saw = (what: string, key: string, revision: number) =>
  ({ kind: 'watch', what, key, revision: String(revision) }) as const

describe('a story', () => {
  const apply = record(1, {
    group: 'apps',
    resource: 'deployments',
    name: 'web',
    verb: 'patch',
    isApply: true,
  })
  const set = record(2, {
    group: 'apps',
    resource: 'replicasets',
    name: 'web-1',
    cause: saw('deployments.apps', 'default/web', 101),
  })
  const pod = record(3, { name: 'web-1-a', cause: saw('replicasets.apps', 'default/web-1', 102) })
  const other = record(4, { name: 'alone' })
  const bind = record(5, {
    subresource: 'binding',
    name: 'web-1-a',
    cause: saw('pods', 'default/web-1-a', 103),
  })
  const all = [apply, set, pod, other, bind]

  test('follows causes from the first write to everything that followed, each below its cause', () => {
    const told = storyOf(all, bind.seq).map(({ record: { seq }, depth }) => [seq, depth])
    expect(told).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
      [5, 3],
    ])
    expect(storyOf(all, apply.seq)).toEqual(storyOf(all, bind.seq))
  })

  test('of a write without cause and effect is that write', () => {
    expect(storyOf(all, other.seq)).toEqual([{ record: other, depth: 0 }])
  })

  test('begins where the journal begins, when the cause is older', () => {
    expect(storyOf([pod, bind], bind.seq)[0]).toEqual({ record: pod, depth: 0 })
  })

  test('does not take a revision of another resource, or of another object, for a cause', () => {
    const wrongKind = record(6, { cause: saw('nodes', 'web', 101) })
    const wrongName = record(7, { cause: saw('deployments.apps', 'default/other', 101) })
    expect(storyOf([apply, wrongKind, wrongName], 6)).toHaveLength(1)
    expect(storyOf([apply, wrongKind, wrongName], 7)).toHaveLength(1)
  })

  test('of a write that made several revisions holds the effects of each', () => {
    const many = record(1, {
      verb: 'deletecollection',
      name: '',
      revision: '111',
      revisions: ['110', '111'],
    })
    const effects = [110, 111].map((revision, at) =>
      record(2 + at, { cause: saw('pods', `default/p${at}`, revision) }),
    )
    expect(storyOf([many, ...effects], 1)).toHaveLength(3)
  })

  test('ends, whatever the causes claim', () => {
    const [one, two] = [
      record(1, { cause: saw('pods', 'default/p2', 102) }),
      record(2, { cause: saw('pods', 'default/p1', 101) }),
    ]
    expect(storyOf([one, two], 2).length).toBeLessThanOrEqual(2)
  })
})

test('a story goes across API servers, whichever record came first', () => {
  const write = record(9, { name: 'web', revision: '101', atMs: 1000 })
  const effect = record(2, { name: 'b', revision: '102', cause: saw('pods', 'default/web', 101) })
  expect(storyOf([effect, write], effect.seq)).toEqual([
    { record: write, depth: 0 },
    { record: effect, depth: 1 },
  ])
})

describe('requests of several API servers', () => {
  const seqs = (records: readonly RequestRecord[]): number[] =>
    inOrder(records).map(({ seq }) => seq)
  /** Answered at once. */
  const answered = (seq: number, atMs: number, more: Partial<RequestRecord>): RequestRecord =>
    record(seq, { atMs, durationMs: 0, ...more })

  test('have writes in the order of revisions, although the clock of one server is a minute ahead', () => {
    const first = answered(1, 61_000, { revision: '9' })
    const second = answered(2, 1010, { revision: '10', cause: saw('pods', 'default/p1', 9) })
    const third = answered(3, 61_020, { revision: '11', cause: saw('pods', 'default/p2', 10) })
    for (const records of [
      [first, second, third],
      [third, second, first],
    ])
      expect(seqs(records)).toEqual([1, 2, 3])
  })

  test('have a slow answer where its write was made', () => {
    const slow = record(1, { atMs: 900, durationMs: 9000, revision: '11' })
    const next = answered(2, 1000, { revision: '12' })
    const later = answered(3, 2000, { revision: '13' })
    expect(seqs([later, next, slow])).toEqual([1, 2, 3])
  })

  test('have others by the time of their answers, but never before the write that they react to', () => {
    const { revision: _, ...rejected } = answered(4, 1, {
      status: 409,
      cause: saw('pods', 'default/p1', 10),
    })
    const { revision: __, ...read } = answered(5, 1500, { verb: 'list' })
    const write = answered(1, 1000, { revision: '10' })
    const next = answered(2, 2000, { revision: '11' })
    expect(seqs([rejected, read, next, write])).toEqual([1, 4, 5, 2])
  })

  test('take no order from the revisions of events, which may have an etcd of their own', () => {
    const event = answered(1, 3000, { resource: 'events', revision: '1' })
    const writes = [
      answered(2, 1000, { revision: '100' }),
      answered(3, 2000, { revision: '101' }),
      answered(4, 4000, { revision: '102' }),
    ]
    expect(seqs([event, ...writes])).toEqual([2, 3, 1, 4])
  })
})

test('actors are named by what tells them apart', () => {
  const actor = (user: string): string => actorOf({ user, userAgent: 'curl/8' })
  expect(actor('system:serviceaccount:kube-system:deployment-controller')).toBe(
    'deployment-controller',
  )
  expect(actor('system:node:node-1')).toBe('node node-1')
  expect(actor('system:kube-scheduler')).toBe('kube-scheduler')
  expect(actor('')).toBe('curl')
})

test('requests are found by actor, verb, target and status', () => {
  const one = record(1, { verb: 'patch', subresource: 'status', status: 403 })
  expect(verbOf(one)).toBe('patch of status')
  expect(targetOf(one)).toBe('pods default/p1')
  expect(matches(one, 'JANE 403 pods')).toBe(true)
  expect(matches(one, 'jane 200')).toBe(false)
  expect(isDenied(one)).toBe(true)
  expect(isHeartbeat(one)).toBe(false)
  expect(isHeartbeat(record(2, { resource: 'leases' }))).toBe(true)
})

test('rates count the last seconds, and leave the length of watches out', () => {
  const records = [
    record(1),
    record(9),
    record(10, { status: 404 }),
    record(10, { verb: 'watch', durationMs: 1e6 }),
  ]
  const rates = ratesOf(records, { nowMs: 10_500, seconds: 3 })
  expect(rates).toEqual({ perSecond: [0, 1, 2], p50: 10, p99: 10, failed: 1, total: 3 })
})
