import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatLabelSelector,
  labelSelectorFrom,
  matchesLabels,
  maxSelectorLength,
  parseLabelSelector,
  printLabelSelector,
  reviewRequirements,
  selectEverything,
} from '../../../components/machinery/selectors/label-selector.ts'

function failure(text: string): string {
  try {
    parseLabelSelector(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error(`'${text}' was accepted`)
}

describe('label selector', () => {
  it.each([
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (b, c)', { a: 'c' }, true],
    ['a in (b,c)', {}, false],
    ['a notin (b,c)', {}, true],
    ['a notin (b,c)', { a: 'c' }, false],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['! a', { a: 'x' }, false],
    ['a=', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['a in (,x)', { a: '' }, true],
    ['a>5', { a: '7' }, true],
    ['a>5', { a: 'x' }, false],
    ['a<5', { a: '-9' }, true],
    ['a<99999999999999999', { a: '9223372036854775808' }, false],
    ['in in (in)', { in: 'in' }, true],
    ['example.com/a=b,c', { 'example.com/a': 'b', c: '' }, true],
    ['example.com/a=b,c', { 'example.com/a': 'b' }, false],
    ['toString', {}, false],
  ])("'%s' on %j is %s", (text, labels, expected) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected)
  })

  it.each([
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['=a', "found '=', expected: !, identifier, or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])("'%s' is refused with upstream's message", (text, message) => {
    expect(failure(text)).toBe(message)
  })

  it('names the rule that a key or a value breaks', () => {
    expect(failure('-a=b')).toMatch(
      /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/,
    )
    expect(failure('a=b@')).toMatch(
      /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "b@": a valid label must/,
    )
    expect(failure(`a=${'x'.repeat(64)}`)).toContain('must be no more than 63')
    expect(failure('a/b/c')).toContain('a qualified name must consist of')
  })

  it('refuses a text over the length bound without parsing it', () => {
    expect(failure('a'.repeat(maxSelectorLength + 1))).toContain('longer than')
  })

  it('orders requirements by key and values alphabetically when printed', () => {
    expect(formatLabelSelector(parseLabelSelector('z, b in (y,x,y),!a'))).toBe('!a,b in (x,y),z')
  })

  it('takes the object form', () => {
    const selector = labelSelectorFrom({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['b', 'a'] },
        { key: 'gone', operator: 'DoesNotExist' },
      ],
    })
    expect(formatLabelSelector(selector)).toBe('app=web,!gone,tier in (a,b)')
    expect(matchesLabels(selector, { app: 'web', tier: 'a' })).toBe(true)
    expect(matchesLabels(selector, { app: 'web', tier: 'a', gone: '' })).toBe(false)
    expect(() => labelSelectorFrom({ matchExpressions: [{ key: 'a', operator: 'Is' }] })).toThrow(
      '"Is" is not a valid label selector operator',
    )
    expect(() => labelSelectorFrom({ matchExpressions: [{ key: 'a', operator: 'In' }] })).toThrow(
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    )
  })

  it('an absent object selects nothing, an empty one everything', () => {
    expect(matchesLabels(labelSelectorFrom(undefined), { a: 'b' })).toBe(false)
    expect(matchesLabels(labelSelectorFrom(undefined), {})).toBe(false)
    expect(labelSelectorFrom({})).toEqual(selectEverything)
  })

  it('prints <none> for nothing to print and <error> for a bad object', () => {
    expect(printLabelSelector(undefined)).toBe('<none>')
    expect(printLabelSelector({})).toBe('<none>')
    expect(printLabelSelector({ matchExpressions: [{ key: 'a', operator: 'x' }] })).toBe('<error>')
    expect(printLabelSelector({ matchLabels: { b: '1', a: '2' } })).toBe('a=2,b=1')
  })

  it('gives access reviews the operators of the object form', () => {
    expect(reviewRequirements(parseLabelSelector('a=b,c!=d,e,!f,g>1'))).toEqual([
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'c', operator: 'NotIn', values: ['d'] },
      { key: 'e', operator: 'Exists', values: [] },
      { key: 'f', operator: 'DoesNotExist', values: [] },
    ])
  })

  it('parses what it prints', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9.-]{0,6}[a-z0-9]$/)
    const term = fc.oneof(
      word,
      word.map((key) => `!${key}`),
      fc.tuple(word, fc.constantFrom('=', '==', '!='), word).map((parts) => parts.join('')),
      fc
        .tuple(word, fc.constantFrom('in', 'notin'), fc.array(word, { minLength: 1, maxLength: 4 }))
        .map(([key, operator, values]) => `${key} ${operator} (${values.join(',')})`),
      fc.tuple(word, fc.integer()).map(([key, limit]) => `${key}>${limit < 0 ? 0 : limit}`),
    )
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
        const selector = parseLabelSelector(terms.join(','))
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector)
      }),
    )
  })

  it('never fails otherwise than with a BadRequest', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab=!(),<> in'.split('')) }), (text) => {
        try {
          parseLabelSelector(text)
        } catch (error) {
          expect(error).toMatchObject({ reason: 'BadRequest' })
        }
      }),
    )
  })
})
