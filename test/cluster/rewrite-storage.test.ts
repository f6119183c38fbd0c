/** Rewriting what is stored, against a real API server on a store file. */
import { describe, expect, it } from 'vitest'
import { rewriteStorage } from '../../cluster/rewrite-storage.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import type { TestApiServer } from '../support/api-server.ts'
import { encryptionConfig, provider, startStoredServer } from '../support/raw-store.ts'

const nothing = (): void => {}

function clientOf(server: TestApiServer): Client {
  const shown = server.credential({ user: 'operator', groups: ['system:masters'] })
  return createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects[server.dialect.name],
  })
}

async function withClient<T>(
  server: TestApiServer,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = clientOf(server)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

describe.each(['kubernetes', 'svc'] as const)('rewriting, %s', (dialect) => {
  const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
  const prefix = dialect === 'svc' ? 'svc:enc:' : 'k8s:enc:'
  const config = (...providers: unknown[]): string =>
    encryptionConfig(domain, { resources: ['secrets', 'configmaps'], providers })

  it('stores each object with the first key, once; then the old key can go', async () => {
    await using at = await startStoredServer({ dialect })
    const { server } = at
    const made = Array.from({ length: 300 }, (_, i) => `s${String(i).padStart(3, '0')}`)
    // At once: they share flushes of the disk, each of which may take long.
    const create = async (name: string): Promise<void> => {
      const body = { metadata: { name }, stringData: { a: name } }
      await server.ok('POST', '/api/v1/namespaces/default/secrets', { body })
    }
    await Promise.all(made.map(create))
    await server.ok('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'c' }, data: { a: 'b' } },
    })
    const path = at.file('enc.yaml', config(provider('secretbox', { k: 'k' }), { identity: {} }))
    await at.between(async () => {}, [`--encryption-provider-config=${path}`])
    const seen: string[] = []
    const [secrets] = await withClient(server, (client) =>
      rewriteStorage(client, {
        names: ['secret'],
        progress: (resource, done, total) => void seen.push(`${resource} ${done}/${total}`),
      }),
    )
    expect(secrets).toEqual({
      resource: 'secrets',
      objects: 300,
      rewritten: 300,
      unchanged: 0,
      failed: [],
    })
    expect(seen.at(-1)).toBe('secrets 300/300')
    expect(seen[0]).toBe('secrets 16/300')
    const all = await withClient(server, (client) =>
      rewriteStorage(client, { names: [], progress: nothing }),
    )
    const of = (name: string) => all.find(({ resource }) => resource === name)
    expect(of('secrets')).toMatchObject({ objects: 300, rewritten: 0, unchanged: 300 })
    // Those of the server itself, in the system's namespace, too.
    expect(of('configmaps')?.rewritten).toBeGreaterThanOrEqual(2)
    expect(all.flatMap(({ failed }) => failed)).toEqual([])
    expect(all.map(({ resource }) => resource)).toContain(`roles.rbac.authorization.${domain}`)
    expect(new Set(all.map(({ resource }) => resource)).size).toBe(all.length)

    at.file('enc.yaml', config(provider('secretbox', { k: 'k' })))
    const plain = await at.between(async (store) => {
      const { kvs } = await store.range({ prefix: '/registry/core/' })
      return kvs.filter(
        ({ key, value }) =>
          /\/(secrets|configmaps)\//.test(key) &&
          !value.toString('latin1').startsWith(`${prefix}secretbox:v1:k:`),
      )
    })
    expect(plain).toEqual([])
    expect((await server.ok('GET', '/api/v1/namespaces/default/secrets')).items).toHaveLength(300)
  })
})

describe('rewriting', () => {
  it('tells what fails and goes on', async () => {
    await using at = await startStoredServer()
    const { server } = at
    await server.ok('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'c' } },
    })
    await at.between(async (store) => {
      const key = '/registry/secrets/default/broken'
      await store.txn({ key, expectedRevision: 0, value: Buffer.from('x') })
    })
    const results = await withClient(server, (client) =>
      rewriteStorage(client, { names: ['secrets', 'cm'], progress: nothing }),
    )
    expect(results).toMatchObject([
      {
        resource: 'secrets',
        failed: [
          { name: '', message: expect.stringContaining('unable to transform key') as string },
        ],
      },
      { resource: 'configmaps', rewritten: 0, failed: [] },
    ])
    await expect(
      withClient(server, (client) =>
        rewriteStorage(client, { names: ['nosuch'], progress: nothing }),
      ),
    ).rejects.toThrow('the API server stores no resource "nosuch"')
  })
})
