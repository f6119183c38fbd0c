/** aescbc: initial vector and padded blocks under one key, without authentication (upstream: encrypt/aes CBC). */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Transformer } from './transformer.ts'

const blockBytes = 16

/** `secret` has 16, 24 or 32 bytes. For stores that use it already; unlike the others it may not detect changed bytes. */
export function aesCbc(secret: Buffer): Transformer {
  const cipherName = `aes-${secret.length * 8}-cbc`
  return {
    toStorage: (bytes) => {
      const vector = randomBytes(blockBytes)
      const cipher = createCipheriv(cipherName, secret, vector)
      return Buffer.concat([vector, cipher.update(bytes), cipher.final()])
    },
    fromStorage: (stored) => {
      if (stored.length < 2 * blockBytes) {
        return { ok: false, why: 'the stored data was shorter than the required size' }
      }
      if (stored.length % blockBytes !== 0) {
        return { ok: false, why: 'the stored data is not a multiple of the block size' }
      }
      const decipher = createDecipheriv(cipherName, secret, stored.subarray(0, blockBytes))
      try {
        const body = decipher.update(stored.subarray(blockBytes))
        return { ok: true, bytes: Buffer.concat([body, decipher.final()]), isStale: false }
      } catch {
        // Usually another key. Only the padding is checked.
        return { ok: false, why: 'invalid padding on input' }
      }
    },
  }
}
