/** What a server that was killed in the middle of a write has left in the shared ranges is repaired. */
import { expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { repairRanges } from '../../../components/api-server/controllers/repair-ranges.ts'
import { sharedNodePorts } from '../../../components/api-server/kinds/core/shared-ranges.ts'
import type { LocalClient } from '../../../components/api-server/registry/local-client.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'

const resources = resourcesOf(dialects.kubernetes)
const { services } = resources

function cluster() {
  const store = createMemoryStore()
  const reader = new FakeReader()
  const range = sharedNodePorts({
    store,
    reader,
    services,
    clusterIpRange: '10.96.0.0/16',
    nodePortRange: '30000-30099',
  })
  const reasons: string[] = []
  const client = {
    create: async (_: unknown, __: string, object: { reason?: string }) =>
      void reasons.push(object.reason ?? ''),
  } as unknown as LocalClient
  const put = (name: string, nodePort: number): void =>
    void reader.put(services, {
      metadata: { name, namespace: 'ns' },
      spec: { type: 'NodePort', ports: [{ port: 80, nodePort }] },
    })
  return { store, reader, range, client, reasons, put }
}

/** Ports below 30,000 are counted from there. */
const isTaken = async (
  range: ReturnType<typeof cluster>['range'],
  bit: number,
): Promise<boolean> => {
  let taken = false
  await range.allocation.change((bits) => (taken = bits.has(bit)))
  return taken
}

test('a port without a Service comes back after three passes, one of a Service stays', async () => {
  const { store, reader, range, client, reasons, put } = cluster()
  const clock = new FakeClock()
  put('web', 30_001)
  expect(await range.allocation.take([1])).toEqual([1])
  expect(await range.allocation.take([2, 3])).toEqual([])
  const stop = new AbortController()
  const options = { reader, ranges: [range], client, resources, clock, log: silentLog }
  const running = repairRanges(options, stop.signal)
  await settle()
  await clock.step(3 * 60_000)
  // Its Service was being written meanwhile.
  put('late', 30_003)
  expect(await isTaken(range, 2)).toBe(true)
  await clock.step(3 * 60_000)
  expect(await isTaken(range, 2)).toBe(false)
  expect(await isTaken(range, 1)).toBe(true)
  expect(await isTaken(range, 3)).toBe(true)
  expect(reasons).toEqual([])
  stop.abort()
  await running
  await store.close()
})

test('a port that a Service has and nobody has taken is taken, with an event', async () => {
  const { store, reader, range, client, reasons, put } = cluster()
  const clock = new FakeClock()
  expect(await range.allocation.take([9])).toEqual([])
  put('web', 30_001)
  put('same', 30_001)
  const stop = new AbortController()
  const options = { reader, ranges: [range], client, resources, clock, log: silentLog }
  const running = repairRanges(options, stop.signal)
  await settle()
  expect(await isTaken(range, 1)).toBe(true)
  await expect.poll(() => reasons.toSorted()).toEqual(['PortAlreadyAllocated', 'PortNotAllocated'])
  stop.abort()
  await running
  await store.close()
})

test('the first server takes what Services have already, and one with another range begins anew', async () => {
  const { store, reader, range, put } = cluster()
  put('web', 30_001)
  expect(await range.allocation.take([1])).toEqual([1])
  const other = sharedNodePorts({
    store,
    reader,
    services,
    clusterIpRange: '10.96.0.0/16',
    nodePortRange: '29990-30009',
  })
  expect(await other.allocation.take([1])).toEqual([])
  expect(await other.allocation.take([11])).toEqual([11])
  await store.close()
})
