import { expect, test } from 'vitest'
import { createGate } from '../../components/component-base/gate.ts'
import { settle } from '../support/fake-clock.ts'

test('so many works run at once, and the others in the order in which they came', async () => {
  const gate = createGate(2)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const works = Array.from({ length: 5 }, (_, number) =>
    gate(async () => {
      begun.push(number)
      await new Promise<void>((resolve) => ends.push(resolve))
      return number
    }),
  )
  await settle()
  expect(begun).toEqual([0, 1])
  ends[1]?.()
  await settle()
  expect(begun).toEqual([0, 1, 2])
  for (let next = 0; next < 5; next += 1) {
    ends[next]?.()
    await settle()
  }
  expect(begun).toEqual([0, 1, 2, 3, 4])
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3, 4])
})

test('a work that fails rejects for its caller, and lets the next one in', async () => {
  const gate = createGate(1)
  const failing = gate(() => Promise.reject(new Error('refused')))
  const next = gate(async () => 'done')
  await expect(failing).rejects.toThrow('refused')
  expect(await next).toBe('done')
  expect(await gate(async () => 'and again')).toBe('and again')
})
