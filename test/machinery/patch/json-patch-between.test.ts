/** The patch between two values: applied to the first, it gives the second. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyJsonPatch } from '../../../components/machinery/patch/json-patch.ts'
import { jsonPatchBetween } from '../../../components/machinery/patch/json-patch-between.ts'

const key = fc.oneof(fc.constantFrom('a', 'b', 'a/b', '~', '0', '-', ''), fc.string())
const { value } = fc.letrec<{ value: unknown; object: object }>((tie) => ({
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, 0, 1, 'x', 'y'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}))
const object = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true })

test('any two objects: the patch makes the second of the first', () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      expect(applyJsonPatch(before, jsonPatchBetween(before, after))).toEqual(after)
    }),
    { numRuns: 500 },
  )
})

test('equal objects need no operation', () => {
  fc.assert(
    fc.property(object, (one) => {
      expect(jsonPatchBetween(one, structuredClone(one))).toEqual([])
    }),
  )
})

test('a field is added, replaced and removed by its own operation', () => {
  const before = { metadata: { name: 'web', labels: { old: '1', 'a/b': '1' } } }
  const after = { metadata: { name: 'web', labels: { 'a/b': '2', new: '1' } } }
  expect(jsonPatchBetween(before, after)).toEqual([
    { op: 'remove', path: '/metadata/labels/old' },
    { op: 'replace', path: '/metadata/labels/a~1b', value: '2' },
    { op: 'add', path: '/metadata/labels/new', value: '1' },
  ])
})
