/**
 * AES-GCM with a key of its own for each write, expanded from a seed (upstream: encrypt/aes/aes_extended_nonce.go). Stored are
 * 32 random bytes, which the key is expanded with, and what aesgcm makes. So one seed is good for any number of writes.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { aesGcm } from '../aes-gcm.ts'
import type { Transformer } from '../transformer.ts'

const infoBytes = 32
export const seedBytes = 32

/** The first block of HKDF's expand step (RFC 5869, 2.3), which is as long as the key. */
function expandedKey(seed: Buffer, info: Buffer): Buffer {
  return createHmac('sha256', seed)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
}

/** Throws for a seed of less than `seedBytes`. */
export function extendedNonceGcm(seed: Buffer): Transformer {
  if (seed.length < seedBytes)
    throw new Error(`invalid seed length ${seed.length} used for key generation`)
  return {
    toStorage: (bytes, key) => {
      const info = randomBytes(infoBytes)
      return Buffer.concat([info, aesGcm(expandedKey(seed, info)).toStorage(bytes, key)])
    },
    fromStorage: (stored, key) => {
      if (stored.length < infoBytes)
        return { ok: false, why: 'the stored data was shorter than the required size' }
      const info = stored.subarray(0, infoBytes)
      return aesGcm(expandedKey(seed, info)).fromStorage(stored.subarray(infoBytes), key)
    },
  }
}
