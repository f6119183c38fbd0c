import { expect, it } from 'vitest'
import { recheck } from '../../../components/api-server/filters/recheck.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

it('a watch that ends while its right is asked for again is not asked about any more', async () => {
  const clock = new FakeClock()
  let asked = 0
  const answer = Promise.withResolvers<{ kind: 'user' }>()
  const filter = recheck(
    async () => {
      asked += 1
      return (await answer.promise) as never
    },
    { authorize: async () => ({ decision: 'allow' }) } as never,
    clock,
  )
  const context = { info: { verb: 'watch' }, http: {} } as RequestContext
  const end = Promise.withResolvers<void>()
  const { body } = await filter(context, async () => ({
    status: 200,
    headers: {},
    body: async () => await end.promise,
  }))
  if (typeof body !== 'function') throw new Error('a watch is a stream')
  const watching = body({} as never)
  await clock.step(30_000)
  expect(asked).toBe(1)
  end.resolve()
  await watching
  answer.resolve({ kind: 'user' })
  await settle()
  await clock.step(300_000)
  expect(asked).toBe(1)
})

it('a watch ends when the group that gave the right to it is lost', async () => {
  const clock = new FakeClock()
  const groups = ['readers']
  const filter = recheck(
    async () => await Promise.resolve({ kind: 'user', user: { name: 'jo', groups: [...groups] } }),
    {
      name: 'readers',
      authorize: ({ user }) => ({
        decision: user.groups.includes('readers') ? 'allow' : 'no-opinion',
        reason: '',
      }),
    },
    clock,
  )
  const context = {
    info: { verb: 'watch', isResourceRequest: false },
    http: { headers: {} },
    user: { name: 'jo', groups: ['readers'] },
  } as unknown as RequestContext
  const { body } = await filter(context, async () => ({
    status: 200,
    headers: {},
    body: async () => {
      await new Promise<void>((resolve) => context.lost?.addEventListener('abort', () => resolve()))
    },
  }))
  if (typeof body !== 'function') throw new Error('a watch is a stream')
  const watching = body({} as never)
  await clock.step(60_000)
  expect(context.lost?.aborted).toBe(false)
  groups.pop()
  await clock.step(30_000)
  expect(context.lost?.aborted).toBe(true)
  await watching
})
