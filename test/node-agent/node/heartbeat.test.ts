import { afterEach, expect, test } from 'vitest'
import type { Lease } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import { createGate } from '../../../components/component-base/gate.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { runHeartbeat, type HeartbeatGates } from '../../../components/node-agent/node/heartbeat.ts'
import { turnOf } from '../../../components/node-agent/node/turn.ts'
import { StatusError, tooManyRequests } from '../../../components/machinery/objects/status-error.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error('the test is over'))
})

const gatesOf = (atOnce: number): HeartbeatGates => ({
  answered: createGate(atOnce),
  unanswered: createGate(atOnce),
})

function start(firstDelayMs = 0, isNew = false) {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const stop = new AbortController()
  stops.push(stop)
  const leases = { ...server.client().resource<Lease>(resources.leases) }
  const running = runHeartbeat(
    {
      leases,
      namespace: 'kube-node-lease',
      nodeName: 'n1',
      owner: () => ({ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' }),
      clock,
      log: silentLog,
      turn: firstDelayMs === 0 ? undefined : { share: firstDelayMs / 10_000, startMs: clock.now() },
      isNew,
      gates: gatesOf(1),
    },
    stop.signal,
  )
  running.catch(() => {})
  const lease = () => server.peek<Lease>(resources.leases, 'kube-node-lease/n1')
  return { clock, server, resources, leases, lease, stop, running }
}

test('[NODE-015] each node has one Lease, named like it and owned by it', async () => {
  const { server, resources, lease } = start()
  await settle()
  expect(server.all(resources.leases)).toHaveLength(1)
  expect(lease()).toMatchObject({
    metadata: {
      name: 'n1',
      namespace: 'kube-node-lease',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' }],
    },
    spec: {
      holderIdentity: 'n1',
      leaseDurationSeconds: 40,
      renewTime: '2025-01-01T00:00:00.000000Z',
    },
  })
})

test('the Lease of a new node is created without a look; one that an earlier node left is renewed', async () => {
  const { clock, server, lease } = start(1000, true)
  let looks = 0
  server.react('get', 'leases', () => {
    looks += 1
  })
  await clock.step(1000)
  expect([looks, lease()?.spec?.renewTime]).toEqual([0, '2025-01-01T00:00:01.000000Z'])

  const later = start(1000, true)
  await later.leases.create({
    metadata: { name: 'n1', namespace: 'kube-node-lease', labels: { seen: 'yes' } },
  })
  await later.clock.step(1000)
  expect(later.lease()?.spec?.renewTime).toBe('2025-01-01T00:00:01.000000Z')
  expect(later.lease()?.metadata.labels).toEqual({ seen: 'yes' })
})

test('[NODE-016] the Lease is renewed every 10 seconds', async () => {
  const { clock, server, lease } = start()
  await clock.step(9999)
  expect(server.writes).toEqual(['create leases kube-node-lease/n1'])
  await clock.step(1)
  expect(lease()?.spec?.renewTime).toBe('2025-01-01T00:00:10.000000Z')
  await clock.step(30_000)
  expect(server.writes.filter((write) => write.startsWith('update'))).toHaveLength(4)
})

test('[NODE-017] a failed update is retried after 200 ms, doubling up to 7 seconds', async () => {
  const { clock, server } = start()
  await settle()
  const tries: number[] = []
  server.react('*', 'leases', ({ verb }) => {
    if (verb === 'get' || verb === 'update') tries.push(clock.now())
    throw new ConnectionError('refused', 'nobody listens')
  })
  await clock.step(60_000)
  const waits = tries.slice(1).map((at, index) => at - (tries[index] as number))
  expect(waits.slice(0, 8)).toEqual([200, 400, 800, 1600, 3200, 6400, 7000, 7000])
})

test('[LIM-010] the beat is every 10 s; a retry waits 200 ms, then twice as long, up to 7 s; then it is 10 s again', async () => {
  const { clock, server, lease } = start()
  await settle()
  const tries: number[] = []
  let isDown = false
  server.react('*', 'leases', ({ verb }) => {
    if (verb === 'update') tries.push(clock.now())
    if (isDown) throw new ConnectionError('refused', 'nobody listens')
  })
  await clock.step(30_000)
  const waits = () => tries.slice(1).map((at, index) => at - (tries[index] as number))
  expect(waits()).toEqual([10_000, 10_000])
  isDown = true
  await clock.step(10_000 + 26_000)
  const before = lease()?.spec?.renewTime
  isDown = false
  await clock.step(7000)
  expect(lease()?.spec?.renewTime).not.toBe(before)
  const recovered = tries.at(-1)
  await clock.step(10_000)
  expect(tries.at(-1)).toBe((recovered ?? 0) + 10_000)
})

test('a lease that somebody else changed is read and renewed', async () => {
  const { clock, server, resources, lease } = start()
  await settle()
  server.change(resources.leases, 'kube-node-lease/n1', (stored) => {
    stored['metadata'].labels = { seen: 'yes' }
  })
  await clock.step(11_000)
  expect(lease()?.spec?.renewTime).toBe('2025-01-01T00:00:10.200000Z')
  expect(lease()?.metadata.labels).toEqual({ seen: 'yes' })
})

test('a server that does not answer the look at a lease costs one beat, not more', async () => {
  const { clock, server, resources, leases, lease } = start()
  await settle()
  server.change(resources.leases, 'kube-node-lease/n1', (stored) => {
    stored['metadata'].labels = { seen: 'yes' }
  })
  const patient = leases.get
  let looks = 0
  leases.get = (_, options) => {
    looks += 1
    return new Promise((_resolve, reject) => {
      options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error))
    })
  }
  await clock.step(10_000 + 200)
  expect(looks).toBe(1)
  leases.get = patient
  await clock.step(10_000 + 400)
  expect(lease()?.spec?.renewTime).toBe('2025-01-01T00:00:20.600000Z')
})

