/** The question to the scheduler, when it cannot be asked. */
import { expect, it } from 'vitest'
import { createAskScheduler } from '../../../cluster/why/ask-scheduler.ts'

type Asked = Parameters<typeof createAskScheduler>[0]

function clusterWith(call: () => Promise<unknown>): Asked {
  return { control: { call } } as unknown as Asked
}

it('the scheduler is looked up once for all pods of a question', async () => {
  let calls = 0
  const ask = createAskScheduler(
    clusterWith(() => {
      calls += 1
      return Promise.resolve({ components: [{ program: 'scheduler', state: 'stopped' }] })
    }),
  )
  const answers = await Promise.all([ask('shop/a'), ask('shop/b')])
  expect(answers).toEqual([
    { kind: 'silent', why: 'it is stopped' },
    { kind: 'silent', why: 'it is stopped' },
  ])
  expect(calls).toBe(1)
})

it('a supervisor that does not answer is why the scheduler is silent', async () => {
  const ask = createAskScheduler(clusterWith(() => Promise.reject(new Error('no supervisor'))))
  expect(await ask('shop/a')).toEqual({ kind: 'silent', why: 'no supervisor' })
})
