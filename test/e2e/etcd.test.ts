/** An API server's process that keeps its state in a real etcd. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startChildApiServer, type ChildApiServer } from '../support/child-api-server.ts'
import { openTestStore, requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpMiddle } from '../support/tcp-middle.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTestPki } from '../support/tls.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const configMaps = '/api/v1/namespaces/default/configmaps'

function configMap(name: string, data: Record<string, string> = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
}

interface SecureEtcd {
  readonly etcd: TestEtcd
  readonly flags: string[]
  /** Puts certificates of a new authority in the place of all. */
  renew(): void
}

async function secureEtcd(): Promise<SecureEtcd> {
  const folder = temporaryFolder('etcd-pki')
  const path = (name: string): string => join(folder, name)
  const renew = (): void => {
    const pki = createTestPki()
    const client = pki.client('skiff')
    const contents = {
      'ca.crt': pki.caPem,
      'server.crt': pki.server.cert,
      'server.key': pki.server.key,
      'client.crt': client.cert,
      'client.key': client.key,
    }
    for (const [name, content] of Object.entries(contents)) {
      writeFileSync(path(name), content, { mode: 0o600 })
    }
  }
  renew()
  const etcd = await startEtcd(
    [
      `--cert-file=${path('server.crt')}`,
      `--key-file=${path('server.key')}`,
      `--trusted-ca-file=${path('ca.crt')}`,
      '--client-cert-auth',
    ],
    'https',
  )
  ends.push(() => etcd.kill())
  const flags = [
    `--etcd-servers=${etcd.url}`,
    `--etcd-cafile=${path('ca.crt')}`,
    `--etcd-certfile=${path('client.crt')}`,
    `--etcd-keyfile=${path('client.key')}`,
    '--etcd-prefix=/clusters/one',
  ]
  return { etcd, flags, renew }
}

async function start(store: readonly string[]): Promise<ChildApiServer> {
  const server = await startChildApiServer({ store })
  ends.push(() => server[Symbol.asyncDispose]())
  return server
}

