/** Estimated costs of rules are upstream's, to the step: without bounds in the schema, and with them. */
import { describe, expect, it } from 'vitest'
import type { JSONSchemaProps } from '../../components/api/generated/types.ts'
import { ruleCosts, rulesOfSchema } from '../../components/api-server/custom-resources/cel-rules.ts'

function costOf(schema: JSONSchemaProps, rule: string): number {
  const [found] = rulesOfSchema({ ...schema, 'x-kubernetes-validations': [{ rule }] }, false)
  expect(found?.faults).toEqual([])
  return ruleCosts(schema, false)!(found!.program!).once
}

const bound = (name: string, most: number | undefined): object =>
  most === undefined ? {} : { [name]: most }
const scalar = (type: string): JSONSchemaProps =>
  type === 'int-or-string'
    ? { 'x-kubernetes-int-or-string': true }
    : ['date', 'date-time', 'duration'].includes(type)
      ? { type: 'string', format: type }
      : { type }
const list =
  (items: JSONSchemaProps) =>
  (most?: number): JSONSchemaProps => ({ type: 'array', items, ...bound('maxItems', most) })
const map =
  (values: JSONSchemaProps) =>
  (most?: number): JSONSchemaProps => ({
    type: 'object',
    additionalProperties: values,
    ...bound('maxProperties', most),
  })
const text = (most?: number): JSONSchemaProps => ({ type: 'string', ...bound('maxLength', most) })

type Made = (most?: number) => JSONSchemaProps

describe('estimated costs of rules', () => {
  it.each<[string, Made, string, number, number, number]>([
    ['numbers', list(scalar('number')), 'self.all(x, true)', 4718591, 10, 32],
    ['texts', list(scalar('string')), 'self.all(x, true)', 3145727, 20, 62],
    ['booleans', list(scalar('boolean')), 'self.all(x, true)', 1887437, 5, 17],
    ['lists', list(list(scalar('number'))()), 'self.all(x, true)', 3145727, 100, 302],
    ['a map of numbers', map(scalar('number')), 'self.all(x, true)', 1348169, 10, 32],
    ['a map of texts', map(scalar('string')), 'self.all(x, true)', 1179647, 3, 11],
    ['a map of booleans', map(scalar('boolean')), 'self.all(x, true)', 943718, 100, 302],
    ['a text', text, "self.contains('test')", 314574, 10, 5],
    ['a text', text, "self.startsWith('test')", 2, 15, 2],
    ['a text', text, "self.endsWith('test')", 2, 30, 2],
    ['a text', text, 'size(self + "hello") > size("hello")', 314578, 4, 7],
    ['numbers', list(scalar('number')), 'self[1] == 0.0', 2, 5000, 2],
    ['texts', list(scalar('string')), 'self[1] == self[1]', 314577, 8, 314577],
    ['numbers', list(scalar('number')), 'self.all(x, self.all(y, true))', Infinity, 10, 352],
    [
      'numbers',
      list(scalar('number')),
      'self.all(x, self.all(y, self.all(z, true)))',
      Infinity,
      10,
      3552,
    ],
    ['a text', text, 'self.matches("x")', 314574, 50, 22],
    ['a text', text, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7],
    ['a text', text, 'self.matches("")', 1, 100, 1],
    ['numbers', list(scalar('number')), 'self[3] == 0.0', 2, 0, 2],
    ['a map of numbers', map(scalar('number')), 'self["x"] == 0.0', 2, 0, 2],
    ['a text', text, 'self == "x"', 2, 0, 1],
    ['numbers', list(scalar('number')), 'self.all(x, x == 0.0)', 6291454, 6291456, 25165826],
    ['mixed values', list(scalar('int-or-string')), 'self.all(x, true)', 4718591, 10, 32],
    ['mixed values', list(scalar('int-or-string')), 'self[0] == 5', 3, 10, 3],
    ['booleans', list(scalar('boolean')), 'self[0] == false', 2, 25, 2],
    ['lists', list(list(scalar('number'))()), 'self[0][0] == -1.0', 3, 51, 3],
    ['durations', list(scalar('duration')), 'self.all(x, true)', 2359295, 5, 17],
    ['durations', list(scalar('duration')), 'self[0].getHours() == 2', 4, 525, 4],
    ['dates', list(scalar('date')), 'self.all(x, true)', 725936, 15, 47],
    ['dates', list(scalar('date')), 'self[2].getDayOfMonth() == 13', 4, 42, 4],
    ['times', list(scalar('date-time')), 'self.all(x, true)', 428963, 25, 77],
    ['a map of times', map(scalar('date-time')), 'self.all(x, true)', 349526, 25, 77],
    ['a map of durations', map(scalar('duration')), 'self.all(x, true)', 1048577, 5, 17],
    ['a text', text, "self.find('[0-9]+') == ''", 629147, 10, 11],
    ['texts', (most) => list(text(most))(most), "self.join(' ') == 'aa bb'", 329853068905, 10, 43],
  ])('of %s: %#', (_, schemaOf, rule, unbounded, most, bounded) => {
    const cost = costOf(schemaOf(), rule)
    if (unbounded === Infinity) expect(cost).toBeGreaterThan(10_000_000)
    else expect(cost).toBe(unbounded)
    expect(costOf(schemaOf(most), rule)).toBe(bounded)
  })
})
