import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyJsonPatch, JsonPatchFault } from '../../../components/machinery/patch/json-patch.ts'
import { deepFreeze } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'

interface Case {
  title: string
  object: unknown
  patch: unknown
  result?: unknown
  refused?: boolean
}

const cases = JSON.parse(
  readFileSync(new URL('../../cases/patch/json-patch.json', import.meta.url), 'utf8'),
) as Case[]

function errorOf(run: () => unknown): StatusError {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('upstream agrees', () => {
  test.each(cases)('$title', ({ object, patch, result, refused }) => {
    deepFreeze(object)
    deepFreeze(patch)
    if (!refused) {
      expect(applyJsonPatch(object, patch)).toEqual(result)
      return
    }
    expect(errorOf(() => applyJsonPatch(object, patch)).toStatus()).toMatchObject({
      message: 'the server rejected our request due to an error in our request',
      reason: 'Invalid',
      details: {},
      code: 422,
    })
  })
})

test('10,000 operations are the most', () => {
  const operations = (count: number) =>
    Array.from({ length: count }, () => ({ op: 'test', path: '/a', value: 1 }))
  expect(applyJsonPatch({ a: 1 }, operations(10_000))).toEqual({ a: 1 })
  expect(errorOf(() => applyJsonPatch({ a: 1 }, operations(10_001)))).toMatchObject({
    code: 413,
    reason: 'RequestEntityTooLarge',
  })
})

test('copies cannot grow an object without bound', () => {
  const object = { a: 'x'.repeat(1000), list: [] as unknown[] }
  const doubling = Array.from({ length: 40 }, (_, n) => ({
    op: 'copy',
    from: '/list',
    path: '/list/-',
    n,
  }))
  const patch = [{ op: 'copy', from: '/a', path: '/list/-' }, ...doubling]
  expect(errorOf(() => applyJsonPatch(object, patch)).code).toBe(422)
})

test('what is no list of operations is a bad request', () => {
  for (const patch of [{}, 'x', null, [1], [[]]]) {
    expect(errorOf(() => applyJsonPatch({}, patch)).code).toBe(400)
  }
})

test('a patch reaches no prototype', () => {
  const patch = JSON.parse('[{"op":"add","path":"/__proto__/polluted","value":1}]') as unknown
  expect(errorOf(() => applyJsonPatch({}, patch)).code).toBe(422)
  expect(errorOf(() => applyJsonPatch({}, [{ op: 'remove', path: '/constructor' }])).code).toBe(422)
  const own = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }])
  expect(Object.getPrototypeOf(own)).toBe(Object.prototype)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('two added values share nothing with the patch', () => {
  const value = { x: 1 }
  const patch = [
    { op: 'add', path: '/a', value },
    { op: 'add', path: '/a/y', value: 2 },
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'add', path: '/b/z', value: 3 },
  ]
  expect(applyJsonPatch({}, patch)).toEqual({ a: { x: 1, y: 2 }, b: { x: 1, y: 2, z: 3 } })
  expect(value).toEqual({ x: 1 })
})

test('an add that is removed again leaves the object as it was', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.string(),
      fc.jsonValue(),
      (object, key, value) => {
        fc.pre(!Object.hasOwn(object, key))
        const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
        const patch = [
          { op: 'add', path, value },
          { op: 'test', path, value },
          { op: 'remove', path },
        ]
        expect(applyJsonPatch(object, patch)).toEqual(object)
      },
    ),
  )
})

test.each<[string, object]>([
  [
    'add operation does not apply: doc is missing path: "/x/y": missing value',
    { op: 'add', path: '/x/y' },
  ],
  [
    "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
    { op: 'add', path: '/l/9' },
  ],
  [
    'remove operation does not apply: doc is missing path: "/l/a/b": missing value',
    { op: 'remove', path: '/l/a/b' },
  ],
  [
    "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    { op: 'remove', path: '/x' },
  ],
  [
    'replace operation does not apply: doc is missing key: /l/-: missing value',
    { op: 'replace', path: '/l/-' },
  ],
  [
    'replace operation does not apply: doc is missing path: /x/y: missing value',
    { op: 'replace', path: '/x/y' },
  ],
  [
    'move operation does not apply: doc is missing from path: /x/y: missing value',
    { op: 'move', from: '/x/y', path: '/a' },
  ],
  [
    'move operation does not apply: doc is missing destination path: /x/y: missing value',
    { op: 'move', from: '/a', path: '/x/y' },
  ],
  [
    'copy operation does not apply: doc is missing from path: /x/y: missing value',
    { op: 'copy', from: '/x/y', path: '/a' },
  ],
  ['testing value /a failed: test failed', { op: 'test', path: '/a', value: 2 }],
  ['Unexpected kind: merge', { op: 'merge', path: '/a' }],
])('the cause says why: %s', (text, operation) => {
  const { cause } = errorOf(() => applyJsonPatch({ a: 1, l: [1] }, [operation]))
  expect(cause).toBeInstanceOf(JsonPatchFault)
  expect(cause).toMatchObject({ message: text, isFailedTest: 'value' in operation })
})
