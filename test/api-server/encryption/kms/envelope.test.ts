/** What a KMS provider stores and reads (upstream: envelope/kmsv2/envelope_test.go), and vectors of upstream's own code. */
import { expect, test } from 'vitest'
import { aesGcm } from '../../../../components/api-server/encryption/aes-gcm.ts'
import {
  encodeEncryptedObject,
  readEncryptedObject,
  sourceDigest,
  sourceFault,
  type DekSource,
} from '../../../../components/api-server/encryption/kms/encrypted-object.ts'
import { createEnvelope } from '../../../../components/api-server/encryption/kms/envelope.ts'
import { extendedNonceGcm } from '../../../../components/api-server/encryption/kms/extended-nonce-gcm.ts'
import { KmsProbe } from '../../../../components/api-server/encryption/kms/kms-probe.ts'
import { silentLog } from '../../../../components/component-base/log.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { FakeKms, kmsMetrics } from '../../../support/fake-kms.ts'

const storageKey = '/registry/core/secrets/default/s'
const secret = Buffer.from('{"kind":"Secret"}')

function provider(service = new FakeKms(), clock = new FakeClock()) {
  const { metrics, all } = kmsMetrics(clock)
  const names = { name: 'panda', endpoint: 'unix:///run/panda.sock' }
  const { signal } = new AbortController()
  const probe = new KmsProbe({
    ...names,
    service,
    clock,
    log: silentLog,
    metrics,
    onHealthy: () => {},
    signal,
  })
  const envelope = createEnvelope({ ...names, service, probe, clock, metrics })
  /** As the watch cache reads. */
  const read = async (stored: Buffer, key = storageKey) => {
    await envelope.prepare?.(stored)
    return envelope.fromStorage(stored, key)
  }
  return { service, clock, probe, envelope, read, all }
}

const source = (more: Partial<DekSource> = {}): DekSource => ({
  type: 1,
  keyId: 'key-1',
  ciphertext: Buffer.from('wrapped-seed'),
  annotations: new Map([['version.encryption.example.com', Buffer.from('1')]]),
  ...more,
})

test('bytes that upstream stored at commit 3b1fc60d and in its pull request 118828 are read', () => {
  const pandas = { ok: true, bytes: Buffer.from('pandas are the best'), isStale: false }
  const gcm = Buffer.from(
    '9f27c8fcea8a58c467d8e437dbf2d85955f9b4bd912f4ef967d788a0cb07797dac0a3f0a0845605ca85ac8562b4ae1',
    'hex',
  )
  expect(aesGcm(Buffer.from('snorlax_awesomes')).fromStorage(gcm, 'bamboo')).toEqual(pandas)
  const seed = '5d40323a820ff95561675e3b95e81867c5fdd561d35a88a2d08b08aa9d4fcf5c'
  const stored =
    '2442759e33945fbad709db577a0f037fd8a709fc76979b8942209debcecb9d57efe3d6ff6a1ef6ee9a5003b9833b3043cec1e47b35175b151107a8d2416b0e296bbf66b5d102fcefdf9a78f293d271'
  const extended = extendedNonceGcm(Buffer.from(seed, 'hex'))
  expect(extended.fromStorage(Buffer.from(stored, 'hex'), 'bamboo')).toEqual(pandas)
  expect(extended.fromStorage(Buffer.from(stored, 'hex'), 'other')).toMatchObject({ ok: false })
})

test('whole objects that apiserver v0.32.9 encrypted are read: of older releases by key, of today’s by seed', async () => {
  const service = new FakeKms()
  const seed = Buffer.from('0123456789abcdef0123456789abcdef')
  service.decrypt = (_, encrypted) => {
    const { type: _type, ...expected } = source()
    expect(encrypted).toMatchObject(expected)
    return Promise.resolve(seed)
  }
  const byKey =
    '0a2db08d64e56aed6f0215ef8740a80076093ac79a33d5b95a0b49243552288d1dfa5c74d5c882f9bf1d61a1afc54a12056b65792d311a0c777261707065642d7365656422230a1e76657273696f6e2e656e6372797074696f6e2e6578616d706c652e636f6d120131'
  const bySeed =
    '0a4d2f4ac6860df3017726dff25fbe5ec7c1861f647b8ab56441bd0cedcfa984793be7908d5b36bff557769b43458003d79a5da014a6d268eaf410d9c53303a58ef547c61c6e7b78e0a48d1813fa4312056b65792d311a0c777261707065642d7365656422230a1e76657273696f6e2e656e6372797074696f6e2e6578616d706c652e636f6d1201312801'
  for (const [stored, isStale] of [
    [byKey, true],
    [bySeed, false],
  ] as const) {
    const { probe, read } = provider(service)
    await probe.check()
    const bytes = Buffer.from(stored, 'hex')
    expect(await read(bytes)).toEqual({ ok: true, bytes: secret, isStale })
    expect(await read(bytes, '/registry/core/secrets/default/other')).toMatchObject({ ok: false })
  }
})

