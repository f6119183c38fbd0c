import { describe, expect, it } from 'vitest'
import { CelCompileError, compileCel } from '../../components/cel/cel.ts'
import { dyn, listOf, mapOf, string, type CelType } from '../../components/cel/cel-types.ts'

const typed: CelType = {
  kind: 'object',
  name: 'example.Thing',
  fields: { name: string, tags: listOf(string), labels: mapOf(string, string) },
}
const variables = { o: dyn, t: typed }
const values = {
  o: { a: { b: 'x', n: null, empty: '' }, list: [1, 2], 'with-dash': 'd' },
  t: { name: 'one', tags: ['x', 'y'], labels: { app: 'web' } },
}

function evaluate(expression: string): unknown {
  return compileCel(expression, { variables }).evaluate(values)
}

function refusal(expression: string): string {
  try {
    compileCel(expression, { variables })
  } catch (error) {
    if (error instanceof CelCompileError) return error.message
    throw error
  }
  return 'accepted'
}

describe('optional values in expressions', () => {
  it.each([
    ['o.?a.?b.orValue("none")', 'x'],
    ['o.?x.?b.orValue("none")', 'none'],
    ['o.?x.b.c.orValue("none")', 'none'],
    ['o.?a.b.orValue("none")', 'x'],
    ['o.a.?n.?deep.orValue("none")', 'none'],
    ['o[?"with-dash"].orValue("none")', 'd'],
    ['o[?"nope"].orValue("none")', 'none'],
    ['o.list[?0].orValue(7)', 1],
    ['o.list[?5].orValue(7)', 7],
    ['o.list[?-1].orValue(7)', 7],
    ['o.?list[1].orValue(7)', 2],
    ['o.?list[9].orValue(7)', 7],
    ['o.?x["y"].orValue("none")', 'none'],
    ['t.labels.?app.value()', 'web'],
    ['t.labels.?none.hasValue()', false],
    ['t.tags[?1].optMap(x, x + "!").orValue("")', 'y!'],
    ['t.tags[?4].optMap(x, x + "!").orValue("")', ''],
    ['t.labels.?app.optFlatMap(x, t.labels[?x]).hasValue()', false],
    ['t.labels.?app.optFlatMap(x, t.tags[?0]).value()', 'x'],
    ['o.?a.optMap(a, a.b == "x" ? 1 : 2).value()', 1],
    ['optional.of(1).or(optional.of(2)).value()', 1],
    ['optional.none().or(optional.of(2)).value()', 2],
    ['optional.none().or(o.?x).or(o.?a.b).value()', 'x'],
    ['optional.ofNonZeroValue("").hasValue()', false],
    ['optional.ofNonZeroValue(o.a.empty).orValue("empty")', 'empty'],
    ['optional.ofNonZeroValue([0]).hasValue()', true],
    ['[?o.?x, ?t.labels.?app, "last"]', ['web', 'last']],
    ['{?"a": o.?x, ?"b": t.labels.?app, "c": "last"}', { b: 'web', c: 'last' }],
    ['[1, 2].map(i, o.list[?i].orValue(0))', [2, 0]],
    ['"a" in [?o.?x, "a"]', true],
    ['has(o.?a.b)', true],
    ['has(o.?x.b)', false],
    ['o.?a.?b == optional.of("x")', true],
    ['o.?x == optional.none()', true],
    ['(true ? optional.of("a") : optional.none()).value()', 'a'],
    // What looks like a question mark of an optional, and is none.
    ['".?a[?" + \'[?\' + r"\\.?" + "{?"', '.?a[?[?\\.?{?'],
    ['o.a.b == "x" ?[1] : [2]', [1]],
    ['o.a.?b.orValue("") /* no comment */ == "x"', undefined],
    ['// [?\no.?a.?b.orValue("")', 'x'],
  ])('%s', (expression, expected) => {
    if (expected === undefined) expect(refusal(expression)).toMatch(/Syntax error/)
    else expect(evaluate(expression)).toEqual(expected)
  })

  it('an alternative that is not needed may fail, and one that is needed may not', () => {
    expect(evaluate('o.?a.b.orValue(o.nothing.at.all)')).toBe('x')
    expect(() => evaluate('o.?x.orValue(o.nothing.at.all)')).toThrow('no such key: nothing')
    expect(() => evaluate('optional.none().value()')).toThrow('optional.none() dereference')
  })

  it.each([
    ['t.?nothing', "undefined field 'nothing'"],
    ['t.?name.orValue(1)', "found no matching overload for 'orValue'"],
    ['t.name.orValue("x")', "undeclared reference to 'orValue'"],
    ['optional.of(1) == 1', "found no matching overload for '_==_'"],
    ['t.?name + "x"', "applied to '(optional_type(string), string)'"],
    ['[?t.name]', "expected type 'optional_type(string)' but found 'string'"],
    ['{?"a": t.name}', "expected type 'optional_type(string)' but found 'string'"],
    ['o.?f(1)', "Syntax error: unexpected '?'"],
    ['has(o.?a)', "Syntax error: unexpected '?'"],
    ['f(?o)', 'Syntax error'],
    ['t.tags[?0].optMap(1, 2)', 'optMap() variable name must be a simple identifier'],
    ['optional.of()', "found no matching overload for 'optional.of'"],
  ])('%s is refused', (expression, message) => {
    expect(refusal(expression)).toContain(message)
  })

  it('says where a fault is, in the words and columns of the source', () => {
    expect(refusal('t.?labels.?app == 1 || t.?nothing.hasValue()')).toContain(
      '<input>:1:16: found no matching overload',
    )
    expect(refusal('"😀" == "x" && t.?nothing.hasValue()')).toMatch(
      /<input>:1:1[67]: undefined field/,
    )
  })

  it('knows the types of what it finds', () => {
    expect(compileCel('t.?labels.?app', { variables }).type).toEqual({
      kind: 'optional',
      element: string,
    })
    expect(compileCel('t.tags[?0].orValue("")', { variables }).type).toEqual(string)
    expect(compileCel('o.?a.b == t.?name', { variables }).type.kind).toBe('bool')
  })

  it('a field that is selected optionally is known to be used', () => {
    const program = compileCel('o.?a.hasValue() && o[?"list"].hasValue()', { variables })
    expect(program.usesField('o', 'a')).toBe(true)
    expect(program.usesField('o', 'list')).toBe(true)
    expect(program.usesField('o', 'b')).toBe(false)
  })

  it('random paths into a value are what reading them step by step gives', () => {
    const keys = ['a', 'b', 'list', 'x']
    let state = 7
    const next = (below: number): number => (state = (state * 1103515245 + 12345) % 2 ** 31) % below
    for (let round = 0; round < 300; round++) {
      const path = Array.from({ length: 1 + next(4) }, () => keys[next(keys.length)] ?? 'a')
      let expected: unknown = values.o
      for (const key of path) {
        const isMap = typeof expected === 'object' && expected !== null && !Array.isArray(expected)
        expected = isMap ? (expected as Record<string, unknown>)[key] : undefined
      }
      const text = path.map((key) => (next(2) === 0 ? `.?${key}` : `[?"${key}"]`)).join('')
      expect(evaluate(`o${text}.orValue(null)`), text).toEqual(expected ?? null)
    }
  })
})

