/** What a kube-apiserver on the same etcd keeps for other servers, as protobuf, is read and left as it is. */
import { expect, test } from 'vitest'
import { ServerLeases } from '../../../components/api-server/controllers/server-leases.ts'
import { RangeAllocation } from '../../../components/api-server/kinds/core/range-allocation.ts'
import { schemaOf } from '../../../components/api/schemas.ts'
import {
  protobufWrapper,
  writeProtobuf,
} from '../../../components/machinery/protobuf/protobuf-writer.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { FakeClock } from '../../support/fake-clock.ts'

function upstreamBytes(kind: 'Endpoints' | 'RangeAllocation', object: object): Buffer {
  const message = writeProtobuf(schemaOf(`core/v1.${kind}`), object)
  const { head, tail } = protobufWrapper('v1', kind)
  return Buffer.concat([head(message.length), message, tail])
}

test('a kube-apiserver is alive by its lease, with the port of this server', async () => {
  const store = createMemoryStore()
  const other = { metadata: { generation: 7 }, subsets: [{ addresses: [{ ip: '10.0.0.2' }] }] }
  const put = async (key: string, value: Buffer): Promise<void> => {
    await store.txn({ key, expectedRevision: 0, value })
  }
  await put('/registry/masterleases/10.0.0.2', upstreamBytes('Endpoints', other))
  await put('/registry/masterleases/unknown', Buffer.from('what no server has written'))
  const own = { address: '10.0.0.1', port: 6443 }
  const leases = new ServerLeases({ store, clock: new FakeClock(), own })
  await leases.renew()
  expect(await leases.live()).toEqual([own, { address: '10.0.0.2', port: 6443 }])
  expect(await store.get('/registry/masterleases/unknown')).toBeDefined()
  await store.close()
})

test('ports that a kube-apiserver gave out are taken, and stay so', async () => {
  const store = createMemoryStore()
  const range = '30000-30007'
  // Upstream's big.Int has no leading zeros: ports 30000 and 30002.
  const theirs = { metadata: {}, range, data: Buffer.from([0b101]).toString('base64') }
  const key = '/registry/ranges/servicenodeports'
  await store.txn({ key, expectedRevision: 0, value: upstreamBytes('RangeAllocation', theirs) })
  const ranges = new RangeAllocation({
    store,
    name: 'servicenodeports',
    range,
    size: 8,
    initial: async () => await Promise.reject(new Error('there is an allocation')),
  })
  expect(await ranges.take([2, 3])).toEqual([2])
  expect(await ranges.take([3])).toEqual([])
  const stored = JSON.parse(String((await store.get(key))?.value)) as Record<string, unknown>
  expect(stored).toEqual({
    kind: 'RangeAllocation',
    apiVersion: 'v1',
    metadata: {},
    range,
    data: Buffer.from([0b1101]).toString('base64'),
  })
  await store.close()
})