test('the message has upstream’s fields and numbers', () => {
  const encoded = encodeEncryptedObject({ source: source(), data: Buffer.from('data') })
  const fields = [
    ['0a04', 'data'],
    ['1205', 'key-1'],
    ['1a0c', 'wrapped-seed'],
    ['2223', ''],
    ['0a1e', 'version.encryption.example.com'],
    ['1201', '1'],
    ['2801', ''],
  ]
  const expected = fields.map(([head = '', text = '']) => head + Buffer.from(text).toString('hex'))
  expect(encoded.toString('hex')).toBe(expected.join(''))
  expect(readEncryptedObject(encoded)).toEqual({ source: source(), data: Buffer.from('data') })
})

test.each([['a.com'], ['dev.k8s.io.'], ['10.0.0.1'], [`${'a'.repeat(63)}.k8s.io`]])(
  'the annotation %s is valid',
  (name) => {
    expect(
      sourceFault(source({ annotations: new Map([[name, Buffer.from('bar')]]) })),
    ).toBeUndefined()
  },
)

const noSubdomain = 'a lowercase RFC 1123 subdomain must consist of'
test.each([
  ['.', noSubdomain],
  ['.io', noSubdomain],
  ['com', 'should be a domain with at least two segments separated by dots'],
  ['Dev.k8s.io', noSubdomain],
  ['*.example.com', noSubdomain],
  ['foo@bar.example.com', noSubdomain],
  [`${'a'.repeat(64)}.k8s.io`, 'must be no more than 63'],
  [`${'a.'.repeat(126)}io`, 'must be no more than 253'],
])('the annotation %s is refused', (name, why) => {
  expect(sourceFault(source({ annotations: new Map([[name, Buffer.from('bar')]]) }))).toContain(why)
})

test('only equal sources have the same digest', () => {
  const sources: DekSource[] = []
  for (const type of [0, 1])
    for (const ciphertext of ['123', '456'])
      for (const keyId of ['id1', 'id2'])
        for (const names of ['a b', 'x y', 'a', 'b a'])
          sources.push({
            type,
            ciphertext: Buffer.from(ciphertext),
            keyId,
            annotations: new Map(names.split(' ').map((name) => [name, Buffer.from(name)])),
          })
  // "a b" and "b a" are the same annotations in another order.
  expect(new Set(sources.map(sourceDigest)).size).toBe(2 * 2 * 2 * 3)
})

test('what is written is read back without a call; each write has bytes of its own', async () => {
  const { service, probe, envelope, read } = provider()
  await probe.check()
  const [one, two] = [
    envelope.toStorage(secret, storageKey),
    envelope.toStorage(secret, storageKey),
  ]
  expect(one).not.toEqual(two)
  expect(one.includes('Secret')).toBe(false)
  expect(await read(one)).toEqual({ ok: true, bytes: secret, isStale: false })
  expect(await read(two, '/registry/core/secrets/default/other')).toMatchObject({ ok: false })
  expect(service.count('decrypt')).toBe(0)
})

test('another server asks the plugin once for a seed, however many objects have it', async () => {
  const one = provider()
  await one.probe.check()
  const stored = [1, 2, 3].map(() => one.envelope.toStorage(secret, storageKey))
  const two = provider()
  await two.probe.check()
  expect(two.envelope.fromStorage(stored[0] ?? secret, storageKey)).toMatchObject({ ok: false })
  const results = await Promise.all(stored.map((bytes) => two.read(bytes)))
  expect(results.every(({ ok }) => ok)).toBe(true)
  expect(two.service.count('decrypt')).toBe(1)
  expect(two.all.text()).toContain('apiserver_storage_envelope_transformation_cache_misses_total 1')
})

