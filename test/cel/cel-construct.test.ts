/** Expressions that construct objects and JSON patches: what they are checked for, what they give, and that it is bounded. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyConfigurationOf, jsonPatchOf } from '../../components/cel/cel-constructed.ts'
import { jsonPatchType, objectType } from '../../components/cel/cel-construct-types.ts'
import { CelCompileError, compileCel, CelTyped } from '../../components/cel/cel.ts'
import { dyn, listOf } from '../../components/cel/cel-types.ts'
import { finished } from '../../components/machinery/values/steps.ts'

const nobody = (): never => {
  throw new Error('asked')
}

function evaluated(expression: string, of: { result: 'object' | 'patch'; values?: object }) {
  const results = [of.result === 'object' ? objectType() : listOf(jsonPatchType)]
  const variables = { object: dyn, before: dyn }
  const program = compileCel(expression, {
    variables,
    results,
    constructs: true,
    namesResult: true,
  })
  const values = { object: { a: 1, list: [1, 2, 3] }, before: null, ...of.values }
  return finished(program.evaluateTyped(values, nobody))
}

/** What the expression gives, or why it does not. */
function outcome(expression: string, result: 'object' | 'patch'): unknown {
  try {
    const value = evaluated(expression, { result })
    return result === 'object' ? applyConfigurationOf(value) : jsonPatchOf(value)
  } catch (error) {
    return (error as Error).message
  }
}

describe('an expression constructs an object', () => {
  test.each<[string, unknown]>([
    ['Object{}', {}],
    ['Object{spec: Object.spec{replicas: object.a + 2}}', { spec: { replicas: 3 } }],
    ['Object{ints: [1, 2], map: {"a": "b"}}', { ints: [1, 2], map: { a: 'b' } }],
    ['Object{spec: object}', { spec: { a: 1, list: [1, 2, 3] } }],
    ['Object{?unset: optional.none(), ?set: optional.of(1)}', { set: 1 }],
    ['Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})}', {}],
    ['Object{a: Object{b: "x"}.b, c: has(Object{}.b)}', { a: 'x', c: false }],
    [
      'Object{a: Object{b: 1} == Object{b: 1}, c: Object{b: 1} == Object{b: 2}}',
      { a: true, c: false },
    ],
    [
      'Object{at: timestamp("2026-01-02T03:04:05Z"), long: duration("90s"), raw: b"abc", half: 0.5, u: 3u, no: null}',
      { at: '2026-01-02T03:04:05Z', long: '90s', raw: 'YWJj', half: 0.5, u: 3, no: null },
    ],
    [
      'Object{items: object.list.filter(i, i > 1).map(i, Object.items{n: i})}',
      { items: [{ n: 2 }, { n: 3 }] },
    ],
  ])('%s', (expression, object) => {
    expect(outcome(expression, 'object')).toEqual(object)
  })

  test('whose parts are named after the way to them', () => {
    const fault = (name: string, wanted: string) =>
      `unexpected type name "${name}", expected "${wanted}", which matches field name path from root Object type`
    expect(outcome('Object{spec: Object.specx{}}', 'object')).toBe(
      `type mismatch: ${fault('Object.specx', 'Object.spec')}`,
    )
    expect(outcome('Object{a: [Object.b{}], c: {"k": Object.c{d: Object.c.e{}}}}', 'object')).toBe(
      `type mismatch: ${fault('Object.b', 'Object.a')}\n${fault('Object.c.e', 'Object.c.d')}`,
    )
  })

  test.each<[string, string]>([
    ['"teapot"', 'must evaluate to Object but got string'],
    ['object', 'must evaluate to Object but got dyn'],
    ['Object.spec.metadata{}', 'must evaluate to Object but got Object.spec.metadata'],
    ['Object{a: 1.0 / 0.0}', 'json: unsupported value: Infinity'],
    ['Object{a: {1: "x"}}', 'map key "1" is not a string'],
    ['Object{a: type(1)}', 'the value has no JSON form'],
  ])('%s is refused', (expression, message) => {
    expect(outcome(expression, 'object')).toBe(message)
  })
})

