/** Encryption at rest, through a server on a store file: what lies there, rotation of keys, reload, both dialects. */
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { eventually } from '../../support/eventually.ts'
import { startApiServer } from '../../support/api-server.ts'
import {
  encryptionConfig,
  provider,
  startStoredServer,
  type StoredServer,
} from '../../support/raw-store.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const keyOf = (name: string): string => `/registry/secrets/default/${name}`
const secret = (name: string) => ({
  metadata: { name },
  stringData: { password: 'correct-horse' },
})
/** `correct-horse`, as the stored JSON would have it. */
const encoded = Buffer.from('correct-horse').toString('base64')

const configFlag = (path: string): string => `--encryption-provider-config=${path}`
const identity = { identity: {} }

async function started(
  providers: unknown[],
  more: { resources?: string[]; dialect?: 'kubernetes' | 'svc' } = {},
): Promise<StoredServer> {
  const domain = more.dialect === 'svc' ? 'svc.io' : 'k8s.io'
  const { resources = ['secrets'] } = more
  return await startStoredServer({
    ...(more.dialect === undefined ? {} : { dialect: more.dialect }),
    files: { 'enc.yaml': encryptionConfig(domain, { resources, providers }) },
    flags: (path) => [configFlag(path('enc.yaml'))],
  })
}

describe.each(['kubernetes', 'svc'] as const)('encryption at rest, %s', (dialect) => {
  const prefix = dialect === 'svc' ? 'svc:enc:' : 'k8s:enc:'
  it.each(['aesgcm', 'secretbox', 'aescbc'])(
    '%s: the store holds nothing readable, clients notice nothing, also after a restart',
    async (kind) => {
      await using at = await started([provider(kind, { k1: 'a' }), identity], { dialect })
      const { server } = at
      const made = await server.ok('POST', secrets, { body: secret('s') })
      await server.ok('POST', '/api/v1/namespaces/default/configmaps', {
        body: { metadata: { name: 'plain' }, data: { a: encoded } },
      })
      const stored = await at.stored(keyOf('s'))
      expect(stored.startsWith(`${prefix}${kind}:v1:k1:`)).toBe(true)
      expect(stored).not.toContain(encoded)
      expect(stored).not.toContain('"kind"')
      expect(await at.stored('/registry/configmaps/default/plain')).toContain(encoded)
      expect(await server.ok('GET', `${secrets}/s`)).toEqual(made)
      expect((await server.ok('GET', secrets)).items).toHaveLength(1)
    },
  )
})

