import { describe, expect, it } from 'vitest'
import { jsonFault } from '../../../components/machinery/values/json-fault.ts'

describe('faults of JSON text are named as Go names them', () => {
  it.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":', 'unexpected end of JSON input'],
    ['{"a":"b', 'unexpected end of JSON input'],
    ['[1,', 'unexpected end of JSON input'],
    ['nul', "invalid character ' ' in literal null (expecting 'l')"],
    ['-', "invalid character ' ' in numeric literal"],
    ['[1.', "invalid character ' ' after decimal point in numeric literal"],
    ['"\\', "invalid character ' ' in string escape code"],
    ['"\\u12', "invalid character ' ' in \\u hexadecimal character escape"],
    ['{"a"', 'unexpected end of JSON input'],
    ['\u0001', "invalid character '\\x01' looking for beginning of value"],
    ['abc', "invalid character 'a' looking for beginning of value"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['{"a":[{}]]', "invalid character ']' after object key:value pair"],
    ['nope', "invalid character 'o' in literal null (expecting 'u')"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['01', "invalid character '1' after top-level value"],
    ['-a', "invalid character 'a' in numeric literal"],
    ['1.a', "invalid character 'a' after decimal point in numeric literal"],
    ['1ea', "invalid character 'a' in exponent of numeric literal"],
    ['[\u00e9]', "invalid character '\u00c3' looking for beginning of value"],
  ])('%j', (text, fault) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError)
    expect(jsonFault(Buffer.from(text))).toBe(fault)
  })

  it('is not confused by text of any depth', () => {
    expect(jsonFault(Buffer.from('['.repeat(100_000)))).toBe('unexpected end of JSON input')
  })
})