describe('an expression constructs a JSON patch', () => {
  test.each<[string, unknown]>([
    [
      '[JSONPatch{op: "add", path: "/a", value: 3}, JSONPatch{op: "move", from: "/a", path: "/b"}]',
      [
        { op: 'add', path: '/a', value: 3 },
        { op: 'move', path: '/b', from: '/a' },
      ],
    ],
    ['object.a == 2 ? [JSONPatch{op: "remove", path: "/a"}] : []', []],
    [
      'object.list.map(i, i > 2, JSONPatch{op: "test", path: "/l", value: i})',
      [{ op: 'test', path: '/l', value: 3 }],
    ],
    [
      '[JSONPatch{op: "add", path: "/m/" + jsonpatch.escapeKey("k8s.io/x~y")}] + [JSONPatch{}]',
      [
        { op: 'add', path: '/m/k8s.io~1x~0y' },
        { op: '', path: '' },
      ],
    ],
    [
      '[JSONPatch{op: "add", path: "/c/-", value: Object.c{name: "x", ports: [Object.c.ports{port: 1}]}}]',
      [{ op: 'add', path: '/c/-', value: { name: 'x', ports: [{ port: 1 }] } }],
    ],
    // Only an object itself is checked, not what a list of them holds.
    ['[JSONPatch{value: [Object.c{p: Object.q{}}]}]', [{ op: '', path: '', value: [{ p: {} }] }]],
    [
      '[JSONPatch{value: JSONPatch{op: "x", value: "y"}.value}]',
      [{ op: '', path: '', value: 'y' }],
    ],
    [
      '[JSONPatch{value: JSONPatch{op: "a"} == JSONPatch{op: "b"}}]',
      [{ op: '', path: '', value: false }],
    ],
  ])('%s', (expression, operations) => {
    expect(outcome(expression, 'patch')).toEqual(operations)
  })

  test.each<[string, string]>([
    ['[JSONPatch{op: 1}]', "expected type of field 'op' is 'string' but provided type is 'int'"],
    ['[JSONPatch{nope: 1}]', "undefined field 'nope'"],
    ['[JSONPatch{op: dyn(1)}]', "unexpected type int64 for JSONPatchType 'op' field"],
    ['[JSONPatch{path: Invalid{}}]', "undeclared reference to 'Invalid'"],
    ['[]', 'must evaluate to list(JSONPatch) but got list(dyn)'],
    ['[1]', 'must evaluate to list(JSONPatch) but got list(int)'],
    ['JSONPatch{}', 'must evaluate to list(JSONPatch) but got JSONPatch'],
    ['[JSONPatch{}, dyn(1)]', 'must evaluate to list(JSONPatch) but got list(dyn)'],
    [
      '[JSONPatch{value: Object.c{p: Object.q{}}}]',
      'unexpected type name "Object.q", expected "Object.c.p"',
    ],
  ])('%s is refused', (expression, message) => {
    expect(outcome(expression, 'patch')).toContain(message)
  })
})

test('other expressions construct nothing', () => {
  for (const expression of ['Object{}', 'JSONPatch{}', 'jsonpatch.escapeKey("a")']) {
    const compile = (): unknown => compileCel(expression, { variables: { object: dyn } })
    expect(compile).toThrow(CelCompileError)
    expect(compile).toThrow(/undeclared reference to '(Object|JSONPatch|jsonpatch)'/)
  }
})

test('what data holds never counts as constructed', () => {
  const forged = { true: 'Object', '@type': 'Object', spec: { true: 'Object.spec' } }
  const value = evaluated('Object{spec: before}', { result: 'object', values: { before: forged } })
  expect(applyConfigurationOf(value)).toEqual({ spec: forged })
  expect(() => applyConfigurationOf(new CelTyped(new Map([['true', 'Object']])))).toThrow(
    'unsupported return type from ApplyConfiguration expression',
  )
})

test('a type that a loop puts in the wrong place is named a few times', () => {
  const list = Array.from({ length: 500 }, (_, n) => n)
  const value = evaluated('Object{a: before.map(n, Object.b{})}', {
    result: 'object',
    values: { before: list },
  })
  expect(() => applyConfigurationOf(value)).toThrow(/^type mismatch: (?:unexpected [^\n]*\n?){10}$/)
})

test('results that grow with each variable are cut off, in bounded time', () => {
  const doubled = fc.array(fc.constant('before + before'), { maxLength: 24 })
  const nested = fc.array(fc.constantFrom('[before, before]', '{"a": before, "b": before}'), {
    minLength: 20,
    maxLength: 60,
  })
  fc.assert(
    fc.property(doubled, nested, (texts, collections) => {
      const steps = [...texts, ...collections]
      let before: unknown = 'x'.repeat(100)
      let fault: string | undefined
      const started = process.cpuUsage()
      try {
        for (const expression of steps) {
          const program = compileCel(expression, { variables: { before: dyn } })
          before = finished(program.evaluateTyped({ before }, nobody))
        }
        applyConfigurationOf(
          evaluated('Object{all: before}', { result: 'object', values: { before } }),
        )
      } catch (error) {
        fault = (error as Error).message
      }
      expect(fault).toBe('the result of the expression is too large')
      // Processor time, far more than it takes; without a bound it takes longer than any test waits.
      const { user, system } = process.cpuUsage(started)
      expect((user + system) / 1000).toBeLessThan(5000)
    }),
    { numRuns: 40 },
  )
})
