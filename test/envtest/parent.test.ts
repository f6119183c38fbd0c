import { describe, expect, it } from 'vitest'
import { silentLog } from '../../components/component-base/log.ts'
import { endWithParent } from '../../envtest/parent.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** The processes of a system with one that may end. */
function system(parent: number, { keepsPid = false } = {}) {
  let isAlive = true
  let looks = 0
  return {
    end: () => void (isAlive = false),
    get looks() {
      return looks
    },
    parent: () => {
      looks += 1
      return isAlive || keepsPid ? parent : 1
    },
    exists: () => isAlive,
  }
}

describe('a process that ends with its parent', () => {
  const start = (processes: ReturnType<typeof system>, pid = 7) => {
    const clock = new FakeClock()
    const stop = new AbortController()
    const ending = endWithParent({ clock, log: silentLog, signal: stop.signal }, processes, pid)
    return { clock, stop, ending }
  }

  it('goes on while the parent lives, and looks once a second', async () => {
    const processes = system(7)
    const { clock, ending } = start(processes)
    await clock.step(60_000)
    expect(ending.signal.aborted).toBe(false)
    expect(processes.looks).toBe(61)
  })

  it('ends within a second when it has another parent', async () => {
    const processes = system(7)
    const { clock, ending } = start(processes)
    processes.end()
    await clock.step(1000)
    expect(ending.signal.aborted).toBe(true)
    expect(ending.isOrphaned()).toBe(true)
  })

  it('ends when the parent does not exist, though the system still names its pid', async () => {
    const processes = system(7, { keepsPid: true })
    const { clock, ending } = start(processes)
    processes.end()
    await clock.step(1000)
    expect(ending.isOrphaned()).toBe(true)
  })

  it('ends at once when the parent was gone before it looked', () => {
    const { ending } = start(system(1), 7)
    expect(ending.isOrphaned()).toBe(true)
  })

  it('that is told to stop is no orphan, and looks no more', async () => {
    const processes = system(7)
    const { clock, stop, ending } = start(processes)
    stop.abort()
    await clock.step(60_000)
    expect(ending.signal.aborted).toBe(true)
    expect(ending.isOrphaned()).toBe(false)
    expect(processes.looks).toBe(1)
  })
})