describe('named formats of texts', () => {
  it.each([
    ['format.dns1123Label().validate("a.b").hasValue()', true],
    ['format.dns1123Label().validate("a-b").hasValue()', false],
    ['format.dns1123Subdomain().validate("a.b").hasValue()', false],
    ['format.dns1035Label().validate("1a").hasValue()', true],
    ['format.qualifiedName().validate("example.com/a").hasValue()', false],
    ['format.dns1123LabelPrefix().validate("a-").hasValue()', false],
    ['format.dns1123SubdomainPrefix().validate("a.b-").hasValue()', false],
    ['format.dns1035LabelPrefix().validate("a-").hasValue()', false],
    ['format.labelValue().validate("a b").hasValue()', true],
    ['format.uri().validate("https://example.com/").hasValue()', false],
    ['format.uri().validate("").hasValue()', true],
    ['format.uuid().validate("x").value()', ['does not match the UUID format']],
    ['format.byte().validate("aGVsbG8=").hasValue()', false],
    ['format.byte().validate("=").value()', ['invalid base64']],
    ['format.date().validate("2021-01-01").hasValue()', false],
    ['format.date().validate("2021-13-01").value()', ['invalid date']],
    ['format.datetime().validate("2021-01-01T00:00:00Z").hasValue()', false],
    ['format.datetime().validate("2021-01-01").value()', ['invalid datetime']],
    ['format.named("labelValue").value().validate("ok").hasValue()', false],
    ['format.named("nothing").hasValue()', false],
    ['!format.dns1123Label().validate(t.name).hasValue()', true],
  ])('%s', (expression, expected) => {
    expect(evaluate(expression)).toEqual(expected)
  })
})

describe('literals of expressions', () => {
  it.each([
    ['t.name.matches("[")', 'invalid matches argument'],
    ['duration("1 hour") > duration("1m")', 'invalid duration argument'],
    ['timestamp("yesterday") > timestamp("2021-01-01T00:00:00Z")', 'invalid timestamp argument'],
  ])('%s is refused when it is compiled', (expression, message) => {
    expect(refusal(expression)).toContain(message)
  })
})
