import { expect, test } from 'vitest'
import { createQueueObservers } from '../../components/client/work-queue-metrics.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('a queue shows what waits, what is worked on, and for how long', async () => {
  const clock = new FakeClock(0)
  const metrics = createMetrics({ release: '1.32' })
  const observerOf = createQueueObservers(metrics, clock)
  const queue = createWorkQueue({ clock, observer: observerOf('pods') })
  const shown = (): Record<string, number> =>
    Object.fromEntries(
      metrics
        .text()
        .split('\n')
        .filter((line) => line.startsWith('workqueue_') && !line.includes('_bucket'))
        .map((line) => /^workqueue_(\w+)\{name="pods"\} (.*)$/.exec(line) ?? [])
        .map(([, name = '', value]) => [name, Number(value)]),
    )
  for (const key of ['a', 'b', 'a']) queue.add(key)
  expect(shown()).toMatchObject({ adds_total: 2, depth: 2, unfinished_work_seconds: 0 })

  await clock.step(3000)
  expect(await queue.next()).toBe('a')
  queue.add('a')
  await clock.step(2000)
  expect(await queue.next()).toBe('b')
  await clock.step(1000)
  expect(shown()).toMatchObject({
    adds_total: 3,
    depth: 1,
    queue_duration_seconds_count: 2,
    queue_duration_seconds_sum: 8,
    unfinished_work_seconds: 4,
    longest_running_processor_seconds: 3,
  })

  queue.done('a')
  queue.addRateLimited('b')
  queue.done('b')
  expect(shown()).toMatchObject({
    depth: 1,
    retries_total: 1,
    work_duration_seconds_count: 2,
    work_duration_seconds_sum: 4,
    unfinished_work_seconds: 0,
    longest_running_processor_seconds: 0,
  })
})