describe('encryption at rest', () => {
  it('wildcards take in every stored resource, but for what an earlier rule names', async () => {
    await using at = await startStoredServer({
      files: {
        'enc.yaml': encryptionConfig(
          'k8s.io',
          { resources: ['configmaps'], providers: [identity] },
          { resources: ['*.*'], providers: [provider('aesgcm', { k1: 'a' })] },
        ),
      },
      flags: (path) => [configFlag(path('enc.yaml'))],
    })
    const { server } = at
    await server.ok('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'c' } },
    })
    await server.ok('POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
      body: {
        metadata: { name: 'e' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'x/y',
        reportingInstance: 'i',
        action: 'a',
        reason: 'r',
        type: 'Normal',
        regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      },
    })
    const plain = await at.between(async (store) => {
      const { kvs } = await store.range({ prefix: '/registry/' })
      return kvs.filter(
        ({ value }) => !value.toString('latin1').startsWith('k8s:enc:aesgcm:v1:k1:'),
      )
    })
    const keys = plain.map(({ key }) => key)
    expect(keys).toContain('/registry/configmaps/default/c')
    const others = keys.filter((key) => !key.startsWith('/registry/configmaps/'))
    expect(others.filter((key) => key.split('/').length > 4)).toEqual([])
    expect((await server.ok('GET', '/api/v1/namespaces/default/events')).items).toHaveLength(1)
  })

  it('a key is rotated: the new one reads both, an update that changes nothing rewrites, then the old one can go', async () => {
    const [a, b] = [{ k1: 'a' }, { k2: 'b' }]
    await using at = await started([provider('aesgcm', a)])
    const { server } = at
    const made = await server.ok('POST', secrets, { body: secret('s') })
    const write = (...providers: unknown[]): string =>
      at.file('enc.yaml', encryptionConfig('k8s.io', { resources: ['secrets'], providers }))
    const flags = [configFlag(write(provider('aesgcm', { ...b, ...a })))]
    await at.between(async () => {}, flags)
    expect(await server.ok('GET', `${secrets}/s`)).toEqual(made)
    expect(await at.stored(keyOf('s'))).toContain(':k1:')
    const dry = await server.ok('PUT', `${secrets}/s?dryRun=All`, { body: made })
    expect(dry.metadata.resourceVersion).toBe(made.metadata.resourceVersion)
    expect(await at.stored(keyOf('s'))).toContain(':k1:')

    const rewritten = await server.ok('PUT', `${secrets}/s`, { body: made })
    expect(rewritten.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion)
    expect(rewritten.data).toEqual(made.data)
    expect(await at.stored(keyOf('s'))).toContain(':k2:')
    // Once is enough: what is in the newest form is not written again.
    const again = await server.ok('PUT', `${secrets}/s`, { body: rewritten })
    expect(again.metadata.resourceVersion).toBe(rewritten.metadata.resourceVersion)

    write(provider('aesgcm', b))
    await at.between(async () => {})
    expect((await server.ok('GET', `${secrets}/s`)).data).toEqual(made.data)
  })

  it('what was stored before is read by identity, and encrypted when it is written', async () => {
    await using at = await startStoredServer()
    const { server } = at
    const made = await server.ok('POST', secrets, { body: secret('s') })
    const path = at.file(
      'enc.yaml',
      encryptionConfig('k8s.io', {
        resources: ['secrets'],
        providers: [provider('secretbox', { k1: 'a' }), identity],
      }),
    )
    await at.between(async () => {}, [configFlag(path)])
    expect(await at.stored(keyOf('s'))).toContain(encoded)
    await server.ok('PATCH', `${secrets}/s`, {
      body: {},
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(await at.stored(keyOf('s'))).toMatch(/^k8s:enc:secretbox:v1:k1:/)
    expect((await server.ok('GET', `${secrets}/s`)).data).toEqual(made.data)
    // And back: identity first decrypts with the next write.
    at.file(
      'enc.yaml',
      encryptionConfig('k8s.io', {
        resources: ['secrets'],
        providers: [identity, provider('secretbox', { k1: 'a' })],
      }),
    )
    await at.between(async () => {})
    await server.ok('PUT', `${secrets}/s`, { body: await server.ok('GET', `${secrets}/s`) })
    expect(await at.stored(keyOf('s'))).toContain(encoded)
  })

  it('metrics count what is encrypted and decrypted, by resource, provider and status', async () => {
    await using at = await started([provider('aesgcm', { k1: 'a' }), identity])
    const { server } = at
    await server.ok('POST', secrets, { body: secret('s') })
    const lines = async (): Promise<string[]> => {
      const { text } = await server.request('GET', '/metrics')
      return text
        .split('\n')
        .filter((line) => /^apiserver_storage_transformation_\w+_(total|count)/.test(line))
    }
    const gcm = 'transformer_prefix="k8s:enc:aesgcm:v1:"'
    const name = 'apiserver_storage_transformation_operations_total'
    expect(await lines()).toContain(
      `${name}{resource="secrets",transformation_type="to_storage",${gcm},status="OK"} 1`,
    )
    expect(await lines()).toContain(
      `apiserver_storage_transformation_duration_seconds_count{transformation_type="to_storage",${gcm}} 1`,
    )
    at.file(
      'enc.yaml',
      encryptionConfig('k8s.io', {
        resources: ['secrets'],
        providers: [provider('aesgcm', { k1: 'b' })],
      }),
    )
    await at.between(async () => {})
    await server.request('GET', secrets)
    expect((await lines()).join('\n')).toContain(
      `${name}{resource="secrets",transformation_type="from_storage",${gcm},status="unknown-non-grpc"}`,
    )
    expect((await lines()).join('\n')).not.toContain('transformation_duration_seconds_count')
  })

  it('watches show plain objects, with the previous state of what is deleted', async () => {
    await using at = await started([provider('aesgcm', { k1: 'a' })])
    const { server } = at
    const watch = await server.watch(`${secrets}?watch=1`)
    const made = await server.ok('POST', secrets, { body: secret('s') })
    await server.ok('DELETE', `${secrets}/s`)
    const [added, deleted] = await watch.take(2)
    expect(added).toEqual({ type: 'ADDED', object: made })
    expect(deleted?.object.data).toEqual(made.data)
  })

  it('a faulty file, or the reload flag without one, keeps the server from starting', async () => {
    const start = async (...flags: string[]): Promise<unknown> => await startApiServer({ flags })
    await expect(start(configFlag('/nowhere/enc.yaml'))).rejects.toThrow(
      /^--encryption-provider-config: error reading encryption provider configuration file "\/nowhere\/enc.yaml": ENOENT/,
    )
    await expect(start('--encryption-provider-config-automatic-reload')).rejects.toThrow(
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    )
    await using at = await startStoredServer()
    const bad = at.file('bad.yaml', encryptionConfig('k8s.io'))
    await expect(start(configFlag(bad))).rejects.toThrow(
      '--encryption-provider-config: error while parsing file: resources: Required value',
    )
  })
})

describe('automatic reload', () => {
  const config = (...providers: unknown[]): string =>
    encryptionConfig('k8s.io', { resources: ['secrets'], providers })

  it('takes up new keys within a minute, keeps the last good ones, and finds what became readable or not', async () => {
    const clock = new FakeClock(Date.now())
    await using at = await startStoredServer({
      clock,
      files: { 'enc.yaml': config(provider('aesgcm', { k1: 'a' })) },
      flags: (path) => [
        configFlag(path('enc.yaml')),
        '--encryption-provider-config-automatic-reload',
      ],
    })
    const { server } = at
    const list = async (): Promise<string[]> =>
      (await server.ok('GET', secrets)).items.map(
        ({ metadata, data }: { metadata: { name: string }; data: { password: string } }) =>
          `${metadata.name} ${data.password === encoded}`,
      )
    const both = ['first true', 'second true']
    await server.ok('POST', secrets, { body: secret('first') })
    const outcomes = async (): Promise<string> => {
      const { text } = await server.request('GET', '/metrics')
      const counts = text
        .split('\n')
        .filter((line) =>
          line.startsWith('apiserver_encryption_config_controller_automatic_reloads_total{'),
        )
      return counts
        .map((line) => line.replace(/.*status="(\w+)"\} /, '$1 '))
        .toSorted()
        .join(', ')
    }
    const reloaded = async (text: string, expected: string): Promise<void> => {
      at.file('enc.yaml', text)
      await clock.step(61_000)
      await eventually(async () => expect(await outcomes()).toBe(expected))
    }
    await reloaded(config(provider('aesgcm', { k2: 'b', k1: 'a' })), 'success 1')
    const second = await server.ok('POST', secrets, { body: secret('second') })
    expect(await list()).toEqual(both)

    await reloaded('kind: Nonsense', 'failure 1, success 1')
    expect(await list()).toEqual(both)

    const watch = await server.watch(
      `${secrets}?watch=1&resourceVersion=${second.metadata.resourceVersion}`,
    )
    await reloaded(config(provider('aesgcm', { k2: 'b' })), 'failure 1, success 2')
    // Nobody could tell this watch what becomes of the one that cannot be read.
    await watch.ended
    expect((await server.request('GET', `${secrets}/first`)).status).toBe(500)
    expect(await server.ok('GET', `${secrets}/second`)).toEqual(second)
    expect((await server.request('GET', secrets)).status).toBe(500)
    expect((await server.request('GET', `${secrets}?watch=1`)).status).toBe(429)

    await reloaded(
      config(provider('aesgcm', { k1: 'a' }), provider('aesgcm', { k2: 'b' })),
      'failure 1, success 3',
    )
    expect(await list()).toEqual(both)
    await server.watch(`${secrets}?watch=1`)
  })

  it('without the flag the file is read once', async () => {
    const clock = new FakeClock(Date.now())
    await using at = await startStoredServer({
      clock,
      files: { 'enc.yaml': config(provider('aesgcm', { k1: 'a' })) },
      flags: (path) => [configFlag(path('enc.yaml'))],
    })
    const made = await at.server.ok('POST', secrets, { body: secret('s') })
    at.file('enc.yaml', config(provider('aesgcm', { k2: 'b' })))
    await clock.step(180_000)
    expect(await at.server.ok('GET', `${secrets}/s`)).toEqual(made)
    await at.server.ok('POST', secrets, { body: secret('t') })
    at.file('enc.yaml', config(provider('aesgcm', { k1: 'a' })))
    expect(await at.stored(keyOf('t'))).toContain(':k1:')
  })
})
