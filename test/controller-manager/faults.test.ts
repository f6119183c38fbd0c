/**
 * All controllers together, in minutes of trouble, while users change everything: nothing is made twice,
 * no request is repeated without a growing pause, and in the end all is as without the trouble.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { ConnectionError } from '../../components/client/connection-error.ts'
import {
  internalError,
  objectModified,
  StatusError,
} from '../../components/machinery/objects/status-error.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import type { FakeCluster, RecordedCall } from '../support/fake-client.ts'
import { busiest, startWholeCluster, type WholeCluster } from '../support/whole-cluster.ts'

const minute = 60_000
const troubleMs = 5 * minute
const stepMs = 10_000

const isRead = ({ verb }: RecordedCall): boolean => ['get', 'list', 'watch'].includes(verb)
const isChange = ({ verb }: RecordedCall): boolean => ['update', 'patch', 'delete'].includes(verb)

/** Begins the trouble; gives its end. `later` is called every few seconds meanwhile. */
interface Trouble {
  readonly begin: (cluster: FakeCluster) => () => void
  readonly later?: (cluster: FakeCluster, round: number) => void
}

const refusing = (error: () => Error, isHit: (call: RecordedCall) => boolean): Trouble => ({
  begin: (cluster) => {
    cluster.endWatches(new ConnectionError('lost', 'the connection was lost'))
    return cluster.react('*', '*', (call) => {
      if (isHit(call)) throw error()
    })
  },
})

let calls = 0
const everyOther = (): boolean => (calls += 1) % 2 === 0

const troubles: Readonly<Record<string, Trouble>> = {
  'an API server that answers 429': refusing(
    () => new StatusError('TooManyRequests', 'later', { details: { retryAfterSeconds: 1 } }),
    () => true,
  ),
  'an API server that answers 500': refusing(
    () => internalError('etcdserver: no leader'),
    () => true,
  ),
  'an API server that nobody reaches': refusing(
    () => new ConnectionError('refused', 'connect ECONNREFUSED'),
    () => true,
  ),
  'writes that every other time answer 500': refusing(
    () => internalError('etcdserver: request timed out'),
    (call) => !isRead(call) && everyOther(),
  ),
  'changes that every other time are conflicts': refusing(
    () => new StatusError('Conflict', objectModified),
    (call) => isChange(call) && everyOther(),
  ),
  'watches that are refused': refusing(
    () => new StatusError('ServiceUnavailable', 'not now'),
    ({ verb }) => verb === 'watch' || verb === 'list',
  ),
  'writes whose answers are lost, and all watches with them': {
    begin: (cluster) =>
      cluster.loseAnswers((call) => {
        if (isRead(call) || everyOther()) return false
        cluster.endWatches(new ConnectionError('lost', 'the connection was lost'))
        return true
      }),
  },
  'watches that end again and again': {
    begin: () => () => {},
    later: (cluster) => cluster.endWatches(),
  },
  'watches that have expired': {
    begin: () => () => {},
    later: (cluster) => {
      cluster.compact()
      cluster.endWatches(new StatusError('Expired', 'too old resource version'))
    },
  },
}

/** Users cannot decide: other numbers and labels each time, and what was asked for first at last. */
function tremble(cluster: FakeCluster, round: number): void {
  const { deployments, replicaSets, replicationControllers, statefulSets, daemonSets, jobs } =
    resourcesOf(cluster.dialect)
  const isLast = (round + 1) * stepMs >= troubleMs
  const scale = (resource: Resource, name: string, wanted: number, field = 'replicas'): void => {
    cluster.change(resource, `default/${name}`, ({ metadata, ...rest }) => {
      metadata.labels = isLast ? {} : { round: String(round) }
      Object.assign(rest['spec'] as object, { [field]: isLast ? wanted : (round * 3) % 7 })
    })
  }
  scale(deployments, 'grows', 5)
  scale(deployments, 'rolls', 3)
  scale(replicaSets, 'bare', 4)
  scale(replicationControllers, 'older', 1)
  scale(statefulSets, 'named', 4)
  scale(jobs, 'second', 4, 'parallelism')
  scale(daemonSets, 'each', 0, 'minReadySeconds')
}

