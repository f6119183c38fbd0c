/** Restart policy: at once after a kill, ever later after crashes in a row. */
import { expect, test } from 'vitest'
import { decideRestart } from '../../../cluster/supervisor/restart-policy.ts'

const crash = { wasReady: true, ranMs: 50, signal: undefined }

test('crashes in a row are answered at once, then ever later, up to ten seconds', () => {
  const delays: number[] = []
  let crashes = 0
  for (let round = 0; round < 10; round += 1) {
    const decision = decideRestart(crash, crashes)
    crashes = decision.crashes
    delays.push(decision.delayMs)
  }
  expect(delays).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
})

test('a component that ran well for a while begins anew', () => {
  expect(decideRestart({ ...crash, ranMs: 10_000 }, 7)).toEqual({ delayMs: 0, crashes: 1 })
})

test('being killed is no crash, however often', () => {
  expect(decideRestart({ ...crash, signal: 'SIGKILL' }, 5)).toEqual({ delayMs: 0, crashes: 0 })
})

test('being killed before it was ready is one: something may kill it for what it does', () => {
  expect(decideRestart({ wasReady: false, ranMs: 0, signal: 'SIGKILL' }, 5).delayMs).toBe(1600)
})

test('a fault signal is a crash', () => {
  expect(decideRestart({ ...crash, signal: 'SIGSEGV' }, 3).delayMs).toBe(400)
})
