/** What the API server makes of a KMS plugin's answers (upstream: encryptionconfig/config_test.go). */
import { expect, test } from 'vitest'
import { KmsProbe } from '../../../../components/api-server/encryption/kms/kms-probe.ts'
import { createLog } from '../../../../components/component-base/log.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { FakeKms, kmsMetrics } from '../../../support/fake-kms.ts'

const minuteMs = 60_000

function started() {
  const clock = new FakeClock()
  const service = new FakeKms()
  const { metrics, all } = kmsMetrics(clock)
  const lines: string[] = []
  const log = createLog({ clock, level: 'debug', write: (line) => lines.push(line) })
  const stop = new AbortController()
  let healthy = 0
  const probe = new KmsProbe({
    name: 'panda',
    endpoint: 'unix:///run/panda.sock',
    service,
    clock,
    log,
    metrics,
    onHealthy: () => (healthy += 1),
    signal: stop.signal,
  })
  /** A check that asks the plugin, whatever the last answer was. */
  const check = async (): Promise<string | undefined> => {
    await clock.step(20_000)
    return await probe.check()
  }
  return { clock, service, all, lines, stop, probe, check, healthy: () => healthy }
}

const hashOf4 = 'sha256:4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a'
const hashOf5 = 'sha256:ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d'

test('the first healthy answer makes a seed, which writes for three minutes', async () => {
  const { probe, service, clock, healthy } = started()
  expect(probe.key).toBeUndefined()
  expect(await probe.check()).toBeUndefined()
  expect(probe.key?.source.keyId).toBe('key-1')
  expect(probe.key?.source.type).toBe(1)
  expect(probe.key?.expiresAtMs).toBe(clock.now() + 3 * minuteMs)
  expect(service.count('encrypt')).toBe(1)
  expect(healthy()).toBe(1)
})

test('the same key id extends the time of the seed, also after it was over, without another seed', async () => {
  const { probe, service, clock, check } = started()
  await probe.check()
  const before = probe.key
  await clock.step(60 * minuteMs)
  expect(await check()).toBeUndefined()
  expect(probe.key).toEqual({ ...before, expiresAtMs: clock.now() + 3 * minuteMs })
  expect(service.count('encrypt')).toBe(1)
})

test('another key id makes another seed', async () => {
  const { probe, service, check } = started()
  await probe.check()
  const before = probe.key
  service.keyId = 'key-2'
  expect(await check()).toBeUndefined()
  expect(probe.key?.source.keyId).toBe('key-2')
  expect(probe.key?.source.ciphertext).not.toEqual(before?.source.ciphertext)
})

test('when Encrypt fails, the last seed stays until its time is over, and the fault names digests of the ids', async () => {
  const { probe, service, check, clock } = started()
  service.keyId = '4'
  await probe.check()
  const before = probe.key
  service.keyId = '5'
  service.ciphertext = Buffer.alloc(0)
  const fault = await check()
  expect(probe.key).toBe(before)
  expect(fault).toBe(
    `kmsv2 Provider panda is not healthy, error: failed to rotate DEK uid="00000000-0000-4000-8000-000000000002", useSeed=true, errState=<nil>, ` +
      `errGen=failed to validate encrypted DEK source: encrypted DEK source is empty, statusKeyIDHash="${hashOf5}", encryptKeyIDHash="", ` +
      `stateKeyIDHash="${hashOf4}", expirationTimestamp=${new Date(clock.now() - 20_000 + 3 * minuteMs).toISOString().slice(0, 19)}Z`,
  )
})

test('an Encrypt under another key id than Status told is refused', async () => {
  const { probe, service } = started()
  service.keyId = '4'
  service.encryptKeyId = '5'
  const fault = await probe.check()
  expect(probe.key).toBeUndefined()
  expect(fault).toContain('errState=got unexpected nil transformer, errGen=<nil>')
  expect(fault).toContain(`statusKeyIDHash="${hashOf4}", encryptKeyIDHash="${hashOf5}"`)
  expect(fault).toContain('stateKeyIDHash="", expirationTimestamp=0001-01-01T00:00:00Z')
})

