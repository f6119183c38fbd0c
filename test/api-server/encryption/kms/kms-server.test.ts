/** An API server with KMS plugins on sockets: what the store holds, rotation, outages, reload, several providers. */
import { expect, test } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { kmsProvider, startKmsPlugin, type KmsPlugin } from '../../../support/kms-plugin.ts'
import { encryptionConfig, provider, startStoredServer } from '../../../support/raw-store.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const keyOf = (name: string): string => `/registry/secrets/default/${name}`
const password = 'correct-horse'
const encoded = Buffer.from(password).toString('base64')
const identity = { identity: {} }
const config = (...providers: unknown[]): string =>
  encryptionConfig('k8s.io', { resources: ['secrets'], providers })
const configFlag = (path: string): string => `--encryption-provider-config=${path}`
const reloadFlag = '--encryption-provider-config-automatic-reload'

async function started(
  providers: unknown[],
  more: { reloads?: boolean; onLog?: (line: string) => void; clock?: FakeClock } = {},
) {
  const { reloads, onLog, clock = new FakeClock(Date.now()) } = more
  const at = await startStoredServer({
    clock,
    ...(onLog === undefined ? {} : { onLog }),
    files: { 'enc.yaml': config(...providers) },
    flags: (path) => [configFlag(path('enc.yaml')), ...(reloads === true ? [reloadFlag] : [])],
  })
  const { server } = at
  return {
    ...at,
    clock,
    server,
    create: (name: string) =>
      server.ok('POST', secrets, { body: { metadata: { name }, stringData: { password } } }),
    /** An update that changes nothing, as a storage migration sends it. */
    touch: async (name: string) =>
      await server.ok('PUT', `${secrets}/${name}`, {
        body: await server.ok('GET', `${secrets}/${name}`),
      }),
    read: async (name: string): Promise<string> => {
      const reply = await server.request('GET', `${secrets}/${name}`)
      return reply.status === 200
        ? Buffer.from(reply.body.data.password as string, 'base64').toString()
        : `${reply.status} ${reply.body.message}`
    },
    health: async (path: string): Promise<string> => {
      const { status, text } = await server.request('GET', path)
      return `${status} ${text.trim()}`
    },
    metric: async (line: string): Promise<string | undefined> => {
      const { text } = await server.request('GET', '/metrics')
      return text.split('\n').find((one) => one.startsWith(line))
    },
    /** Time passes until the plugin was asked again. */
    untilAsked: async (plugin: KmsPlugin, ms: number): Promise<void> => {
      const before = plugin.calls.Status
      await clock.step(ms)
      await eventually(() => expect(plugin.calls.Status).toBeGreaterThan(before))
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  }
}

/** Time passes while the work goes on: calls to a plugin that is gone end with their time. */
async function ticking<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const over = work.finally(() => (isOver = true))
  while (!isOver) await clock.step(1000)
  return await over
}

test('secrets lie encrypted under the provider’s name, and are read after a restart with one call for all', async () => {
  await using plugin = await startKmsPlugin()
  await using at = await started([kmsProvider('vault', plugin), identity])
  await at.create('one')
  await at.create('two')
  expect(plugin.calls).toMatchObject({ Encrypt: 1, Decrypt: 0 })
  const stored = await at.stored(keyOf('one'))
  expect(stored.startsWith('k8s:enc:kms:v2:vault:')).toBe(true)
  expect(stored).toContain(plugin.keyId)
  expect(stored).not.toContain(encoded)
  expect(stored).not.toContain('"kind"')
  for (const seed of plugin.seeds) expect(stored).not.toContain(seed.toString('latin1'))
  expect(plugin.calls).toMatchObject({ Encrypt: 2, Decrypt: 1 })
  expect([await at.read('one'), await at.read('two')]).toEqual([password, password])
  await at.create('three')
  expect(await at.stored(keyOf('three'))).not.toContain(encoded)
  expect([await at.read('one'), await at.read('three')]).toEqual([password, password])
})

