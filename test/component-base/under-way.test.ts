import { describe, expect, it } from 'vitest'
import { patienceMs, UnderWay } from '../../components/component-base/under-way.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

/** Whether the promise is settled once everything has run that is due. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  let settled = false
  void promise?.then(() => (settled = true))
  await settle()
  return settled
}

describe('work under way', () => {
  it('is waited for until the next of it ends', async () => {
    const work = new UnderWay(new FakeClock())
    expect(work.next()).toBeUndefined()
    const endFirst = work.begin()
    const endSecond = work.begin()
    const next = work.next()
    expect(await isSettled(next)).toBe(false)
    endFirst()
    expect(await isSettled(next)).toBe(true)
    const last = work.next()
    endFirst()
    expect(await isSettled(last)).toBe(false)
    endSecond()
    expect(await isSettled(last)).toBe(true)
    expect(work.next()).toBeUndefined()
  })

  it('is not waited for when it takes too long, and other work still is', async () => {
    const clock = new FakeClock()
    const work = new UnderWay(clock)
    work.begin()
    const next = work.next()
    await clock.step(patienceMs - 1)
    expect(await isSettled(next)).toBe(false)
    await clock.step(1)
    expect(await isSettled(next)).toBe(true)
    expect(work.next()).toBeUndefined()
    const end = work.begin()
    const other = work.next()
    expect(await isSettled(other)).toBe(false)
    end()
    expect(await isSettled(other)).toBe(true)
    expect(clock.pending).toBe(0)
  })
})
