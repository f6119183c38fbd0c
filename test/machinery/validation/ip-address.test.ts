import { describe, expect, test } from 'vitest'
import { FieldPath } from '../../../components/machinery/validation/field-path.ts'
import {
  formatIpAddress,
  isDualStack,
  parseIpAddress,
  parseIpRange,
  rangeContains,
  sizeOfRange,
  validateIpRange,
  validateNonSpecialIp,
} from '../../../components/machinery/validation/ip-address.ts'

describe('addresses', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['010.0.0.01', '10.0.0.1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['1:0:3:0:5:0:7:0', '1:0:3:0:5:0:7:0'],
    ['fe80:0:0:0:0:0:0:0', 'fe80::'],
    ['0:0:1:0:0:1:1:1', '::1:0:0:1:1:1'],
    ['10:0:0:2:0:0:0:10', '10:0:0:2::10'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
  ])('%s is %s', (text, canonical) => {
    const address = parseIpAddress(text)
    expect(address && formatIpAddress(address)).toBe(canonical)
  })

  test.each(['', '1.2.3', '1.2.3.256', '1.2.3.4.5', 'a', '::1%eth0', '1:2', '1.2.3.-4'])(
    '%j is none',
    (text) => {
      expect(parseIpAddress(text)).toBeUndefined()
    },
  )
})

describe('ranges', () => {
  test('hold the addresses with their prefix', () => {
    const range = parseIpRange('10.96.3.4/16')
    if (range === undefined) throw new Error('not parsed')
    expect(sizeOfRange(range)).toBe(65_536n)
    expect(formatIpAddress({ family: range.family, value: range.base })).toBe('10.96.0.0')
    const contains = (text: string) => {
      const address = parseIpAddress(text)
      return address !== undefined && rangeContains(range, address)
    }
    expect(contains('10.96.255.255')).toBe(true)
    expect(contains('10.97.0.0')).toBe(false)
    expect(contains('::1')).toBe(false)
  })

  test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/x', '::/129', '/8'])('%j is none', (text) => {
    const at = FieldPath.root('x')
    validateIpRange(text, at)
    expect(at.errors).toHaveLength(1)
  })
})

test('two families make a dual stack', () => {
  expect(isDualStack(['10.0.0.1', '::1'])).toBe(true)
  expect(isDualStack(['10.0.0.1', '10.0.0.2'])).toBe(false)
  expect(isDualStack(['10.0.0.0/8', 'fd00::/64'])).toBe(true)
})

test.each([
  ['127.0.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
  ['169.254.1.1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['224.0.0.5', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
])('%s is no endpoint', (text, detail) => {
  const at = FieldPath.root('ip')
  validateNonSpecialIp(text, at)
  expect(at.errors.map(({ message }) => message)).toEqual([`Invalid value: "${text}": ${detail}`])
})
