import { afterEach, describe, expect, it, vi } from 'vitest'
import { releaseIdleMemory, type MemoryUse } from '../../components/component-base/idle-memory.ts'
import { FakeClock } from '../support/fake-clock.ts'

const megabyte = 2 ** 20

afterEach(() => {
  vi.unstubAllGlobals()
})

function setUp(hasCollector = true) {
  const collect = vi.fn()
  vi.stubGlobal('gc', hasCollector ? collect : undefined)
  const clock = new FakeClock()
  const stop = new AbortController()
  const state = { busyMs: 0, residentMb: 100, heapMb: 20, keptMb: 0 }
  const use: MemoryUse = {
    busyMs: () => state.busyMs,
    residentBytes: () => state.residentMb * megabyte,
    heapBytes: () => state.heapMb * megabyte,
  }
  const release = vi.fn(async () => {})
  const running = releaseIdleMemory({
    clock,
    signal: stop.signal,
    release,
    keptBytes: () => state.keptMb * megabyte,
    use,
  })
  const end = async (): Promise<void> => {
    stop.abort()
    await running
  }
  return { clock, collect, release, state, end }
}

describe('memory of an idle process', () => {
  it('is given back once after the start, and then stays as it is', async () => {
    const { clock, collect, release, end } = setUp()
    await clock.step(4999)
    expect(collect).not.toHaveBeenCalled()
    await clock.step(1)
    expect(collect).toHaveBeenCalledOnce()
    await clock.step(600_000)
    expect([collect.mock.calls.length, release.mock.calls.length]).toEqual([1, 1])
    await end()
  })

  it('is given back after a load, not during it', async () => {
    const { clock, collect, state, end } = setUp()
    await clock.step(5000)
    state.residentMb = 900
    for (let second = 0; second < 60; second += 5) {
      state.busyMs += 4000
      await clock.step(5000)
    }
    expect(collect).toHaveBeenCalledTimes(1)
    await clock.step(5000)
    expect(collect).toHaveBeenCalledTimes(2)
    await end()
  })

  it('is given back when what was kept has been let go', async () => {
    const { clock, collect, state, end } = setUp()
    state.keptMb = 64
    await clock.step(5000)
    state.keptMb = 0
    await clock.step(5000)
    expect(collect).toHaveBeenCalledTimes(1)
    // Not at once again.
    await clock.step(30_000)
    expect(collect).toHaveBeenCalledTimes(2)
    await end()
  })

  it('is given back after a load that began with the process, and again when what it made is gone', async () => {
    const { clock, collect, state, end } = setUp()
    state.heapMb = 300
    state.residentMb = 900
    await clock.step(5000)
    expect(collect).toHaveBeenCalledTimes(1)
    state.residentMb = 1000
    await clock.step(30_000)
    expect(collect).toHaveBeenCalledTimes(2)
    await end()
  })

  it('is looked through rarely when that takes long', async () => {
    const { clock, collect, state, end } = setUp()
    collect.mockImplementation(() => void (state.busyMs += 400))
    await clock.step(5000)
    state.residentMb = 900
    await clock.step(115_000)
    expect(collect).toHaveBeenCalledTimes(1)
    await clock.step(10_000)
    expect(collect).toHaveBeenCalledTimes(2)
    await end()
  })

  it('stays while so much may be alive that looking through it would hold up requests', async () => {
    const { clock, collect, state, end } = setUp()
    state.heapMb = 400
    await clock.step(5000)
    expect(collect).toHaveBeenCalledTimes(0)
    await end()
  })

  it('stays when the engine was not started for it', async () => {
    const { clock, release, end } = setUp(false)
    await clock.step(60_000)
    expect(release).not.toHaveBeenCalled()
    await end()
  })
})
