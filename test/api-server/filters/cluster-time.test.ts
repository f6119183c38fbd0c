import { expect, it } from 'vitest'
import { tellTime } from '../../../components/api-server/filters/cluster-time.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import type { Answer } from '../../../components/component-base/http.ts'
import { FollowedClock } from '../../../components/component-base/followed-clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')
const answer: Answer = { status: 200, headers: { 'x-own': '1' }, body: Buffer.alloc(0) }
const context = {} as RequestContext

it('passes answers on as they are while the time of the cluster is real', async () => {
  const clock = new FollowedClock(new FakeClock(start))
  expect(await tellTime(clock)(context, async () => answer)).toBe(answer)
})

it('tells the time of the cluster, with milliseconds, while it is another', async () => {
  const clock = new FollowedClock(new FakeClock(start))
  clock.set({ nowMs: start + 1638, atMs: start, speed: 0 })
  const { headers } = await tellTime(clock)(context, async () => answer)
  expect(headers).toEqual({ 'x-own': '1', 'skiff-time': '2025-01-01T00:00:01.638Z' })
})