test('a plugin’s new key encrypts within a minute; what is stored under the old one is rewritten, then the old key may go', async () => {
  await using plugin = await startKmsPlugin()
  await using at = await started([kmsProvider('vault', plugin)])
  const old = plugin.keyId
  const made = await at.create('one')
  const fresh = plugin.rotate()
  await at.untilAsked(plugin, 61_000)
  await eventually(() => expect(plugin.calls.Encrypt).toBe(2))
  await eventually(async () => {
    const rewritten = await at.touch('one')
    expect(rewritten.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion)
  })
  const { resourceVersion } = (await at.server.ok('GET', `${secrets}/one`)).metadata
  expect((await at.touch('one')).metadata.resourceVersion).toBe(resourceVersion)
  const stored = await at.stored(keyOf('one'))
  expect(stored).toContain(fresh)
  expect(stored).not.toContain(old)
  plugin.forget(old)
  await at.between(async () => {})
  expect(await at.read('one')).toBe(password)
})

test('while the plugin is gone, reads go on, and writes for as long as the seed has time; then both come back', async () => {
  await using plugin = await startKmsPlugin()
  const lines: string[] = []
  await using at = await started([kmsProvider('vault', plugin, { timeout: '1m' })], {
    onLog: (line) => lines.push(line),
  })
  await at.create('one')
  expect(await at.health('/readyz/kms-providers')).toBe('200 ok')
  await plugin.stop()
  for (let second = 0; second < 100; second += 1) await at.clock.step(1000)
  await at.create('two')
  for (let second = 0; second < 100; second += 1) await at.clock.step(1000)
  const refused = await at.server.request('POST', secrets, {
    body: { metadata: { name: 'three' } },
  })
  expect(refused.status).toBe(500)
  expect(refused.body.message).toMatch(
    /^Internal error occurred: KMS provider "vault" at unix:\/\/\/.*kms.sock: encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at /,
  )
  expect([await at.read('one'), await at.read('two')]).toEqual([password, password])
  await plugin.start()
  await eventually(async () => {
    await at.clock.step(1000)
    await at.create('three')
  })
  expect(await at.health('/healthz/kms-providers')).toBe('200 ok')
  const told = lines.filter((line) => line.includes('"message":"KMS provider'))
  expect(told.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
    'KMS provider is not healthy',
    'KMS provider is healthy again',
  ])
  expect(told[0]).toContain(plugin.endpoint)
})

test('[HEALTH-017] /healthz and /readyz fail with an unhealthy plugin and say why, /livez does not', async () => {
  await using plugin = await startKmsPlugin()
  await using at = await started([kmsProvider('vault', plugin)])
  plugin.faults = { status: { healthz: 'the vault is sealed' } }
  await at.clock.step(20_000)
  for (const endpoint of ['healthz', 'readyz']) {
    expect(await at.health(`/${endpoint}`)).toContain('[-]kms-providers failed: reason withheld')
    expect(await at.health(`/${endpoint}/kms-providers`)).toContain(
      'kms-provider-0: kmsv2 Provider vault is not healthy, error: got unexpected healthz status: the vault is sealed',
    )
  }
  expect(await at.health('/livez')).toBe('200 ok')
  expect(await at.health('/livez/kms-providers')).toMatch(/^404/)
  expect(await at.health('/readyz?exclude=kms-providers')).toBe('200 ok')
})

test('there is a check of KMS providers with one of them, or with reload, and else none', async () => {
  await using plain = await started([provider('aesgcm', { k1: 'a' })])
  expect(await plain.health('/readyz/kms-providers')).toMatch(/^404/)
  await using reloading = await started([provider('aesgcm', { k1: 'a' })], { reloads: true })
  expect(await reloading.health('/readyz/kms-providers')).toBe('200 ok')
})

