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

/** A watch of a user that is the same value at each check, whose account and right can be taken away. */
async function watchOf(clock: FakeClock) {
  const user = { name: 'jo', groups: [] }
  const state = { isKnown: true, mayWatch: true }
  const filter = recheck(
    () =>
      state.isKnown ? { kind: 'user', user } : { kind: 'unauthorized', why: 'expired', tried: [] },
    {
      name: 'rights',
      authorize: () => ({ decision: state.mayWatch ? 'allow' : 'no-opinion', reason: '' }),
    },
    clock,
  )
  const context = {
    info: { verb: 'watch', isResourceRequest: false },
    http: { headers: {} },
    user,
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
  return { state, watching, isLost: () => context.lost?.aborted === true }
}

it.each([
  ['right is taken away', { mayWatch: false }],
  ['credential ends', { isKnown: false }],
])('a watch ends within 30 s when its %s, whatever the second is', async (_, loss) => {
  for (const startMs of [0, 29_999, 30_001, 55_555]) {
    const clock = new FakeClock(startMs)
    const watch = await watchOf(clock)
    await clock.step(90_000)
    expect(watch.isLost()).toBe(false)
    Object.assign(watch.state, loss)
    await clock.step(30_000)
    expect(watch.isLost()).toBe(true)
    await watch.watching
  }
})

it('watches that began at different times are checked at the same moment while time is not real', async () => {
  const clock = Object.assign(new FakeClock(0), { isReal: () => false })
  const watches = []
  for (let began = 0; began < 9; began += 1) {
    watches.push(await watchOf(clock))
    await clock.step(1000)
  }
  for (const { state } of watches) state.isKnown = false
  // The first check is at 30 s at the latest, of the watch that began at 0 s.
  await clock.step(20_999)
  expect(watches.map(({ isLost }) => isLost())).toEqual(watches.map(() => false))
  await clock.step(1)
  expect(watches.map(({ isLost }) => isLost())).toEqual(watches.map(() => true))
  for (const { watching } of watches) await watching
})
