import { afterEach, expect, test, vi } from 'vitest'
import { releaseStartLeftovers } from '../../components/component-base/start-leftovers.ts'
import { FakeClock } from '../support/fake-clock.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

test.each([
  { heap: 'small', bytes: 20_000_000, times: 1 },
  { heap: 'large', bytes: 200_000_000, times: 0 },
])('what a start leaves in a $heap heap is collected $times times', async ({ bytes, times }) => {
  const collect = vi.fn()
  vi.stubGlobal('gc', collect)
  const clock = new FakeClock()
  releaseStartLeftovers(clock, () => bytes)
  await clock.step(1000)
  expect(collect).not.toHaveBeenCalled()
  await clock.step(60_000)
  expect(collect).toHaveBeenCalledTimes(times)
})

test('nothing is collected when the engine was not started for it', async () => {
  vi.stubGlobal('gc', undefined)
  const clock = new FakeClock()
  const asked = vi.fn(() => 0)
  releaseStartLeftovers(clock, asked)
  await clock.step(60_000)
  expect(asked).toHaveBeenCalledOnce()
})
