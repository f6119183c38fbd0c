import { expect, it } from 'vitest'
import { HostThread } from '../../embedded/host-thread.ts'
import { FakeClock } from '../support/fake-clock.ts'

const bare = {
  nodes: [],
  components: [],
  extraFlags: {},
  port: 0,
  seed: 1,
  startAtMs: undefined,
  initialState: undefined,
}

it('the thread of embedded clusters stays while it has one, and ends when it has had none for a while', async () => {
  const clock = new FakeClock()
  const host = new HostThread(clock)
  const { cluster } = await host.call('start', bare)
  await clock.step(60_000)
  expect(host.hasEnded).toBe(false)
  const fork = await host.call('fork', { cluster })
  await host.call('close', { cluster })
  await clock.step(60_000)
  expect(host.hasEnded).toBe(false)
  await host.call('close', { cluster: fork.cluster })
  await clock.step(5000)
  const again = await host.call('start', bare)
  await clock.step(60_000)
  expect(host.hasEnded).toBe(false)
  await host.call('close', { cluster: again.cluster })
  await clock.step(10_000)
  expect(host.hasEnded).toBe(true)
  await expect(host.call('start', bare)).rejects.toThrow('has ended, since it had none')
})

it('a thread that nobody uses ends, too', async () => {
  const clock = new FakeClock()
  const host = new HostThread(clock)
  await clock.step(10_000)
  expect(host.hasEnded).toBe(true)
})

it('a start that fails leaves the thread without a cluster', async () => {
  const clock = new FakeClock()
  const host = new HostThread(clock)
  const wrong = { ...bare, extraFlags: { 'api-server': { 'no-such-flag': '1' } } }
  await expect(host.call('start', wrong)).rejects.toMatchObject({
    name: 'FlagError',
    message: expect.stringContaining('no-such-flag'),
  })
  await clock.step(10_000)
  expect(host.hasEnded).toBe(true)
})

it('a cluster that was prepared is the first that is started, and keeps no idle thread alive', async () => {
  const clock = new FakeClock()
  const host = new HostThread(clock)
  host.prepare(bare)
  const prepared = await host.call('start', bare)
  const other = await host.call('start', bare)
  expect(prepared.cluster).not.toBe(other.cluster)
  expect(prepared.server).not.toBe(other.server)
  await host.call('close', { cluster: prepared.cluster })
  await host.call('close', { cluster: other.cluster })
  host.prepare(bare)
  await clock.step(10_000)
  expect(host.hasEnded).toBe(true)
})