/** Nothing but the schedule's next Job is asked for or written. */
async function expectRest(whole: WholeCluster): Promise<void> {
  const before = whole.cluster.calls.length
  await whole.pass(4 * minute, 10_000)
  const { cluster } = whole
  expect(cluster.calls.length - before).toBeLessThan(40)
  const writes = cluster.calls.slice(before).filter((call) => !isRead(call))
  expect(writes.filter(({ key }) => !key.startsWith('default/tick'))).toEqual([])
}

/** The whole story; without trouble it shows what must come out. */
async function tell(trouble?: Trouble): Promise<WholeCluster & { during: RecordedCall[] }> {
  const whole = await startWholeCluster()
  const { cluster } = whole
  await whole.pass(30_000, 5000)
  const end = trouble?.begin(cluster)
  const from = cluster.calls.length
  whole.change()
  for (let round = 0; round * stepMs < troubleMs; round += 1) {
    trouble?.later?.(cluster, round)
    await whole.pass(stepMs, 5000)
  }
  end?.()
  const during = cluster.calls.slice(from)
  // The longest back-off of a key is 1000 s.
  await whole.pass(40 * minute, 30_000)
  return { ...whole, during }
}

describe('all controllers', () => {
  let undisturbed: WholeCluster & { during: RecordedCall[] }
  beforeAll(async () => {
    undisturbed = await tell()
    await undisturbed.harness.stop()
  })

  it('do their work undisturbed, and rest when it is done', async () => {
    const { harness, during, created } = undisturbed
    const shape = undisturbed.shape() as Record<string, string[]>
    expect(shape).toMatchObject({
      succeeded: expect.arrayContaining(['first 3', 'second 4', 'tick-28928200 1']),
      balanced: [0, 1, 0],
      namespaces: ['default'],
      configmaps: [],
      used: [
        { 'count/deployments.apps': '2', persistentvolumeclaims: '8', pods: expect.any(String) },
      ],
      persistentvolumeclaims: Array.from({ length: 8 }, () => expect.stringContaining('=Bound')),
      statefulsets: [expect.stringContaining('availableReplicas=4')],
      daemonsets: [expect.stringContaining('updatedNumberScheduled=2')],
    })
    expect(created().filter((one) => one === 'pods default/second-')).toHaveLength(4)
    expect(harness.complaints.filter((one) => one.startsWith('error'))).toEqual([])
    expect(busiest(during).count).toBeLessThan(40)
  })

  it.each(Object.entries(troubles))('settle after %s', async (_, trouble) => {
    const whole = await tell(trouble)
    try {
      expect(whole.shape()).toEqual(undisturbed.shape())
      expect(whole.created()).toEqual(undisturbed.created())
      const isFollowing = ({ verb }: RecordedCall): boolean => verb === 'watch' || verb === 'list'
      const asked = busiest(whole.during.filter((call) => !isFollowing(call)))
      expect(asked.count, asked.call).toBeLessThanOrEqual(60)
      // Three follow the same kind, and some troubles end each watch thirty times.
      const followed = busiest(whole.during.filter(isFollowing))
      expect(followed.count, followed.call).toBeLessThanOrEqual(120)
      expect(whole.harness.complaints.filter((one) => one.startsWith('error'))).toEqual([])
      await expectRest(whole)
    } finally {
      await whole.harness.stop()
    }
  })

  it.each<[string, Trouble]>([
    [
      'a clock that is set back by an hour',
      { begin: ({ clock }) => ((clock as FakeClock).setBack(60 * minute), () => {}) },
    ],
    ['owners that are scaled and labelled all the time', { begin: () => () => {}, later: tremble }],
  ])('settle after %s', async (_, trouble) => {
    const whole = await tell(trouble)
    try {
      // The schedule has seen other times.
      const lasting = (of: WholeCluster): unknown =>
        JSON.parse(
          JSON.stringify(of.shape(), (_key, value: unknown) =>
            Array.isArray(value) ? value.filter((one) => !String(one).startsWith('tick-')) : value,
          ),
        )
      expect(lasting(whole)).toEqual(lasting(undisturbed))
      expect(whole.harness.complaints.filter((one) => one.startsWith('error'))).toEqual([])
      await expectRest(whole)
    } finally {
      await whole.harness.stop()
    }
  })
})