test('a key that the plugin has lost: the error names the provider, and the object is there again when the key is', async () => {
  await using plugin = await startKmsPlugin()
  await using at = await started([kmsProvider('vault', plugin)])
  await at.create('one')
  const error = 'rpc error: code = InvalidArgument desc = the key is unknown'
  plugin.faults = { status: { keyId: 'other' }, encrypted: { keyId: 'other' } }
  const kept = plugin.keyId
  plugin.rotate()
  plugin.faults = {}
  plugin.forget(kept)
  await at.between(async () => {})
  expect(await at.read('one')).toBe(
    `500 Internal error occurred: KMS provider "vault" at ${plugin.endpoint}: failed to decrypt DEK, error: ${error}`,
  )
  expect((await at.server.request('GET', secrets)).status).toBe(500)
  await at.create('two')
  expect(await at.read('two')).toBe(password)
})

test('a plugin that comes after the start is taken up by itself, with all that is stored under it', async () => {
  await using plugin = await startKmsPlugin()
  const clock = new FakeClock(Date.now())
  await using at = await started([kmsProvider('vault', plugin, { timeout: '30s' })], { clock })
  await at.create('one')
  await at.server.stop()
  await plugin.stop()
  await ticking(clock, at.server.restart())
  expect(await at.read('one')).toBe(
    `500 Internal error occurred: KMS provider "vault" at ${plugin.endpoint}: it was not healthy since the start of this server: see /healthz/kms-providers`,
  )
  const ready = await ticking(clock, at.server.request('GET', '/readyz'))
  expect(ready.status).toBe(500)
  const refused = await at.server.request('POST', secrets, { body: { metadata: { name: 'two' } } })
  expect(refused.body.message).toContain('it was not healthy since the start of this server')
  await plugin.start()
  await eventually(async () => {
    await clock.step(1000)
    expect(await at.read('one')).toBe(password)
  })
  await at.create('two')
  const watch = await at.server.watch(`${secrets}?watch=1`)
  expect(await watch.take(2)).toHaveLength(2)
})

test('a server whose own objects need a plugin that is missing does not start, and says why', async () => {
  await using plugin = await startKmsPlugin({ isStopped: true })
  const providers = [kmsProvider('vault', plugin, { timeout: '200ms' })]
  const starting = startStoredServer({
    files: { 'enc.yaml': encryptionConfig('k8s.io', { resources: ['*.*'], providers }) },
    flags: (path) => [configFlag(path('enc.yaml'))],
  })
  await expect(starting).rejects.toThrow(
    /^--encryption-provider-config: objects cannot be encrypted: kms-provider-0: .* KMS Provider vault, error: .*kms.sock cannot be reached: connect ENOENT/,
  )
})

