/** Patterns that users write: upstream's syntax, and no text that takes them long. */
import { describe, expect, it } from 'vitest'
import { linearPattern, type LinearPattern } from '../../components/cel/linear-pattern.ts'

const pattern = (text: string): LinearPattern => {
  const compiled = linearPattern(text)
  if (typeof compiled === 'string') throw new Error(compiled)
  return compiled
}

describe('patterns of users', () => {
  it.each([
    ['^[a-z]+$', 'abc', true],
    ['^[a-z]+$', 'abC', false],
    ['b', 'abc', true],
    ['(?i)^ABC\\z', 'abc', true],
    ['^(?P<name>[[:alpha:]]+)$', 'abc', true],
    ['^\\p{Greek}+$', 'αβγ', true],
    ['^.$', '😀', true],
    ['^a{2,3}$', 'aaaa', false],
    ['\\Qa.b\\E', 'aXb', false],
    ['^a$', 'a\n', false],
    ['(?m)^a$', 'a\nb', true],
  ])('%s in %j: %s', (text, within, isIn) => {
    expect(pattern(text).isIn(within)).toBe(isIn)
  })

  it.each([
    ['a(b', 'error parsing regexp: missing closing ): `a(b`'],
    ['(?=a)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'error parsing regexp: invalid escape sequence: `\\1`'],
    ['x**', 'error parsing regexp: invalid nested repetition operator: `**`'],
    ['a{1001}', 'error parsing regexp: invalid repeat count: `{1001}`'],
    ['((a{100}){100}){100}', 'error parsing regexp: invalid repeat count: `{100}`'],
  ])('%s is refused in the words of upstream', (text, fault) => {
    expect(linearPattern(text)).toBe(fault)
  })

  // A matcher that backtracks would not come to an end with any of these.
  it.each(['^(a+)+$', '^(a|a)*$', '^(a*)*b', '(a+a+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    '%s takes long texts as fast as others',
    (text) => {
      expect(pattern(text).isIn(`${'a'.repeat(100_000)}!`)).toBe(false)
    },
  )

  it('finds from left to right, as often as asked', () => {
    expect(pattern('[0-9]+').find('a1b22c333', 2)).toEqual(['1', '22'])
    expect(pattern('[0-9]+').find('none', 2)).toEqual([])
  })
})
