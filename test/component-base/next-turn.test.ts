import { describe, expect, test } from 'vitest'
import { inTurns } from '../../components/component-base/next-turn.ts'
import { atOnce, finished, type Steps } from '../../components/machinery/values/steps.ts'

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

  test('runs at once as far as nothing waits, and goes on with what the promises give', async () => {
    expect(atOnce(sumOf(1, 2))).toBe(3)
    const waiting = atOnce(sumOf(1, Promise.resolve(2), Promise.resolve(3)))
    expect(waiting).toBeInstanceOf(Promise)
    expect(await waiting).toBe(6)
  })

  test('can handle the rejection of a promise that it waits for', async () => {
    const cleaned: string[] = []
    function* careful(): Steps<string> {
      try {
        yield Promise.reject(new Error('no service'))
        return 'done'
      } catch (error) {
        cleaned.push((error as Error).message)
        yield Promise.resolve()
        throw error
      }
    }
    await expect(atOnce(careful())).rejects.toThrow('no service')
    expect(cleaned).toEqual(['no service'])
  })

  test('cannot run at once when it needs the value of a promise', () => {
    expect(() => finished(sumOf(1, Promise.resolve(2)))).toThrow('has to wait')
  })
})
