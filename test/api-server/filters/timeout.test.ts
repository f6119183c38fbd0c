/** The filter that bounds the time of a request, by itself. */
import { expect, it } from 'vitest'
import { timeout } from '../../../components/api-server/filters/timeout.ts'
import type {
  Answer,
  Next,
  RequestContext,
} from '../../../components/api-server/request/request.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const context = { info: { verb: 'get', subresource: '' } } as RequestContext
const answer: Answer = { status: 200, headers: {}, body: Buffer.from('{}') }

function filtered(next: Next): { clock: FakeClock; answered: Promise<Answer> } {
  const clock = new FakeClock()
  return { clock, answered: timeout(clock, 60_000)(context, next) }
}

it('a request that takes too long gets 504', async () => {
  const { clock, answered } = filtered(() => new Promise<Answer>(() => {}))
  const refused = expect(answered).rejects.toMatchObject({ code: 504, reason: 'Timeout' })
  await clock.step(60_000)
  await refused
})

it('a request that is answered, refused or refused at once leaves no timer behind', async () => {
  const served = filtered(async () => answer)
  await expect(served.answered).resolves.toBe(answer)
  const refused = filtered(async () => {
    throw new Error('refused')
  })
  await expect(refused.answered).rejects.toThrow('refused')
  const refusedAtOnce = filtered(() => {
    throw new Error('refused at once')
  })
  await expect(refusedAtOnce.answered).rejects.toThrow('refused at once')
  expect([served, refused, refusedAtOnce].map(({ clock }) => clock.pending)).toEqual([0, 0, 0])
})
