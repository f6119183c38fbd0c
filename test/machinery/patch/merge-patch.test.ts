import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyMergePatch } from '../../../components/machinery/patch/merge-patch.ts'
import { deepFreeze } from '../../../components/machinery/objects/object.ts'

const cases = JSON.parse(
  readFileSync(new URL('../../cases/patch/merge-patch.json', import.meta.url), 'utf8'),
) as { object: unknown; patch: unknown; result: unknown }[]

test.each(cases)('$object patched with $patch is $result', ({ object, patch, result }) => {
  expect(applyMergePatch(deepFreeze(object), deepFreeze(patch))).toEqual(result)
})

/** Whether a list has an object with a null field in it, which stays or goes by what the list comes in place of. */
function hasNullInList(value: unknown, isInList = false): boolean {
  if (Array.isArray(value)) return value.some((item) => hasNullInList(item, true))
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(
    (field) => (isInList && field === null) || hasNullInList(field, isInList),
  )
}

test('a patch applied twice is the patch applied once, and the result is fresh', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (object, patch) => {
      fc.pre(!hasNullInList(patch))
      const once = applyMergePatch(deepFreeze(object), deepFreeze(patch))
      expect(applyMergePatch(once, patch)).toEqual(once)
      if (typeof once === 'object' && once !== null) expect(Object.isFrozen(once)).toBe(false)
    }),
  )
})

test('keys named like prototype members are only data', () => {
  const patch = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  ) as unknown
  const result = applyMergePatch({}, patch)
  expect(JSON.stringify(result)).toBe(JSON.stringify(patch))
  expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
