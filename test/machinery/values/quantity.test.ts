import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityErrors,
  quantityMilliValue,
  quantityValue,
  subtractQuantities,
} from '../../../components/machinery/values/quantity.ts'

test.each([
  ['0', '0'],
  ['0Ki', '0'],
  ['.', '0'],
  ['+5', '5'],
  ['-0.5', '-500m'],
  ['0.5', '500m'],
  ['1.5', '1500m'],
  ['1000', '1k'],
  ['100k', '100k'],
  ['12000000', '12M'],
  ['1024', '1024'],
  ['1024Ki', '1Mi'],
  ['1.5Gi', '1536Mi'],
  ['0.5Ki', '512'],
  ['0.1Ki', '102400m'],
  ['1.1Gi', '1181116006400m'],
  ['1e3', '1e3'],
  ['1500e0', '1500'],
  ['1E', '1E'],
  ['1E3', '1e3'],
  ['0.1n', '1n'],
  ['-0.1n', '-1n'],
  ['1e-30', '1e-9'],
  ['100E', '9223372036854775807'],
  ['1e999999999', '9223372036854775807'],
  ['9Ei', '9223372036854775807'],
  ['999Pi', '999Pi'],
  ['1000n', '1u'],
])('%s is written %s', (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical)
  expect(canonicalQuantity(canonical)).toBe(canonical)
})

test.each([
  ['', quantityErrors.format],
  ['x', quantityErrors.format],
  ['1x', quantityErrors.format],
  ['1.2.3', quantityErrors.format],
  [' 1', quantityErrors.format],
  ['true', quantityErrors.format],
  ['1kk', quantityErrors.suffix],
  ['1e', quantityErrors.suffix],
  ['1K', quantityErrors.suffix],
  ['1mi', quantityErrors.suffix],
])('%j is refused', (text, message) => {
  expect(() => parseQuantity(text)).toThrow(message)
})

test('a long text is refused at once', () => {
  expect(() => parseQuantity(`${'1'.repeat(1_000_000)}x`)).toThrow(quantityErrors.format)
})

test('amounts compare across suffixes', () => {
  expect(compareQuantities('1Gi', '1G')).toBe(1)
  expect(compareQuantities('1', '1000m')).toBe(0)
  expect(compareQuantities('-1', '0')).toBe(-1)
})

test('sums keep the suffix family of the first that is not zero', () => {
  expect(addQuantities('1Gi', '1Gi')).toBe('2Gi')
  expect(addQuantities('0', '1Gi')).toBe('1Gi')
  expect(addQuantities('100m', '1')).toBe('1100m')
  expect(subtractQuantities('1Gi', '512Mi')).toBe('512Mi')
  expect(subtractQuantities('1', '2')).toBe('-1')
})

test('numbers round up', () => {
  expect(quantityValue('1500m')).toBe(2)
  expect(quantityValue('-1500m')).toBe(-1)
  expect(quantityValue('1Ki')).toBe(1024)
  expect(quantityMilliValue('0.0001')).toBe(1)
  expect(quantityMilliValue('2')).toBe(2000)
})

test('the canonical text is the same amount, and stays', () => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-2')
  const number = fc.tuple(
    fc.constantFrom('', '-'),
    fc.nat(),
    fc.constantFrom('', '.5', '.125', '.001'),
  )
  fc.assert(
    fc.property(number, suffix, ([sign, whole, fraction], unit) => {
      const text = `${sign}${whole}${fraction}${unit}`
      const canonical = formatQuantity(parseQuantity(text))
      expect(compareQuantities(text, canonical)).toBe(0)
      expect(canonicalQuantity(canonical)).toBe(canonical)
      expect(canonicalQuantity(text)).toBe(canonical)
    }),
  )
})
