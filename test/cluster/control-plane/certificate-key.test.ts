/** What travels to a further machine of the control plane is sealed: only its key opens it, and only under its name. */
import { expect, test } from 'vitest'
import {
  createCertificateKey,
  opened,
  parseCertificateKey,
  sealed,
} from '../../../cluster/control-plane/certificate-key.ts'
import { systemClock as clock } from '../../../components/component-base/clock.ts'

const newKey = () => parseCertificateKey(createCertificateKey(clock))

test('the key opens what it has sealed, and each sealing looks different', () => {
  const key = newKey()
  const once = sealed('a secret', 'ca.key', { key, clock })
  expect(opened(once, 'ca.key', key)).toBe('a secret')
  expect(once.toString()).not.toContain('secret')
  expect(sealed('a secret', 'ca.key', { key, clock })).not.toEqual(once)
})

test('another key, another name, changed bytes and cut bytes open nothing', () => {
  const key = newKey()
  const bytes = sealed('a secret', 'ca.key', { key, clock })
  const changed = Buffer.from(bytes)
  changed[12] = (changed[12] ?? 0) ^ 1
  const message = 'the certificate key does not open the certificates'
  expect(() => opened(bytes, 'ca.key', newKey())).toThrow(message)
  expect(() => opened(bytes, 'sa.key', key)).toThrow(message)
  for (const wrong of [changed, bytes.subarray(0, -1), bytes.subarray(0, 5), Buffer.alloc(0)]) {
    expect(() => opened(wrong, 'ca.key', key)).toThrow(message)
  }
})

test('a key is 64 hexadecimal digits; what is refused is not repeated', () => {
  const text = createCertificateKey(clock)
  expect(text).toMatch(/^[0-9a-f]{64}$/)
  expect(parseCertificateKey(` ${text}\n`).toString('hex')).toBe(text)
  for (const wrong of ['', text.slice(1), `${text}0`, 'z'.repeat(64)]) {
    expect(() => parseCertificateKey(wrong)).toThrow(
      /^invalid certificate key: must be 64 hexadecimal digits$/,
    )
  }
})
