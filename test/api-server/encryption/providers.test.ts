/** The forms in which objects are encrypted: upstream's, byte by byte. */
import { createCipheriv } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aesCbc } from '../../../components/api-server/encryption/aes-cbc.ts'
import { aesGcm } from '../../../components/api-server/encryption/aes-gcm.ts'
import { identity } from '../../../components/api-server/encryption/identity.ts'
import { secretbox } from '../../../components/api-server/encryption/secretbox.ts'
import {
  firstWrites,
  type Transformer,
} from '../../../components/api-server/encryption/transformer.ts'

const key = '/registry/secrets/default/s'
const plain = Buffer.from('{"kind":"Secret"}\n')
const secretOf = (length: number, letter = 'k'): Buffer => Buffer.alloc(length, letter)

const ciphers: Record<string, (length?: number) => Transformer> = {
  aesgcm: (length = 32) => aesGcm(secretOf(length)),
  aescbc: (length = 32) => aesCbc(secretOf(length)),
  secretbox: () => secretbox(secretOf(32)),
}

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

describe.each(Object.keys(ciphers))('%s', (kind) => {
  const cipher = ciphers[kind]!
  it('reads what it wrote, and writes the same bytes differently each time', () => {
    for (const bytes of [plain, Buffer.alloc(0), Buffer.alloc(100_000, 'x')]) {
      const stored = cipher().toStorage(bytes, key)
      expect(cipher().fromStorage(stored, key)).toEqual({ ok: true, bytes, isStale: false })
      expect(cipher().toStorage(bytes, key).equals(stored)).toBe(false)
      if (bytes.length > 8) expect(stored.includes(bytes.subarray(0, 8))).toBe(false)
    }
  })

  it('says of what is too short or of another key that it cannot be read', () => {
    const stored = cipher().toStorage(plain, key)
    for (const length of [0, 1, 15, 16, 27]) {
      expect(cipher().fromStorage(stored.subarray(0, length), key).ok).toBe(false)
    }
    const last = changed(stored, stored.length - 1)
    const isAuthenticated = kind !== 'aescbc'
    if (isAuthenticated) {
      for (const at of [0, 12, 24, stored.length - 1]) {
        expect(cipher().fromStorage(changed(stored, at), key).ok).toBe(false)
      }
    } else {
      const read = cipher().fromStorage(last, key)
      expect(read.ok && read.bytes.equals(plain)).toBe(false)
    }
  })
})

describe('forms', () => {
  it('aesgcm is nonce, ciphertext, tag, with the storage key authenticated', () => {
    for (const length of [16, 24, 32]) {
      const nonce = Buffer.alloc(12, 7)
      const cipher = createCipheriv(
        `aes-${length * 8}-gcm` as 'aes-256-gcm',
        secretOf(length),
        nonce,
      )
      cipher.setAAD(Buffer.from(key))
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      const stored = Buffer.concat([nonce, body, cipher.getAuthTag()])
      const transformer = aesGcm(secretOf(length))
      expect(transformer.fromStorage(stored, key)).toMatchObject({ ok: true, bytes: plain })
      expect(transformer.fromStorage(stored, `${key}2`)).toEqual({
        ok: false,
        why: 'cipher: message authentication failed',
      })
    }
  })

  it('aescbc is vector and padded blocks', () => {
    const stored = aesCbc(secretOf(32)).toStorage(Buffer.alloc(32, 'x'), key)
    expect(stored).toHaveLength(16 + 32 + 16)
    expect(aesCbc(secretOf(32)).fromStorage(stored.subarray(0, 40), key)).toEqual({
      ok: false,
      why: 'the stored data is not a multiple of the block size',
    })
  })

  it("secretbox is nonce and NaCl's box: its published vector opens", () => {
    const secret = '1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389'
    const nonce = '69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37'
    const box =
      'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec' +
      '48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de5624' +
      '4a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5'
    const message =
      'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce31' +
      '4adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082' +
      'f937763848645e0705'
    const read = secretbox(Buffer.from(secret, 'hex')).fromStorage(
      Buffer.from(nonce + box, 'hex'),
      key,
    )
    expect(read.ok && read.bytes.toString('hex')).toBe(message)
  })
})

describe('several providers', () => {
  const gcm = (prefix: string, letter: string) => ({ ...aesGcm(secretOf(32, letter)), prefix })
  const none = 'no matching prefix found'

  it('the first writes, all read, and what another than the first reads is stale', () => {
    const old = firstWrites([gcm('a:', 'a')], none)
    const both = firstWrites([gcm('b:', 'b'), gcm('a:', 'a'), identity], none)
    expect(old.toStorage(plain, key).toString('latin1')).toMatch(/^a:/)
    expect(both.toStorage(plain, key).toString('latin1')).toMatch(/^b:/)
    const read = { ok: true, bytes: plain }
    expect(both.fromStorage(both.toStorage(plain, key), key)).toEqual({ ...read, isStale: false })
    expect(both.fromStorage(old.toStorage(plain, key), key)).toEqual({ ...read, isStale: true })
    expect(both.fromStorage(plain, key)).toEqual({ ...read, isStale: true })
  })

  it('plain bytes in front of a provider: what is encrypted is left to it', () => {
    const encrypted = firstWrites([gcm('k8s:enc:aesgcm:v1:a:', 'a')], none)
    const leaving = firstWrites([identity, gcm('k8s:enc:aesgcm:v1:a:', 'a')], none)
    expect(leaving.toStorage(plain, key)).toBe(plain)
    expect(leaving.fromStorage(encrypted.toStorage(plain, key), key)).toMatchObject({
      ok: true,
      isStale: true,
    })
    const onlyPlain = firstWrites([identity], none)
    expect(onlyPlain.fromStorage(encrypted.toStorage(plain, key), key)).toEqual({
      ok: false,
      why: none,
    })
  })

  it('two keys of one name: the one that fits reads', () => {
    const twice = firstWrites([gcm('k:', 'b'), gcm('k:', 'a')], none)
    const old = firstWrites([gcm('k:', 'a')], none).toStorage(plain, key)
    expect(twice.fromStorage(old, key)).toMatchObject({ ok: true, isStale: true })
    const other = firstWrites([gcm('k:', 'c')], none).toStorage(plain, key)
    expect(twice.fromStorage(other, key)).toEqual({
      ok: false,
      why: 'cipher: message authentication failed',
    })
  })
})
