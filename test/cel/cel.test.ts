import { describe, expect, it } from 'vitest'
import { CelEvaluationError } from '../../components/cel/cel-evaluation.ts'
import { CelCompileError, compileCel } from '../../components/cel/cel.ts'
import {
  bool,
  dyn,
  int,
  listOf,
  mapOf,
  string,
  type CelType,
} from '../../components/cel/cel-types.ts'

const claims = mapOf(string, dyn)
const user: CelType = {
  kind: 'object',
  name: 'kubernetes.UserInfo',
  fields: { username: string, groups: listOf(string), extra: mapOf(string, listOf(string)) },
}

function evaluate(expression: string, variables: Record<string, unknown> = {}): unknown {
  const types = Object.fromEntries(Object.keys(variables).map((name) => [name, dyn]))
  return compileCel(expression, { variables: types }).evaluate(variables)
}

function refusal(
  expression: string,
  variables: Record<string, CelType> = { claims, user },
): string {
  try {
    compileCel(expression, { variables })
  } catch (error) {
    if (error instanceof CelCompileError) return error.message
    throw error
  }
  return 'accepted'
}

describe('expressions over claims and users', () => {
  it.each([
    ['claims.sub', 'jane'],
    ['"oidc:" + claims.sub', 'oidc:jane'],
    ['claims.groups.map(g, "x:" + g)', ['x:a', 'x:b']],
    ['claims.groups.filter(g, g.startsWith("a"))', ['a']],
    ['claims.age + 1', 42],
    ['claims.ratio > 0.4', true],
    ['has(claims.email) && claims.email == "j@x.y"', true],
    ['has(claims.nothing)', false],
    ['claims.?nothing.orValue("x")', 'x'],
    ['claims.nested.deep["key"]', 'v'],
    ['size(claims.groups) == 2 ? claims.sub : "nobody"', 'jane'],
    ['claims.verified ? "yes" : "no"', 'yes'],
    ['"b" in claims.groups', true],
    ['claims.groups.exists(g, g == "b") && !claims.groups.all(g, g == "b")', true],
    ['claims.email.split("@")[1]', 'x.y'],
    ['claims.email.matches("^[a-z]@")', true],
    ['{"k": claims.sub}', { k: 'jane' }],
  ])('%s', (expression, expected) => {
    const values = {
      claims: {
        sub: 'jane',
        groups: ['a', 'b'],
        age: 41,
        ratio: 0.5,
        email: 'j@x.y',
        nested: { deep: { key: 'v' } },
        verified: true,
      },
    }
    expect(evaluate(expression, values)).toEqual(expected)
  })

  it('fails an evaluation that reads what is not there, without a value in the message', () => {
    expect(() => evaluate('claims.nothing == "x"', { claims: { secret: 's3cret' } })).toThrow(
      new CelEvaluationError('no such key: nothing'),
    )
  })

  it('knows which fields an expression names', () => {
    const variables = { claims }
    const uses = (text: string) => compileCel(text, { variables }).usesField('claims', 'email')
    expect(uses('claims.email')).toBe(true)
    expect(uses('claims["email"] + "x"')).toBe(true)
    expect(uses('[1].all(x, has(claims.email))')).toBe(true)
    expect(uses('claims.email_verified')).toBe(false)
    expect(uses('claims.sub == "email"')).toBe(false)
  })
})

