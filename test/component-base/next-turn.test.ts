import { describe, expect, test } from 'vitest'
import { inTurns } from '../../components/component-base/next-turn.ts'
import { finished, type Steps } from '../../components/machinery/values/steps.ts'

function* sumOf(...parts: (number | Promise<number>)[]): Steps<number> {
  let sum = 0
  for (const part of parts) sum += part instanceof Promise ? ((yield part) as number) : part
  yield
  return sum
}

describe('a computation in steps', () => {
  test('gets the values of the promises that it yields', async () => {
    expect(await inTurns(sumOf(1, Promise.resolve(2), Promise.resolve(3)))).toBe(6)
  })

  test('rejects with the reason of a promise that it yields', async () => {
    const reason = new Error('no service')
    await expect(inTurns(sumOf(1, Promise.reject(reason)))).rejects.toBe(reason)
  })

  test('runs at once when it yields no promise', () => {
    expect(finished(sumOf(1, 2))).toBe(3)
  })

  test('cannot run at once when it needs the value of a promise', () => {
    expect(() => finished(sumOf(1, Promise.resolve(2)))).toThrow('has to wait')
  })
})
