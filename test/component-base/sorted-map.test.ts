/** SortedMap and the order of keys. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareTexts, SortedMap, sortKey } from '../../components/component-base/sorted-map.ts'

describe('SortedMap', () => {
  it('iterates in key order from any key, whether it is there or not', () => {
    const map = new SortedMap<string, number>(compareTexts)
    for (const [i, key] of ['c', 'a', 'e'].entries()) map.set(key, i)
    expect([...map.entries()]).toEqual([
      ['a', 1],
      ['c', 0],
      ['e', 2],
    ])
    expect([...map.entries('b')].map(([key]) => key)).toEqual(['c', 'e'])
    expect([map.size, map.firstKey(), map.get('e'), map.get('x')]).toEqual([3, 'a', 2, undefined])
  })

  it('counts any range of keys', () => {
    const key = fc.nat({ max: 300 })
    const bound = fc.integer({ min: -5, max: 305 })
    const property = fc.property(
      fc.array(key, { maxLength: 400 }),
      bound,
      fc.option(bound, { nil: undefined }),
      (keys, from, to) => {
        const map = new SortedMap<number, string>((a, b) => a - b)
        for (const one of keys) map.set(one, '')
        const counted = [...map.entries(from)].filter(([one]) => to === undefined || one < to)
        expect(map.count(from, to)).toBe(counted.length)
      },
    )
    fc.assert(property, { numRuns: 500 })
  })

  it('keeps a snapshot apart from later changes', () => {
    const map = new SortedMap<number, string>((a, b) => a - b)
    for (let i = 0; i < 1000; i++) map.set(i, 'old')
    const snapshot = map.snapshot()
    map.set(5, 'new')
    expect(map.delete(6)).toBe(true)
    expect(map.delete(6)).toBe(false)
    expect([snapshot.get(5), snapshot.get(6), snapshot.size]).toEqual(['old', 'old', 1000])
    expect([map.get(5), map.get(6), map.size]).toEqual(['new', undefined, 999])
  })
})

describe('sortKey', () => {
  it('orders any two strings as their UTF-8 bytes are ordered', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
        expect(Math.sign(compareTexts(sortKey(a), sortKey(b)))).toBe(expected)
        expect(sortKey(a + b).startsWith(sortKey(a))).toBe(true)
      }),
    )
    expect(sortKey('\u{1F600}') > sortKey('\uFFFD')).toBe(true)
  })

  it('is the key itself in the basic plane up to the surrogates', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (key) => {
        expect(sortKey(key)).toBe(key)
      }),
    )
    expect(sortKey('é\u0fff\ud7ff')).toBe('é\u0fff\ud7ff')
  })
})
