/** Waiting for nodes: whose Ready counts, and when. */
import { expect, test } from 'vitest'
import { pathsIn } from '../../cluster/state/state-dir.ts'
import { waitForNodes } from '../../cluster/wait-for-nodes.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'

const { nodes } = resourcesOf(dialects.kubernetes)

function lab() {
  const clock = new FakeClock()
  const cluster = new FakeCluster(clock)
  const ready: string[] = []
  const reported = Promise.withResolvers<void>()
  const stop = new AbortController()
  const node = (name: string): KubeObject => ({
    metadata: { name },
    status: {
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(clock.now()) }],
    },
  })
  const start = (names: readonly string[], isFresh = true): Promise<void> =>
    waitForNodes({
      client: cluster.client(),
      paths: pathsIn('/nonexistent'),
      nodes: names.map((name) => ({ name })),
      waitMs: 60_000,
      signal: stop.signal,
      ...(isFresh ? { fresh: { startedMs: clock.now(), reported: reported.promise } } : {}),
      onReady: (name) => void ready.push(name),
    })
  return { clock, cluster, node, start, ready, reported }
}

test('a node that was Ready before this start counts only when its agent reports again', async () => {
  const { clock, cluster, node, start, ready } = lab()
  for (const name of ['a', 'b']) cluster.seed(nodes, node(name))
  await clock.step(10_000)
  const waiting = start(['a', 'b'])
  await clock.step(1000)
  expect(ready).toEqual([])
  cluster.change(nodes, 'a', (object) => Object.assign(object, { status: node('a')['status'] }))
  await clock.step(1000)
  expect(ready).toEqual(['a'])
  cluster.change(nodes, 'b', (object) => Object.assign(object, { status: node('b')['status'] }))
  await waiting
  expect(ready).toEqual(['a', 'b'])
})

test('a report within the very second of the last one changes nothing in the Node, and counts all the same', async () => {
  const { clock, cluster, node, start, ready, reported } = lab()
  cluster.seed(nodes, node('a'))
  await clock.step(1)
  const waiting = start(['a'])
  await clock.step(100)
  expect(ready).toEqual([])
  reported.resolve()
  await waiting
  expect(ready).toEqual(['a'])
})

test('what a node that is not waited for afresh said before counts; late, it is named with its reason', async () => {
  const { clock, cluster, node, start, ready } = lab()
  cluster.seed(nodes, node('a'))
  await clock.step(10_000)
  await start(['a'], false)
  expect(ready).toEqual(['a'])
  const late = start(['a', 'b'])
  late.catch(() => {})
  await clock.step(60_000)
  await expect(late).rejects.toMatchObject({
    kind: 'timeout',
    details: ['node a has not reported since this start', 'node b has not registered'],
  })
})
