import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalBase64 } from '../../../components/machinery/values/base64.ts'

test.each([
  ['', ''],
  ['QQ==', 'QQ=='],
  ['QR==', 'QQ=='],
  ['QUJD', 'QUJD'],
  ['QU\r\nJD', 'QUJD'],
])('%j is %s', (text, canonical) => {
  expect(canonicalBase64(text)).toBe(canonical)
})

test.each([
  ['***', 0],
  ['Q*==', 1],
  ['QQ', 0],
  ['QQ=', 3],
  ['Q===', 1],
  ['QUJDQ', 4],
  ['QQ==QQ==', 4],
  ['QUI=x', 4],
  ['QUI-', 3],
  ['é', 0],
])('%j is illegal at byte %i', (text, illegalAt) => {
  expect(canonicalBase64(text)).toEqual({ illegalAt })
})

test('whatever Node writes is canonical', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = Buffer.from(bytes).toString('base64')
      expect(canonicalBase64(text)).toBe(text)
    }),
  )
})
