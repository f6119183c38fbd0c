/** secretbox: XSalsa20 and Poly1305 under one key (upstream: encrypt/secretbox). The only file that imports its package. */
import { randomBytes } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'
import type { Transformer } from './transformer.ts'

const nonceBytes = 24
const tagBytes = 16

/** `secret` has 32 bytes. The storage key is not authenticated: the format has no field for it. */
export function secretbox(secret: Buffer): Transformer {
  return {
    toStorage: (bytes) => {
      const nonce = randomBytes(nonceBytes)
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(bytes)])
    },
    fromStorage: (stored) => {
      if (stored.length < nonceBytes + tagBytes) {
        return { ok: false, why: 'the stored data was shorter than the required size' }
      }
      try {
        const box = xsalsa20poly1305(secret, stored.subarray(0, nonceBytes))
        const bytes = Buffer.from(box.decrypt(stored.subarray(nonceBytes)))
        return { ok: true, bytes, isStale: false }
      } catch {
        // Authentication fails for another key or changed bytes.
        return { ok: false, why: 'cannot open the secretbox' }
      }
    },
  }
}