describe('type checks', () => {
  it.each([
    ['claims.', 'Syntax error'],
    ['nobody.sub', "1:1: undeclared reference to 'nobody' (in container '')"],
    ['user.nothing', "1:5: undefined field 'nothing'"],
    ['user.username + 1', "1:15: found no matching overload for '_+_' applied to '(string, int)'"],
    ['user.groups.startsWith("x")', "applied to 'list(string).(string)'"],
    ['nothing(user)', "1:1: undeclared reference to 'nothing' (in container '')"],
    ['user.username.username', "type 'string' does not support field selection"],
    ['["a", 1]', "1:7: expected type 'string' but found 'int'"],
    ['user.username ? 1 : 2', "'_?_:_' applied to '(string, int, int)'"],
    ['true ? 1 : "a"', "'_?_:_' applied to '(bool, int, string)'"],
    ['user.username == 1', "'_==_' applied to '(string, int)'"],
    ['1 && true', "'_&&_' applied to '(int, bool)'"],
    ['user.username.map(x, x)', 'cannot be range of a comprehension'],
    ['user.groups.map(g, g + 1)', "'_+_' applied to '(string, int)'"],
    ['\n user.extra.nothing(1)', '2:12:'],
    ['x.y{a: 1}', 'undeclared reference'],
  ])('%s is refused when it is compiled', (expression, message) => {
    expect(refusal(expression)).toContain(message)
    expect(refusal(expression)).toMatch(/^compilation failed: ERROR: <input>:\d+:\d+: /)
  })

  it.each([
    ['user.groups.map(g, g + "x")', listOf(string)],
    ['user.extra["a"][0]', string],
    ['claims.anything', dyn],
    ['user.groups + ["x"]', listOf(string)],
    ['[] + user.groups', listOf(string)],
    ['user.groups.exists(g, g == "x")', bool],
    ['size(user.groups)', int],
    ['user.username.split(",")', listOf(string)],
    ['{"a": 1}', mapOf(string, int)],
    ['claims.x == 1 || user.username == claims.y', bool],
    ['type(user.username) == string', bool],
    ['"%s %d".format(["a", 1])', string],
    ['quantity("1Gi").isGreaterThan(quantity("1Mi"))', bool],
    ['cidr("10.0.0.0/8").containsIP(ip("10.1.2.3"))', bool],
  ])('%s has its type', (expression, type) => {
    expect(compileCel(expression, { variables: { claims, user } }).type).toEqual(type)
  })

  it('refuses a result of another type', () => {
    const compile = () => compileCel('1 + 1', { variables: {}, results: [bool] })
    expect(compile).toThrow('must evaluate to bool')
    const either = () => compileCel('1', { variables: {}, results: [string, listOf(string)] })
    expect(either).toThrow('must evaluate to one of [string list(string)]')
  })
})

describe('functions of expressions', () => {
  it.each([
    ['[1, 3, 2].isSorted()', false],
    ['[1, 3, 2].max() - [1, 3, 2].min()', 2],
    ['[1, 2].sum()', 3],
    ['["a", "b"].indexOf("b")', 1],
    ['sets.contains([1, 2, 3], [2, 1])', true],
    ['sets.equivalent([1, 1, 2], [2, 1])', true],
    ['sets.intersects([1], [2])', false],
    ['"abc 123".find("[0-9]+")', '123'],
    ['"1 2 3".findAll("[0-9]", 2)', ['1', '2']],
    ['"1 2 3".findAll("[0-9]")', ['1', '2', '3']],
    ['url("https://u@example.com:80/a%20b?k=v&k=w").getHost()', 'example.com:80'],
    ['url("https://example.com:80/a%20b").getEscapedPath()', '/a%20b'],
    ['url("https://[::1]:80/").getHostname()', '::1'],
    ['url("https://example.com").getPort()', ''],
    ['url("/x?k=v&k=w").getQuery()', { k: ['v', 'w'] }],
    ['isURL("no url")', false],
    ['isURL("../a")', false],
    ['quantity("1.5Gi").asApproximateFloat()', 1610612736],
    ['quantity("50k").add(20).asInteger()', 50020],
    ['quantity("1").sub(quantity("1")).sign()', 0],
    ['quantity("1000m") == quantity("1")', true],
    ['quantity("200M").compareTo(quantity("0.2G"))', 0],
    ['isQuantity("1x")', false],
    ['quantity("1m").isInteger()', false],
    ['ip("127.0.0.1").isLoopback() && ip("::1").isLoopback()', true],
    ['ip("10.0.0.1").isGlobalUnicast()', true],
    ['ip("::").isUnspecified()', true],
    ['ip("fe80::1").isLinkLocalUnicast() && ip("224.0.0.1").isLinkLocalMulticast()', true],
    ['ip("::1").family()', 6],
    ['isIP("010.0.0.1")', false],
    ['ip.isCanonical("2001:DB8::1")', false],
    ['string(ip("2001:DB8::1"))', '2001:db8::1'],
    ['cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")', true],
    ['cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', true],
    ['cidr("10.0.0.0/8").containsIP("11.0.0.1")', false],
    ['cidr("10.0.0.0/8").prefixLength()', 8],
    ['cidr("10.0.0.0/8").ip() == ip("10.0.0.0")', true],
    ['isCIDR("10.0.0.0/33")', false],
  ])('%s', (expression, expected) => {
    expect(evaluate(expression)).toEqual(expected)
  })

  it.each([
    'url("no url")',
    'quantity("1x").sign()',
    'ip("x").family()',
    '[].max()',
    '"a".find("(")',
  ])('%s fails', (expression) => {
    expect(() => evaluate(expression)).toThrow(CelEvaluationError)
  })
})