test('several providers: the first one writes, all read, and objects move from one to the next and to identity', async () => {
  await using first = await startKmsPlugin()
  await using second = await startKmsPlugin()
  const [one, two] = [kmsProvider('one', first), kmsProvider('two', second)]
  await using at = await started([one, identity])
  await at.create('s')
  const moved = async (providers: unknown[]): Promise<string> => {
    at.file('enc.yaml', config(...providers))
    await at.between(async () => {})
    expect(await at.read('s')).toBe(password)
    await at.touch('s')
    return (await at.stored(keyOf('s'))).slice(0, 19)
  }
  expect(await moved([two, one])).toBe('k8s:enc:kms:v2:two:')
  expect(await moved([provider('aesgcm', { k1: 'a' }), two])).toBe('k8s:enc:aesgcm:v1:k')
  expect(await moved([one, provider('aesgcm', { k1: 'a' })])).toBe('k8s:enc:kms:v2:one:')
  expect(await moved([identity, one])).toMatch(/^\{/)
  expect(await moved([one, identity])).toBe('k8s:enc:kms:v2:one:')
})

test('reload takes up another plugin, and keeps the last one when the new one does not answer', async () => {
  await using first = await startKmsPlugin()
  await using second = await startKmsPlugin()
  // So long that no call ends with its time, however fast the clock is stepped.
  const patient = { timeout: '10m' }
  const one = kmsProvider('one', first, patient)
  const two = kmsProvider('two', second, patient)
  await using at = await started([identity], { reloads: true })
  await at.create('plain')
  const reloads = async (status: string): Promise<string | undefined> =>
    await at.metric(
      `apiserver_encryption_config_controller_automatic_reloads_total{status="${status}"}`,
    )
  const reloaded = async (
    providers: unknown[],
    status: string,
    { count, stepMs = 1000 }: { count: number; stepMs?: number },
  ): Promise<void> => {
    at.file('enc.yaml', config(...providers))
    await eventually(async () => {
      await at.clock.step(stepMs)
      expect(await reloads(status)).toMatch(new RegExp(` ${count}$`))
    })
  }
  await reloaded([one, identity], 'success', { count: 1 })
  await at.create('a')
  expect(await at.health('/readyz/kms-providers')).toBe('200 ok')

  second.faults = { status: { healthz: 'not yet' } }
  await reloaded([two, one, identity], 'failure', { count: 1, stepMs: 60_000 })
  await at.create('b')
  second.faults = {}
  await reloaded([two, one, identity], 'success', { count: 2 })
  await at.create('c')
  const prefixes = await at.between(
    async (store) =>
      await Promise.all(
        ['plain', 'a', 'b', 'c'].map(async (name) =>
          (await store.get(keyOf(name)))?.value.toString('latin1', 0, 19),
        ),
      ),
    [configFlag(at.file('enc.yaml', config(two, one, identity)))],
  )
  expect(prefixes[0]).toMatch(/^\{/)
  expect(prefixes.slice(1)).toEqual([
    'k8s:enc:kms:v2:one:',
    'k8s:enc:kms:v2:one:',
    'k8s:enc:kms:v2:two:',
  ])
  expect(await Promise.all(['plain', 'a', 'b', 'c'].map(at.read))).toEqual(
    Array.from({ length: 4 }, () => password),
  )
})

test('neither secrets nor seeds nor key ids show in log, audit, metrics or errors', async () => {
  await using plugin = await startKmsPlugin()
  const lines: string[] = []
  await using at = await started([kmsProvider('vault', plugin)], {
    onLog: (line) => lines.push(line),
  })
  await at.create('one')
  plugin.faults = { encrypted: { annotations: new Map([['panda', Buffer.alloc(0)]]) } }
  plugin.rotate()
  await at.clock.step(20_000)
  const texts = [await at.health('/readyz/kms-providers')]
  plugin.faults = {}
  plugin.forget(plugin.keyId)
  await at.between(async () => {})
  texts.push(await at.read('one'), await at.read('none'))
  const { text: metrics } = await at.server.request('GET', '/metrics')
  const audit = JSON.stringify(at.server.audit())
  const all = [...texts, ...lines, metrics, audit].join('\n')
  expect(all).toContain('should be a domain with at least two segments')
  expect(all).not.toContain(plugin.keyId)
  expect(all).not.toContain(encoded)
  expect(all).not.toContain(password)
  for (const seed of plugin.seeds)
    for (const form of ['hex', 'base64', 'latin1'] as const)
      expect(all).not.toContain(seed.toString(form))
})

test('metrics: calls by code, uses of key ids by digest', async () => {
  await using plugin = await startKmsPlugin()
  await using at = await started([kmsProvider('vault', plugin)])
  await at.create('one')
  const called =
    'apiserver_envelope_encryption_kms_operations_latency_seconds_count{provider_name="vault"'
  expect(
    await at.metric(
      `${called},method_name="/v2.KeyManagementService/Encrypt",grpc_status_code="OK"}`,
    ),
  ).toMatch(/ 1$/)
  expect(
    await at.metric(
      'apiserver_envelope_encryption_key_id_hash_total{transformation_type="to_storage",provider_name="vault",key_id_hash="sha256:',
    ),
  ).toMatch(/ 1$/)
  expect(
    await at.metric(
      'apiserver_storage_transformation_operations_total{resource="secrets",transformation_type="to_storage",transformer_prefix="k8s:enc:kms:v2:vault:",status="OK"}',
    ),
  ).toMatch(/ 1$/)
  expect(await at.metric('apiserver_storage_data_key_generation_duration_seconds_count')).toMatch(
    / 1$/,
  )
  expect(await at.metric('apiserver_storage_data_key_generation_failures_total')).toMatch(/ 0$/)
})