test('a lease is not read again because the server has too much to do, or is out of reach', async () => {
  const { clock, server } = start()
  await settle()
  const looks: string[] = []
  server.react('get', 'leases', () => void looks.push('get'))
  const failures = [
    new ConnectionError('refused', 'nobody listens'),
    tooManyRequests(1),
    new StatusError('ServiceUnavailable', 'not now'),
  ]
  server.react('update', 'leases', () => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
  })
  await clock.step(12_000)
  expect([failures, looks]).toEqual([[], []])
  expect(server.writes.filter((write) => write.startsWith('update'))).toHaveLength(4)
})

test('a server that can renew half of the leases in time keeps all of them: no renewal waits in vain', async () => {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const stop = new AbortController()
  stops.push(stop)
  const nodes = 60
  const takesMs = 333
  // It answers one after the other, also those who have gone.
  let freeMs = 0
  const inTurn = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    freeMs = Math.max(freeMs, clock.now()) + takesMs
    await clock.sleep(freeMs - clock.now(), signal)
    return await work()
  }
  const gates = gatesOf(16)
  for (let index = 0; index < nodes; index += 1) {
    const real = server.client().resource<Lease>(resources.leases)
    const leases: typeof real = {
      ...real,
      get: (ref, options) => inTurn(() => real.get(ref, options), options?.signal),
      create: (lease, options) => inTurn(() => real.create(lease, options), options?.signal),
      update: (lease, options) => inTurn(() => real.update(lease, options), options?.signal),
    }
    const running = runHeartbeat(
      {
        leases,
        namespace: 'kube-node-lease',
        nodeName: `n${index}`,
        owner: () => undefined,
        clock,
        log: silentLog,
        turn: turnOf(index, nodes, clock.now()),
        isNew: true,
        gates,
      },
      stop.signal,
    )
    running.catch(() => {})
  }
  await clock.step(60_000)
  for (let round = 0; round < 10; round += 1) {
    await clock.step(10_000)
    const renewed = server
      .all<Lease>(resources.leases)
      .map(({ spec }) => clock.now() - Date.parse(spec?.renewTime ?? ''))
    expect(renewed).toHaveLength(nodes)
    expect(Math.max(...renewed)).toBeLessThan(40_000)
  }
})

test('nodes that get no answers keep no other from its renewals, however many they are', async () => {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const stop = new AbortController()
  stops.push(stop)
  const nodes = 40
  const mostUnanswered = 24
  let isCut = false
  const gates = gatesOf(8)
  for (let index = 0; index < nodes; index += 1) {
    const real = server.client().resource<Lease>(resources.leases)
    const update: typeof real.update = async (lease, options) => {
      if (isCut && index < mostUnanswered) await clock.sleep(3_600_000, options?.signal)
      return await real.update(lease, options)
    }
    const running = runHeartbeat(
      {
        leases: { ...real, update },
        namespace: 'kube-node-lease',
        nodeName: `n${index}`,
        owner: () => undefined,
        clock,
        log: silentLog,
        turn: turnOf(index, nodes, clock.now()),
        isNew: true,
        gates,
      },
      stop.signal,
    )
    running.catch(() => {})
  }
  const oldestMs = (): number => {
    const ages = server
      .all<Lease>(resources.leases)
      .filter(({ metadata }) => Number(metadata.name?.slice(1)) >= mostUnanswered)
      .map(({ spec }) => clock.now() - Date.parse(spec?.renewTime ?? ''))
    expect(ages).toHaveLength(nodes - mostUnanswered)
    return Math.max(...ages)
  }
  await clock.step(20_000)
  isCut = true
  // Until each of them has waited in vain once.
  for (let round = 0; round < 4; round += 1) {
    await clock.step(10_000)
    expect(oldestMs()).toBeLessThan(40_000)
  }
  for (let round = 0; round < 20; round += 1) {
    await clock.step(10_000)
    expect(oldestMs()).toBeLessThanOrEqual(10_000)
  }
})

test('a clock that is set back delays no beat', async () => {
  const { clock, server } = start()
  await settle()
  let isBack = false
  const now = clock.now.bind(clock)
  clock.now = () => now() - (isBack ? 3_600_000 : 0)
  server.react('update', 'leases', () => {
    isBack = true
  })
  await clock.step(30_000)
  expect(server.writes.filter((write) => write.startsWith('update'))).toHaveLength(3)
})

test('a lease that was deleted is made again', async () => {
  const { clock, server, resources, lease } = start()
  await settle()
  server.remove(resources.leases, 'kube-node-lease/n1')
  await clock.step(11_000)
  expect(lease()?.spec?.holderIdentity).toBe('n1')
})

test('a node keeps its turn, however long its renewals take', async () => {
  const { clock, server, leases } = start(3000)
  const update = leases.update.bind(leases)
  let tookMs = 0
  leases.update = async (...args) => {
    tookMs += 700
    await clock.sleep(tookMs)
    return await update(...args)
  }
  const startMs = clock.now()
  const begun: number[] = []
  server.react('update', 'leases', () => void begun.push(clock.now() - startMs - tookMs))
  await clock.step(43_000 + 4 * 700)
  expect(begun).toEqual([13_000, 23_000, 33_000, 43_000])
})

test('agents of one process can start their beats apart, and stop with the signal', async () => {
  const { clock, server, stop, running } = start(3000)
  await clock.step(2999)
  expect(server.writes).toEqual([])
  await clock.step(1)
  expect(server.writes).toHaveLength(1)
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
})
