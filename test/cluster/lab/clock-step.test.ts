/** A step of a cluster's clock, on followers with known timers. */
import { expect, test } from 'vitest'
import { ClusterTime } from '../../../cluster/lab/cluster-time.ts'
import { systemClock } from '../../../components/component-base/clock.ts'

test('a step moves a paused clock to the next due moment, and nowhere where nothing is due', async () => {
  let due = [1500, 4000]
  const time = new ClusterTime(
    {
      set: async () => {},
      fireDue: async ({ nowMs }) => {
        due = due.filter((ms) => ms > nowMs)
        return { dueMs: due[0], awaited: undefined }
      },
      apart: [],
    },
    { clock: systemClock, setting: { nowMs: 1000, atMs: 0, speed: 0 } },
  )
  await time.pause()
  expect(
    [await time.step(), await time.step(), await time.step()].map(({ nowMs }) => nowMs),
  ).toEqual([1500, 4000, 4000])
})