test.each<[string, (service: FakeKms) => void, string]>([
  [
    'an annotation that is no domain',
    (service) => void (service.annotations = new Map([['panda', Buffer.alloc(0)]])),
    'errGen=failed to validate annotations: annotations: Invalid value: "panda": should be a domain with at least two segments separated by dots',
  ],
  [
    'annotations of more than 32 kB',
    (service) => void service.annotations.set('a.com', Buffer.alloc(32 * 1024)),
    'errGen=failed to validate annotations: total size of annotations is 32804, which exceeds the max size of 32768',
  ],
  [
    'a seed that grew to more than 1 kB',
    (service) => void (service.ciphertext = Buffer.alloc(1025)),
    'encrypted DEK source is 1025 bytes, which exceeds the max size of 1024',
  ],
  [
    'an unhealthy plugin of another version without a key',
    (service) => void Object.assign(service, { healthz: 'tired', version: 'v1beta1', keyId: '' }),
    '[got unexpected healthz status: tired, expected KMSv2 API version v2, got v1beta1, got invalid KMSv2 KeyID hash "": keyID is empty]',
  ],
  [
    'a key id of more than 1 kB',
    (service) => void (service.keyId = 'k'.repeat(1025)),
    'keyID is 1025 bytes, which exceeds the max size of 1024',
  ],
  [
    'a plugin that is gone',
    (service) => void (service.isBroken = true),
    'failed to perform status section of the healthz check for KMS Provider panda, error: broken',
  ],
])('%s is a fault, and writes nothing', async (_, harm, text) => {
  const { probe, service, healthy } = started()
  harm(service)
  expect(await probe.check()).toContain(text)
  expect(probe.key).toBeUndefined()
  expect(healthy()).toBe(0)
})

test('the version may be v2 or v2beta1, and stays what it was', async () => {
  const { probe, service, check } = started()
  service.version = 'v2beta1'
  expect(await probe.check()).toBeUndefined()
  service.version = 'v2'
  expect(await check()).toContain(
    'KMSv2 API version should not change after the initial status response version v2beta1, got v2',
  )
})

test('an answer is good for 20 seconds, a fault for 3; callers at once share a call', async () => {
  const { probe, service, clock } = started()
  await Promise.all([probe.check(), probe.check()])
  await clock.step(19_999)
  await probe.check()
  expect(service.count('status')).toBe(1)
  service.isBroken = true
  await clock.step(1)
  const fault = await probe.check()
  expect(service.count('status')).toBe(2)
  await clock.step(2999)
  expect(await probe.check()).toBe(fault)
  expect(service.count('status')).toBe(2)
  service.isBroken = false
  await clock.step(1)
  expect(await probe.check()).toBeUndefined()
})

test('in the background a healthy plugin is asked every minute, a faulty one every 10 seconds, until the end', async () => {
  const { probe, service, clock, stop } = started()
  await probe.check()
  const running = probe.run()
  await clock.step(minuteMs)
  expect(service.count('status')).toBe(2)
  service.isBroken = true
  await clock.step(minuteMs)
  expect(service.count('status')).toBe(3)
  await clock.step(30_000)
  expect(service.count('status')).toBe(6)
  service.isBroken = false
  await clock.step(10_000)
  await clock.step(minuteMs)
  expect(service.count('status')).toBe(8)
  stop.abort()
  await running
  expect(clock.pending).toBe(0)
})

test('the log tells each change once, with provider and endpoint, and neither key id nor seed', async () => {
  const { probe, service, lines, check } = started()
  service.keyId = 'my-secret-key-id'
  await probe.check()
  service.isBroken = true
  await check()
  await check()
  service.isBroken = false
  await check()
  const told = lines.map((line) => JSON.parse(line) as Record<string, string>)
  expect(told.filter(({ level }) => level !== 'debug')).toMatchObject([
    {
      level: 'error',
      message: 'KMS provider is not healthy',
      provider: 'panda',
      endpoint: 'unix:///run/panda.sock',
    },
    { level: 'info', message: 'KMS provider is healthy again', provider: 'panda' },
  ])
  expect(lines.join('')).not.toContain('my-secret-key-id')
})

test('metrics show digests of key ids, and count invalid ones', async () => {
  const { probe, service, all, check } = started()
  service.keyId = '4'
  await probe.check()
  service.keyId = ''
  await check()
  const text = all.text()
  expect(text).toContain(
    `apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{provider_name="panda",key_id_hash="${hashOf4}",apiserver_id_hash="sha256:14f9d63e669337ac6bfda2e2162915ee6a6067743eddd4e5c374b572f951ff37"} 1735689600`,
  )
  expect(text).toContain(
    'apiserver_envelope_encryption_invalid_key_id_from_status_total{provider_name="panda",error="empty"} 1',
  )
})
