/** How often the screen is drawn. */
import { expect, it } from 'vitest'
import { createRedraw } from '../../../console/top/redraw.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Frames within a second in which this many changes come, evenly. */
async function framesOf(changes: number): Promise<number> {
  const clock = new FakeClock(0)
  const redraw = createRedraw(clock)
  let frames = 0
  redraw.subscribe(() => (frames += 1))
  for (let at = 0; at < 1000; at += 10) {
    for (let change = 0; change < changes / 100; change += 1) redraw.change()
    await clock.step(10)
  }
  redraw.stop()
  await clock.step(5000)
  return frames
}

it('the screen is drawn ten times a second at most, once a second without changes, and never after its end', async () => {
  const busy = await framesOf(1000)
  expect(busy).toBeLessThanOrEqual(10)
  expect(busy).toBeGreaterThan(5)
  expect(await framesOf(0)).toBe(1)
})
