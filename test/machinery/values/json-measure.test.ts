import { describe, expect, it } from 'vitest'
import { measureJson } from '../../../components/machinery/values/json-measure.ts'

const measure = (text: string) => measureJson(Buffer.from(text))

describe('the measure of JSON text', () => {
  it('counts how deep objects and lists nest, not brackets in strings', () => {
    expect(measure('[{"a":[1]}]').depth).toBe(3)
    expect(measure('[{"a":[[1]]}]').depth).toBe(4)
    expect(measure('["[[[[[[\\"[[["]').depth).toBe(1)
    expect(measure('[[],[],[],[],[]]').depth).toBe(2)
    expect(measure('7').depth).toBe(0)
  })

  it('counts fields, repeats included, not colons in strings', () => {
    expect(measure('{"a":1,"a":{"b:c":":"},"d":[{"e":"\\":"}]}').fields).toBe(5)
    expect(measure('"a:b"').fields).toBe(0)
  })

  it('notices numbers that no float may hold, not digits in strings', () => {
    const large = (text: string) => measure(text).hasLargeNumber
    expect(large('[1e400]')).toBe(true)
    expect(large('{"a":-1.5E400}')).toBe(true)
    expect(large(`[${'9'.repeat(310)}]`)).toBe(true)
    expect(large(`{"1e400":"${'9'.repeat(310)}","b":[12.5,-3,true,false]}`)).toBe(false)
  })

  it('looks at text that is no JSON without a fault', () => {
    expect(measure(']]]"').depth).toBe(0)
    expect(measure('"\\').fields).toBe(0)
    expect(measure('').depth).toBe(0)
  })
})