describe('the cost of expressions', () => {
  it('is bounded by what the input can make of it', () => {
    const many = Array.from({ length: 200 }, (_, at) => `g${at}`)
    const cubed = 'groups.all(a, groups.all(b, groups.all(c, a != b || b != c || true)))'
    expect(evaluate(cubed, { groups: many.slice(0, 20) })).toBe(true)
    expect(() => evaluate(cubed, { groups: many })).toThrow(
      'operation cancelled: actual cost limit exceeded',
    )
  })

  it('is bounded for lists that functions make, too, whatever decides without them', () => {
    const text = (length: number) => Array.from({ length }, (_, at) => `w${at}`).join(',')
    const crossed = 'claims.a.split(",").all(a, claims.a.split(",").exists(b, a == b))'
    const claims = (length: number) => ({ claims: { a: text(length) } })
    expect(evaluate(crossed, claims(100))).toBe(true)
    for (const expression of [
      crossed,
      `${crossed} || true`,
      'sets.equivalent(claims.a.split(","), claims.a.split(","))',
    ]) {
      expect(() => evaluate(expression, claims(20_000))).toThrow(
        'operation cancelled: actual cost limit exceeded',
      )
    }
  })

  it('is bounded for a long text that is looked for in a long text', () => {
    const claims = { x: 'a'.repeat(160_000), y: `${'a'.repeat(80_000)}b` }
    for (const call of ['contains', 'lastIndexOf', 'matches', 'find']) {
      expect(() => evaluate(`claims.x.${call}(claims.y)`, { claims }), call).toThrow(
        'operation cancelled: actual cost limit exceeded',
      )
      expect(() => evaluate(`claims.x.${call}("ab")`, { claims }), call).not.toThrow()
    }
    expect(evaluate('"abcabc".lastIndexOf("c")')).toBe(5)
    expect(evaluate('"abcabc".lastIndexOf("c", 4)')).toBe(2)
    expect(evaluate('"abc".lastIndexOf("d")')).toBe(-1)
    expect(() => evaluate('"abc".lastIndexOf("c", 3)')).toThrow('index out of range: 3')
  })

  it('a text of many replacements is made in time that is linear, and cannot grow without end', () => {
    const claims = { x: 'a'.repeat(1_000_000) }
    expect(evaluate('claims.x.replace("a", "bb").size()', { claims })).toBe(2_000_000)
    const growing = `claims.x${'.replace("a", "aaaaaaaaaa")'.repeat(7)}.size()`
    expect(() => evaluate(growing, { claims: { x: 'a'.repeat(100) } })).toThrow(
      'operation cancelled: actual cost limit exceeded',
    )
  })

  it.each([
    ['"hello".replace("l", "")', 'heo'],
    ['"hello".replace("l", "L", 1)', 'heLlo'],
    ['"hello".replace("l", "L", 0)', 'hello'],
    ['"hello".replace("l", "L", -1)', 'heLLo'],
    ['"é😀".replace("", "-")', '-é-😀-'],
    ['"".replace("", "-")', '-'],
    ['"ab".replace("", "-", 2)', '-a-b'],
  ])('%s is %s', (expression, wanted) => {
    expect(evaluate(expression)).toBe(wanted)
  })

  it('a pattern made to explode takes linear time', () => {
    const text = `${'a'.repeat(5000)}b`
    expect(evaluate('claims.x.matches("^(a+)+$")', { claims: { x: text } })).toBe(false)
    expect(evaluate('claims.x.find("^(a+)+$")', { claims: { x: text } })).toBe('')
  })

  it('an expression that is too long or too deep is refused', () => {
    expect(refusal('1+'.repeat(40_000) + '1')).toContain('too long')
    expect(refusal(`${'('.repeat(20_000)}1${')'.repeat(20_000)}`)).not.toBe('accepted')
  })
})