test('an object is stale under an older key id, and in the form of older releases', async () => {
  const { service, clock, probe, envelope, read } = provider()
  await probe.check()
  const old = envelope.toStorage(secret, storageKey)
  service.keyId = 'key-2'
  await clock.step(20_000)
  await probe.check()
  expect(await read(old)).toEqual({ ok: true, bytes: secret, isStale: true })
  expect(service.count('decrypt')).toBe(0)
  expect(await read(envelope.toStorage(secret, storageKey))).toMatchObject({ isStale: false })

  const key = Buffer.alloc(32, 'k')
  const byKey = encodeEncryptedObject({
    source: source({ type: 0, keyId: 'key-2', ciphertext: Buffer.from(key.toReversed()) }),
    data: aesGcm(key).toStorage(secret, storageKey),
  })
  expect(await read(byKey)).toEqual({ ok: true, bytes: secret, isStale: true })
})

test('a seed whose time is over reads and writes no more, until the plugin is healthy again', async () => {
  const { service, clock, probe, envelope, read } = provider()
  await probe.check()
  const stored = envelope.toStorage(secret, storageKey)
  service.isBroken = true
  await clock.step(180_000)
  envelope.toStorage(secret, storageKey)
  await clock.step(1000)
  expect(() => envelope.toStorage(secret, storageKey)).toThrow(
    /^Internal error occurred: KMS provider "panda" at unix:\/\/\/run\/panda.sock: encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at 2025-01-01T00:03:00Z \(current time is 2025-01-01T00:03:01Z\)$/,
  )
  expect(await read(stored)).toMatchObject({ ok: true })
  service.isBroken = false
  await probe.check()
  expect(await read(envelope.toStorage(secret, storageKey))).toMatchObject({ ok: true })
})

test('before the plugin was healthy nothing is read or written, and the error names provider and endpoint', async () => {
  const { service, envelope, read } = provider()
  const named = 'KMS provider "panda" at unix:///run/panda.sock: it was not healthy since the start'
  expect(() => envelope.toStorage(secret, storageKey)).toThrow(named)
  const stored = encodeEncryptedObject({ source: source(), data: secret })
  expect(await read(stored)).toMatchObject({ ok: false, why: expect.stringContaining(named) })
  expect(service.calls).toEqual([])
})

test('a seed that the plugin does not decrypt is asked for again with the next read', async () => {
  const one = provider()
  await one.probe.check()
  const stored = one.envelope.toStorage(secret, storageKey)
  const two = provider()
  await two.probe.check()
  two.service.isBroken = true
  expect(await two.read(stored)).toEqual({
    ok: false,
    why: 'KMS provider "panda" at unix:///run/panda.sock: failed to decrypt DEK, error: broken',
  })
  two.service.isBroken = false
  expect(await two.read(stored)).toMatchObject({ ok: true })
})

test.each<[string, Buffer, string]>([
  ['no message', Buffer.from('{"kind":"Secret"}'), 'the message is not protobuf'],
  [
    'no data',
    encodeEncryptedObject({ source: source(), data: Buffer.alloc(0) }),
    'encrypted data is empty',
  ],
  [
    'a type of a newer release',
    encodeEncryptedObject({ source: source({ type: 2 }), data: secret }),
    'unknown encryptedDEKSourceType: 2',
  ],
  [
    'no key id',
    encodeEncryptedObject({ source: source({ keyId: '' }), data: secret }),
    'failed to validate key id: keyID is empty',
  ],
  [
    'a seed that is too short',
    encodeEncryptedObject({ source: source(), data: secret }),
    'invalid seed length 12 used for key generation',
  ],
  [
    'a key of no size of AES',
    encodeEncryptedObject({ source: source({ type: 0 }), data: secret }),
    'crypto/aes: invalid key size 12',
  ],
])('%s is an error that shows none of the bytes', async (_, stored, why) => {
  const { probe, read } = provider()
  await probe.check()
  const result = await read(stored)
  expect(result).toMatchObject({ ok: false, why: expect.stringContaining(why) })
  expect(JSON.stringify(result)).not.toContain('Secret')
})

test('metrics count the uses of a hundred key ids at most, by their digests', async () => {
  const { service, clock, probe, envelope, all } = provider()
  for (let number = 0; number < 110; number += 1) {
    service.keyId = `key-${number}`
    await clock.step(20_000)
    await probe.check()
    envelope.toStorage(secret, storageKey)
  }
  const lines = all.text().split('\n')
  const uses = lines.filter((line) =>
    line.startsWith(
      'apiserver_envelope_encryption_key_id_hash_total{transformation_type="to_storage"',
    ),
  )
  expect(uses).toHaveLength(100)
  expect(lines.join('')).not.toContain('key-109')
  expect(lines).toContain(
    'apiserver_envelope_encryption_dek_source_cache_size{provider_name="panda"} 110',
  )
})
