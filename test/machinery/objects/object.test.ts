import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deepEqual } from '../../../components/machinery/objects/object.ts'

test('a name that every object inherits is equal only where it is there', () => {
  const parse = (text: string): unknown => JSON.parse(text)
  const equal: [string, string, boolean][] = [
    ['{"__proto__":null}', '{"__proto__":null}', true],
    ['{"__proto__":{}}', '{"__proto__":{}}', true],
    ['{"__proto__":{}}', '{}', false],
    ['{"__proto__":null}', '{}', false],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', false],
    ['{"toString":"x"}', '{}', false],
    ['{"constructor":"x"}', '{"constructor":"x"}', true],
  ]
  for (const [left, right, same] of equal) {
    expect(deepEqual(parse(left), parse(right)), `${left} ${right}`).toBe(same)
    expect(deepEqual(parse(right), parse(left)), `${right} ${left}`).toBe(same)
  }
})

test('undefined is absent', () => {
  expect(deepEqual({ a: undefined }, {})).toBe(true)
  expect(deepEqual({}, { a: undefined })).toBe(true)
  expect(deepEqual({ a: undefined }, { a: null })).toBe(false)
})

test('two values are equal when their text with sorted keys is', () => {
  const sorted = (value: unknown): unknown =>
    typeof value !== 'object' || value === null
      ? value
      : Array.isArray(value)
        ? value.map(sorted)
        : {
            fields: Object.entries(value)
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([key, child]) => [key, sorted(child)]),
          }
  const small = fc.jsonValue({ maxDepth: 2 })
  fc.assert(
    fc.property(small, small, (a, b) => {
      const copy: unknown = JSON.parse(JSON.stringify(a))
      expect(deepEqual(a, copy)).toBe(true)
      expect(deepEqual(a, b)).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)))
    }),
    { numRuns: 2000 },
  )
})
