/** Match conditions by themselves: all must be true, a false one beats errors, and an error is never a match. */
import { expect, it } from 'vitest'
import { finished } from '../../../components/machinery/values/steps.ts'
import { compileConditions } from '../../../components/api-server/expressions/conditions.ts'

const values = { object: { data: { a: '1' } }, request: { name: 'x' } }

async function answer(...expressions: string[]): Promise<boolean | string> {
  const named = expressions.map((expression, i) => ({ name: `c${i}`, expression }))
  const conditions = await compileConditions(named)
  const result = finished(
    conditions(values as never, () => {
      throw new Error('no access is asked for')
    }),
  )
  return result instanceof Error ? result.message : result
}

it('all conditions hold, and none is one that holds', async () => {
  expect(await answer()).toBe(true)
  expect(await answer('true', "object.data.a == '1'")).toBe(true)
  expect(await answer('true', 'false')).toBe(false)
  expect(await answer("object.data.a == '2'", 'true')).toBe(false)
})

it('a condition that fails is an error, unless another one is false', async () => {
  const why = (name: string) =>
    `expression 'object.data.${name} == 1' resulted in error: no such key: ${name}`
  expect(await answer('true', 'object.data.b == 1')).toBe(why('b'))
  expect(await answer('object.data.b == 1', 'object.data.c == 1')).toBe(
    `[${why('b')}, ${why('c')}]`,
  )
  expect(await answer('object.data.b == 1', 'false')).toBe(false)
  expect(await answer('false', 'object.data.b == 1')).toBe(false)
})

it('a condition that cannot be compiled is an error each time, unless another one is false', async () => {
  expect(await answer('nothing')).toContain("undeclared reference to 'nothing'")
  expect(await answer('"text"')).toContain('must evaluate to bool')
  expect(await answer('nothing', 'true')).toContain("undeclared reference to 'nothing'")
  expect(await answer('nothing', 'false')).toBe(false)
})
