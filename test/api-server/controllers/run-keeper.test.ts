/** The loop of everything that the server keeps true in the background. */
import { afterEach, describe, expect, it } from 'vitest'
import { runKeeper } from '../../../components/api-server/controllers/run-keeper.ts'
import type { Reconciler } from '../../../components/client/controller.ts'
import { createLog } from '../../../components/component-base/log.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function start(reconcile: Reconciler, workers = 1) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const lines: string[] = []
  const log = createLog({ clock, level: 'warn', write: (line) => lines.push(line) })
  let add: ((key: string) => void) | undefined
  let isWatching = false
  const done = runKeeper(
    {
      name: 'test',
      reconcile,
      watch: (adding) => {
        add = adding
        isWatching = true
        return [() => void (isWatching = false)]
      },
      workers,
      clock,
      log,
    },
    stop.signal,
  )
  ends.push(() => {
    stop.abort()
    return done
  })
  await settle()
  const levels = (): unknown[] =>
    lines.map((line) => (JSON.parse(line) as { level: unknown }).level)
  return {
    clock,
    stop,
    done,
    levels,
    add: (key: string): void => add?.(key),
    isWatching: (): boolean => isWatching,
  }
}

describe('a keeper', () => {
  it('settles a key that failed again after a second, then after two', async () => {
    const times: number[] = []
    const { clock, add } = await start(async () => {
      times.push(clock.now())
      if (times.length < 3) throw new StatusError('Timeout', 'too slow')
    })
    const from = clock.now()
    add('a')
    await clock.step(10_000)
    expect(times.map((at) => at - from)).toEqual([0, 1000, 3000])
  })

  it('leaves a lost race to the change that won it, and logs nothing', async () => {
    const seen: string[] = []
    const { clock, add, levels } = await start(async (key) => {
      seen.push(key)
      if (key === 'changed') throw new StatusError('Conflict', 'changed')
      if (key === 'gone') throw new StatusError('NotFound', 'gone')
      throw new StatusError('AlreadyExists', 'there')
    })
    for (const key of ['changed', 'gone', 'there']) add(key)
    await clock.step(60_000)
    expect(seen).toEqual(['changed', 'gone', 'there'])
    expect(levels()).toEqual([])
  })

  it('logs a bug as an error, and other keys go on', async () => {
    const seen: string[] = []
    const { add, levels } = await start(async (key) => {
      if (key === 'odd') throw new TypeError('undefined is not a function')
      seen.push(key)
    })
    add('odd')
    add('fine')
    await settle()
    expect(seen).toEqual(['fine'])
    expect(levels()).toEqual(['error'])
  })

  it('settles as many keys at once as it has workers, never one key twice at once', async () => {
    const open: (() => void)[] = []
    const under: string[] = []
    const { add } = await start(async (key) => {
      under.push(key)
      await new Promise<void>((resolve) => open.push(resolve))
    }, 2)
    ends.unshift(async () => open.forEach((end) => end()))
    for (const key of ['a', 'a', 'b', 'c']) add(key)
    await settle()
    expect(under).toEqual(['a', 'b'])
    add('a')
    open.shift()?.()
    await settle()
    expect(under).toEqual(['a', 'b', 'c'])
    open.shift()?.()
    await settle()
    expect(under).toEqual(['a', 'b', 'c', 'a'])
  })

  it('ends when the work under way has ended, and watches no more', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let hasEnded = false
    const { add, stop, done, isWatching } = await start(() => promise)
    void done.then(() => (hasEnded = true))
    add('a')
    await settle()
    expect(isWatching()).toBe(true)
    stop.abort()
    await settle()
    expect(hasEnded).toBe(false)
    resolve()
    await done
    expect(isWatching()).toBe(false)
  })
})
