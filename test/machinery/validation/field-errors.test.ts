import { describe, expect, test } from 'vitest'
import * as errors from '../../../components/machinery/validation/field-errors.ts'
import { FieldPath } from '../../../components/machinery/validation/field-path.ts'
import {
  goBytes,
  goList,
  goQuote,
  goStringMap,
  goStruct,
  GoText,
  goValue,
} from '../../../components/machinery/values/go-syntax.ts'
import { invalid } from '../../../components/machinery/objects/status-error.ts'

describe('the text of a field error', () => {
  const at = 'spec.x'
  test.each([
    [errors.requiredValue(at), 'FieldValueRequired', 'Required value'],
    [errors.requiredValue(at, 'why'), 'FieldValueRequired', 'Required value: why'],
    [
      errors.invalidValue(at, { value: 'a"b', detail: 'why' }),
      'FieldValueInvalid',
      'Invalid value: "a\\"b": why',
    ],
    [
      errors.invalidValue(at, { value: 5, detail: 'why' }),
      'FieldValueInvalid',
      'Invalid value: 5: why',
    ],
    [
      errors.invalidValue(at, { value: undefined, detail: 'why' }),
      'FieldValueInvalid',
      'Invalid value: "null": why',
    ],
    [
      errors.invalidValue(at, { value: goList(['a', 'b']), detail: 'why' }),
      'FieldValueInvalid',
      'Invalid value: []string{"a", "b"}: why',
    ],
    [errors.invalidWithoutValue(at, 'why'), 'FieldValueInvalid', 'Invalid value: why'],
    [
      errors.unsupportedValue(at, { value: 'x', supported: ['A', 'B'] }),
      'FieldValueNotSupported',
      'Unsupported value: "x": supported values: "A", "B"',
    ],
    [errors.duplicateValue(at, 'x'), 'FieldValueDuplicate', 'Duplicate value: "x"'],
    [errors.valueNotFound(at, 'x'), 'FieldValueNotFound', 'Not found: "x"'],
    [errors.forbiddenValue(at, 'why'), 'FieldValueForbidden', 'Forbidden: why'],
    [errors.tooLong(at, 63), 'FieldValueTooLong', 'Too long: may not be more than 63 bytes'],
    [errors.tooLong(at, 1), 'FieldValueTooLong', 'Too long: may not be more than 1 byte'],
    [errors.tooMany(at, 3, 2), 'FieldValueTooMany', 'Too many: 3: must have at most 2 items'],
    [
      errors.typeInvalid(at, { value: 'x', detail: 'why' }),
      'FieldValueTypeInvalid',
      'Invalid value: "x": why',
    ],
    [errors.internalFieldError(at, 'why'), 'InternalError', 'Internal error: why'],
  ])('%j', (error, type, message) => {
    expect(error).toEqual({ field: at, type, message })
  })
})

test.each([
  ['plain', '"plain"'],
  ['a\nb\t"c"\\', '"a\\nb\\t\\"c\\"\\\\"'],
  ['é', '"é"'],
  ['\u0001\u007f', '"\\x01\\x7f"'],
  ['\u200b', '"\\u200b"'],
])('Go quotes %j', (text, quoted) => {
  expect(goQuote(text)).toBe(quoted)
})

test('Go syntax of lists, maps, bytes and structs', () => {
  expect(goList(undefined).text).toBe('[]string(nil)')
  expect(goList([]).text).toBe('[]string{}')
  expect(goStringMap({ b: '2', a: '1' }).text).toBe('map[string]string{"a":"1", "b":"2"}')
  expect(goStringMap(undefined).text).toBe('map[string]string(nil)')
  expect(goBytes('AAH/').text).toBe('[]byte{0x0, 0x1, 0xff}')
  expect(goStruct('rbac.RoleRef', { Kind: 'Role', Name: 'x' }).text).toBe(
    'rbac.RoleRef{Kind:"Role", Name:"x"}',
  )
  expect(goValue(new GoText('as is'))).toBe('as is')
  expect(goValue(true)).toBe('true')
})

test('a path joins names with dots and puts indexes and keys in brackets', () => {
  const root = FieldPath.root()
  expect(root.child('spec').child('containers').index(2).child('name').toString()).toBe(
    'spec.containers[2].name',
  )
  expect(root.child('data').key('a.b').toString()).toBe('data[a.b]')
  expect(FieldPath.root('metadata').child('name').toString()).toBe('metadata.name')
})

test('paths from one root report to one list, in order', () => {
  const root = FieldPath.root()
  root.child('b').required()
  root.child('a').index(0).duplicate('x')
  expect(root.errors.map(({ field }) => field)).toEqual(['b', 'a[0]'])
})

test('a 422 says a finding made twice once, and lists it as two causes', () => {
  const finding = errors.requiredValue('spec.x')
  const error = invalid({ group: 'apps', kind: 'Deployment' }, 'd', [finding, finding])
  expect(error.message).toBe('Deployment.apps "d" is invalid: spec.x: Required value')
  expect(error.details?.causes).toHaveLength(2)
})
