import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readOne, tag } from '../../certs/der.ts'
import {
  decodeAlternativeNames,
  encodeAlternativeNames,
  noAlternativeNames,
} from '../../certs/subject.ts'

function roundTrip(address: string): string | undefined {
  const der = encodeAlternativeNames({ ...noAlternativeNames, ipAddresses: [address] })
  return decodeAlternativeNames(readOne(der as Buffer, tag.sequence)).ipAddresses[0]
}

function accepts(address: string): boolean {
  try {
    roundTrip(address)
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return false
  }
}

test('IP addresses read back in their canonical form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      const canonical = address.includes(':')
        ? new URL(`http://[${address}]`).hostname.slice(1, -1)
        : address
      expect(roundTrip(address)).toBe(canonical)
    }),
  )
})

test('text that only looks like an IP address is refused', () => {
  const near = [
    '1.2.3',
    '1.2.3.256',
    '::1::',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    'x',
    '',
  ]
  for (const text of near) expect([text, accepts(text)]).toEqual([text, false])
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '.'), maxLength: 18 }),
      (text) => {
        fc.pre(!/(^|[.:])0\d/.test(text))
        expect(accepts(text)).toBe(isIP(text) !== 0)
      },
    ),
    { numRuns: 3000 },
  )
})
