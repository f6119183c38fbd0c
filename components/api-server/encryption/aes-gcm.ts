/** aesgcm: nonce, ciphertext and tag under one key; the storage key is authenticated (upstream: encrypt/aes GCM). */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Transformer } from './transformer.ts'

const nonceBytes = 12
const tagBytes = 16

type GcmName = 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm'

/** `secret` has 16, 24 or 32 bytes. Nonces are random, so a key is good for some hundred thousand writes. */
export function aesGcm(secret: Buffer): Transformer {
  const cipherName = `aes-${secret.length * 8}-gcm` as GcmName
  return {
    toStorage: (bytes, key) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(cipherName, secret, nonce)
      cipher.setAAD(Buffer.from(key))
      const body = cipher.update(bytes)
      return Buffer.concat([nonce, body, cipher.final(), cipher.getAuthTag()])
    },
    fromStorage: (stored, key) => {
      if (stored.length < nonceBytes + tagBytes) {
        return { ok: false, why: 'the stored data was shorter than the required size' }
      }
      const decipher = createDecipheriv(cipherName, secret, stored.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(Buffer.from(key))
      decipher.setAuthTag(stored.subarray(stored.length - tagBytes))
      try {
        const body = decipher.update(stored.subarray(nonceBytes, stored.length - tagBytes))
        return { ok: true, bytes: Buffer.concat([body, decipher.final()]), isStale: false }
      } catch {
        // Authentication fails for another key, another storage key or changed bytes.
        return { ok: false, why: 'cipher: message authentication failed' }
      }
    },
  }
}