requireEtcd()('an API server on etcd', () => {
  test('serves reads, writes, applies and watches, and has everything after it was killed', async () => {
    const { flags } = await secureEtcd()
    const server = await start(flags)
    await eventually(async () => {
      expect((await server.request('GET', '/api/v1/namespaces/default')).status).toBe(200)
    })
    const created = await server.request('POST', configMaps, { body: configMap('a', { k: '1' }) })
    expect(created.status).toBe(201)
    const { resourceVersion } = created.body.metadata
    const watch = await server.watch(`${configMaps}?watch=1&resourceVersion=${resourceVersion}`)
    const applied = await server.request('PATCH', `${configMaps}/a?fieldManager=t&force=true`, {
      body: configMap('a', { k: '2' }),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })
    expect(applied.status).toBe(200)
    expect(await watch.next()).toMatchObject({ type: 'MODIFIED', object: { data: { k: '2' } } })
    const late = { ...configMap('a'), metadata: { name: 'a', resourceVersion } }
    expect((await server.request('PUT', `${configMaps}/a`, { body: late })).status).toBe(409)
    await server.request('POST', configMaps, { body: configMap('b') })
    expect((await server.request('DELETE', `${configMaps}/b`)).status).toBe(200)
    watch.close()
    const before = await server.request('GET', configMaps)

    await server.kill()
    const after = await server.request('GET', configMaps)
    expect(after.body.items).toEqual(before.body.items)
    const again = await server.watch(`${configMaps}?watch=1&resourceVersion=${resourceVersion}`)
    const events = await again.take(3)
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'MODIFIED a',
      'ADDED b',
      'DELETED b',
    ])
    again.close()
  })

  test('keeps objects where a kube-apiserver does, and leaves keys alone that are none', async () => {
    const etcd = await startEtcd()
    ends.push(() => etcd.kill())
    const raw = await openTestStore(etcd.url, { prefix: '/' })
    ends.push(() => raw.close())
    const others = {
      'registry/masterleases/10.0.0.1': 'k8s\0...',
      'registry/ranges/others': 'k8s\0...',
      'registry/podsecuritypolicy/a': 'k8s\0...',
      'registry/services/others/a/b': '{',
      'kubernetes.io/a': 'x',
      'registry-of-others/pods/default/a': 'x',
    }
    for (const [key, text] of Object.entries(others))
      await raw.txn({ key, expectedRevision: 0, value: Buffer.from(text) })
    const server = await start([`--etcd-servers=${etcd.url}`, '--log-level=warn'])
    const created = await server.request('POST', configMaps, { body: configMap('a', { k: '1' }) })
    expect(created.status).toBe(201)
    const kv = await raw.get('registry/configmaps/default/a')
    expect(kv?.value.toString('latin1')).toMatch(/^k8s\0[^]*ConfigMap/)
    expect(String(kv?.modRevision)).toBe(created.body.metadata.resourceVersion)
    await server.kill()
    expect((await server.request('GET', `${configMaps}/a`)).body).toEqual(created.body)
    for (const [key, text] of Object.entries(others))
      expect(String((await raw.get(key))?.value)).toBe(text)
    expect(server.errors).not.toContain('cannot be read')
  })

  test('waits out a restart of etcd, and goes on', async () => {
    const { etcd, flags } = await secureEtcd()
    const server = await start(flags)
    await server.request('POST', configMaps, { body: configMap('a') })
    const watch = await server.watch(`${configMaps}?watch=1`)
    await watch.next()
    await etcd.kill()
    await eventually(async () => {
      expect((await server.request('GET', '/readyz')).status).toBe(500)
    })
    expect((await server.request('GET', `${configMaps}/a?resourceVersion=0`)).status).toBe(200)
    await etcd.restart()
    await eventually(async () => {
      expect((await server.request('GET', '/readyz')).status).toBe(200)
    })
    expect((await server.request('POST', configMaps, { body: configMap('b') })).status).toBe(201)
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } })
    watch.close()
  })

  test('uses renewed certificates, without a restart', async () => {
    const { etcd, flags, renew } = await secureEtcd()
    const server = await start(flags)
    await server.request('POST', configMaps, { body: configMap('a') })
    await etcd.kill()
    renew()
    await etcd.restart()
    await eventually(async () => {
      expect((await server.request('GET', '/readyz')).status).toBe(200)
    })
    expect((await server.request('POST', configMaps, { body: configMap('b') })).status).toBe(201)
  })

  test('deletes Events when their time has come, and shows the size of the storage', async () => {
    const etcd = await startEtcd()
    ends.push(() => etcd.kill())
    const server = await start([`--store=etcd:${etcd.url}`, '--event-ttl=2s'])
    const events = '/api/v1/namespaces/default/events'
    const from = (await server.request('GET', events)).body.metadata.resourceVersion as string
    const watch = await server.watch(`${events}?watch=1&resourceVersion=${from}`)
    const event = {
      metadata: { name: 'brief' },
      involvedObject: { kind: 'ConfigMap', name: 'a', namespace: 'default' },
    }
    expect((await server.request('POST', events, { body: event })).status).toBe(201)
    const seen = (await watch.take(2)).map(({ type, object }) => `${type} ${object.metadata.name}`)
    expect(seen).toEqual(['ADDED brief', 'DELETED brief'])
    expect((await server.request('GET', `${events}/brief`)).status).toBe(404)
    const { text } = await server.request('GET', '/metrics')
    const size = /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} (\d+)$/m.exec(text)
    expect(Number(size?.[1])).toBeGreaterThan(10_000)
    watch.close()
  })

  test('reads the state anew when history was compacted while it could not reach etcd', async () => {
    const etcd = await startEtcd()
    ends.push(() => etcd.kill())
    const between = await startTcpMiddle(Number(new URL(etcd.url).port))
    ends.push(() => between.close())
    const server = await start([`--store=etcd:http://127.0.0.1:${between.port}`])
    const other = await start([`--store=etcd:${etcd.url}`])
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    const binding = {
      metadata: { name: 'ann-reads' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
    }
    await server.request('POST', roles, { body: binding })
    for (const name of ['a', 'b']) {
      await server.request('POST', configMaps, { body: configMap(name) })
    }
    const ann = { as: { user: 'ann' } }
    expect((await server.request('GET', configMaps, ann)).status).toBe(200)
    const { resourceVersion } = (await server.request('GET', configMaps)).body.metadata
    const from = `${configMaps}?watch=1&resourceVersion=${resourceVersion}`
    const watch = await server.watch(from)

    await between.close()
    for (const path of [`${roles}/ann-reads`, `${configMaps}/a`]) {
      expect((await other.request('DELETE', path)).status).toBe(200)
    }
    await other.request('POST', configMaps, { body: configMap('c') })
    const store = await openTestStore(etcd.url)
    await store.compact(await store.revision())
    await store.close()
    await between.open()

    await watch.ended
    expect(watch.waiting).toEqual([])
    expect(await (await server.watch(from)).next()).toMatchObject({
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    })
    const { items } = (await server.request('GET', configMaps)).body
    const names = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    expect(names.filter((name) => name.length === 1)).toEqual(['b', 'c'])
    // What the server itself derives from objects follows, too.
    expect((await server.request('GET', configMaps, ann)).status).toBe(403)
    expect((await server.request('POST', configMaps, { body: configMap('d') })).status).toBe(201)
  })

  test('does not start when it cannot use etcd, and says why', async () => {
    const { etcd, flags } = await secureEtcd()
    const servers = `--etcd-servers=${etcd.url}`
    await expect(start([servers])).rejects.toThrow(/does not take part in TLS/)
    await expect(start([...flags, '--store=memory:'])).rejects.toThrow(
      '--store=memory: and --etcd-servers cannot be combined: pass one of them',
    )
    await expect(start([servers, '--etcd-certfile=client.crt'])).rejects.toThrow('--etcd-certfile')
  })
})
