/** What containers use by their annotations: forms that are read, amounts at a time, and sums over time. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  readUsage,
  usageAt,
  usageBetween,
  usageOfRequest,
  type Usage,
} from '../../components/api/simulated-usage.ts'

const read = (text: string): Usage => {
  const usage = readUsage(text)
  if (usage === undefined) throw new Error(`${text} is not read`)
  return usage
}

const at = (text: string, ageMs: number, requested = 1): number =>
  usageAt(read(text), { ageMs, requestsPerSecond: 2, requested })

describe('amounts', () => {
  test.each([
    ['250m', 0, 0.25],
    ['250m', 1e9, 0.25],
    ['64Mi', 0, 64 * 1024 * 1024],
    ['80%', 0, 0.8],
    ['12.5%', 0, 0.125],
    ['100m for 1m, 900m', 59_999, 0.1],
    ['100m for 1m, 900m', 60_000, 0.9],
    ['100m for 1m, 900m', 1e9, 0.9],
    ['100m for 1m, 900m for 5m', 359_999, 0.9],
    ['100m for 1m, 900m for 5m', 360_000, 0.1],
    ['20m + 5m per request', 0, 0.03],
    ['10% + 1% per request for 10s, 0', 9999, 0.12],
    ['10% + 1% per request for 10s, 0', 10_000, 0],
  ])('%s after %d ms', (text, ageMs, units) => {
    expect(at(text, ageMs)).toBeCloseTo(units, 9)
  })

  test('percentages are of what is requested', () => {
    expect(at('50%', 0, 4)).toBe(2)
    expect(usageOfRequest(read('0 + 1% per request'), { ageMs: 0, requested: 4 })).toBe(0.04)
  })

  test.each([
    '',
    'much',
    '-1m',
    '1 core',
    '100m for',
    '100m for 0s',
    '100m for ever',
    '100m, 900m',
    '100m + 5m',
    '100m per request',
    '-5%',
    Array(101).fill('1m for 1s').join(','),
  ])('%j is not read', (text) => {
    expect(readUsage(text)).toBeUndefined()
  })
})

describe('sums', () => {
  const step = fc.record({ milli: fc.nat(5000), seconds: fc.integer({ min: 1, max: 600 }) })
  const text = fc
    .tuple(fc.array(step, { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([steps, lasts]) => {
      const parts = steps.map(({ milli, seconds }) => `${milli}m for ${seconds}s`)
      return [...parts, ...(lasts ? ['7m'] : [])].join(', ')
    })

  test('over a time are those over its parts', () => {
    fc.assert(
      fc.property(text, fc.tuple(fc.nat(1e7), fc.nat(1e7), fc.nat(1e7)), (written, times) => {
        const usage = read(written)
        const [a = 0, b = 0, c = 0] = times.toSorted((x, y) => x - y)
        const between = (fromMs: number, toMs: number): number =>
          usageBetween(usage, { fromMs, toMs, requested: 1 })
        expect(between(a, b) + between(b, c)).toBeCloseTo(between(a, c), 6)
      }),
    )
  })

  test('over a short time are the amount at that time', () => {
    fc.assert(
      fc.property(text, fc.nat(1e7), (written, second) => {
        const usage = read(written)
        // Steps last whole seconds, so that none ends in between.
        const fromMs = second * 1000
        const sum = usageBetween(usage, { fromMs, toMs: fromMs + 1000, requested: 1 })
        expect(sum).toBeCloseTo(
          usageAt(usage, { ageMs: fromMs, requestsPerSecond: 0, requested: 1 }),
          5,
        )
      }),
    )
  })
})
