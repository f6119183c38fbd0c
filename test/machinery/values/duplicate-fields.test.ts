import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  duplicateFields,
  strictProblems,
} from '../../../components/machinery/values/duplicate-fields.ts'

const find = (text: string) => duplicateFields(Buffer.from(text))

test.each([
  ['{"a":1,"a":2}', ['a']],
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"metadata":{"labels":{"x":"1","x":"2"}}}', ['metadata.labels.x']],
  ['{"spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}}', ['spec.containers[1].name']],
  ['{"a":[[1,{"k":1,"k":2}]]}', ['a[0][1].k']],
  ['{"a":{"k":1},"b":{"k":1}}', []],
  ['{"a":"{\\"k\\":1,\\"k\\":2}","b":"\\\\"}', []],
  ['{"k":1,"\\u006b":2}', ['k']],
  ['{ "a" : 1 ,\n "a" : [ ] }', ['a']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"":{"c":1,"c":2}}', ['.c']],
  ['[]', []],
  ['1', []],
])('%s has %j', (text, paths) => {
  expect(find(text)).toEqual(paths)
})

test('unknown and duplicate fields come in document order, and nothing inside an unknown one counts', () => {
  const text = '{"a":1,"b":{"x":[{"k":1,"k":2}],"x":1},"a":2,"c":{"q":1,"q":2}}'
  expect(strictProblems(Buffer.from(text), ['c', 'b.x'])).toEqual([
    'unknown field "b.x"',
    'duplicate field "a"',
    'unknown field "c"',
  ])
})

test('after an unknown field everything counts again', () => {
  const text = '{"l":[{"x":[[],{"k":1}]},{"x":2,"m":{"k":1,"k":2}}]}'
  expect(strictProblems(Buffer.from(text), ['l[0].x', 'l[1].x'])).toEqual([
    'unknown field "l[0].x"',
    'unknown field "l[1].x"',
    'duplicate field "l[1].m.k"',
  ])
})

test('what JSON.stringify writes has no duplicates', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(find(text)).toEqual([])
    }),
  )
})

test('one more key in any object is found', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
  fc.assert(
    fc.property(object, fc.nat(), (value, pick) => {
      const keys = Object.keys(value)
      const again = JSON.stringify(keys[pick % keys.length])
      expect(find(`${JSON.stringify(value).slice(0, -1)},${again}:0}`)).toHaveLength(1)
    }),
  )
})
