/** API servers whose Events and Leases lie in another etcd than everything else (--etcd-servers-overrides). */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Store } from '../../components/store/store.ts'
import { startChildApiServer, type ChildApiServer } from '../support/child-api-server.ts'
import { openTestStore, requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const configMaps = '/api/v1/namespaces/default/configmaps'
const events = '/api/v1/namespaces/default/events'

function configMap(name: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
}

function event(name: string) {
  const involvedObject = { kind: 'ConfigMap', name: 'a', namespace: 'default' }
  return { metadata: { name }, involvedObject, message: name }
}

async function ownEtcd(): Promise<{ etcd: TestEtcd; raw: Store }> {
  const etcd = await startEtcd()
  ends.push(() => etcd.kill())
  const raw = await openTestStore(etcd.url, { prefix: '/registry' })
  ends.push(() => raw.close())
  return { etcd, raw }
}

/** Two etcds, with revisions that are far apart. */
async function twoEtcds() {
  const [main, other] = [await ownEtcd(), await ownEtcd()]
  for (let at = 0; at < 2000; at += 1) {
    await other.raw.txn({ key: `none/${at}`, expectedRevision: 0, value: Buffer.alloc(0) })
  }
  const overrides = `/events#${other.etcd.url},coordination.k8s.io/leases#${other.etcd.url}`
  const flags = [`--etcd-servers=${main.etcd.url}`, `--etcd-servers-overrides=${overrides}`]
  return { main, other, flags }
}

async function start(store: readonly string[]): Promise<ChildApiServer> {
  const server = await startChildApiServer({ store, flags: ['--log-level=warn'] })
  ends.push(() => server[Symbol.asyncDispose]())
  return server
}

async function namesIn(store: Store, prefix: string): Promise<string[]> {
  const { kvs } = await store.range({ prefix })
  return kvs.map(({ key }) => key.slice(prefix.length))
}

function namesOf({ body }: { body: { items: { metadata: { name: string } }[] } }): string[] {
  return body.items.map(({ metadata }) => metadata.name)
}

requireEtcd()('resources with an etcd of their own', () => {
  test('lie there under the usual keys, with the revisions of that etcd, and nowhere else', async () => {
    const { main, other, flags } = await twoEtcds()
    const stale = { key: 'events/default/stale', expectedRevision: 0, value: Buffer.from('{}') }
    await main.raw.txn(stale)
    const server = await start(flags)
    const made = await server.request('POST', events, { body: event('one') })
    expect(made.status).toBe(201)
    const kept = await server.request('POST', configMaps, { body: configMap('a') })
    expect(await namesIn(other.raw, 'events/')).toEqual(['default/one'])
    expect((await namesIn(other.raw, 'leases/')).length).toBeGreaterThan(0)
    expect(await namesIn(other.raw, 'configmaps/default/')).toEqual([])
    expect(await namesIn(main.raw, 'configmaps/default/')).toContain('a')
    expect(await namesIn(main.raw, 'events/')).toEqual(['default/stale'])
    expect(await namesIn(main.raw, 'leases/')).toEqual([])
    const revisionIn = async (store: Store, key: string) =>
      String((await store.get(key))?.modRevision)
    expect(made.body.metadata.resourceVersion).toBe(
      await revisionIn(other.raw, 'events/default/one'),
    )
    expect(kept.body.metadata.resourceVersion).toBe(
      await revisionIn(main.raw, 'configmaps/default/a'),
    )
    expect(namesOf(await server.request('GET', events))).toEqual(['one'])
    const eventsList = '/apis/events.k8s.io/v1/namespaces/default/events'
    expect(namesOf(await server.request('GET', eventsList))).toEqual(['one'])

    await server.kill()
    expect(namesOf(await server.request('GET', events))).toEqual(['one'])
    expect((await server.request('PUT', `${events}/one`, { body: made.body })).status).toBe(200)
    expect((await server.request('DELETE', `${events}/one`)).status).toBe(200)
    expect(await namesIn(other.raw, 'events/')).toEqual([])
    expect(server.errors).not.toContain('cannot be read')
  })

  test('are read at their own revisions: consistent lists, exact ones, pages and watches that resume', async () => {
    const { flags } = await twoEtcds()
    const [one, two] = [await start(flags), await start(flags)]
    const first = (await one.request('GET', events)).body.metadata.resourceVersion as string
    const watch = await two.watch(`${events}?watch=1&resourceVersion=${first}`)
    for (const name of ['a', 'b', 'c']) {
      expect((await one.request('POST', events, { body: event(name) })).status).toBe(201)
      // The other server must have seen it, although its configMaps are much newer or older.
      expect(namesOf(await two.request('GET', events))).toContain(name)
      await two.request('POST', configMaps, { body: configMap(name) })
      expect(namesOf(await one.request('GET', configMaps))).toContain(name)
    }
    const seen = await watch.take(3)
    expect(seen.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED a',
      'ADDED b',
      'ADDED c',
    ])
    watch.close()
    // A new namespace, which lies in the other etcd than its Events.
    for (const [maker, user] of [
      [one, two],
      [two, one],
    ] as const) {
      const namespace = `of-${maker.pid}`
      const body = { metadata: { name: namespace } }
      expect((await maker.request('POST', '/api/v1/namespaces', { body })).status).toBe(201)
      const path = events.replace('default', namespace)
      const inside = {
        ...event('first'),
        involvedObject: { kind: 'ConfigMap', name: 'a', namespace },
      }
      expect((await user.request('POST', path, { body: inside })).status).toBe(201)
    }
    const at = seen[0]?.object.metadata.resourceVersion as string
    const exact = `${events}?resourceVersion=${at}&resourceVersionMatch=Exact`
    expect(namesOf(await two.request('GET', exact))).toEqual(['a'])
    const page = await one.request('GET', `${events}?limit=2`)
    await one.request('POST', events, { body: event('d') })
    const rest = await two.request(
      'GET',
      `${events}?limit=2&continue=${page.body.metadata.continue}`,
    )
    expect([...namesOf(page), ...namesOf(rest)]).toEqual(['a', 'b', 'c'])
    expect(rest.body.metadata.resourceVersion).toBe(page.body.metadata.resourceVersion)

    await two.kill()
    const again = await two.watch(`${events}?watch=1&resourceVersion=${at}`)
    const missed = await again.take(3)
    expect(missed.map(({ object }) => object.metadata.name)).toEqual(['b', 'c', 'd'])
    again.close()
  })

  test('have health checks and a size of their own, and the rest works while their etcd is away', async () => {
    const { other, flags } = await twoEtcds()
    const server = await start(flags)
    await server.request('POST', events, { body: event('one') })
    const { text } = await server.request('GET', '/readyz?verbose')
    expect(text).toContain('[+]etcd-override-0 ok')
    expect(text).toContain('[+]etcd-override-readiness-0 ok')
    await eventually(async () => {
      const metrics = (await server.request('GET', '/metrics')).text
      expect(metrics).toMatch(/^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} \d+$/m)
      expect(metrics).toMatch(/^apiserver_storage_size_bytes\{storage_cluster_id="etcd-1"\} \d+$/m)
      expect(metrics).toContain('apiserver_storage_objects{resource="events"} 1\n')
    })
    await other.raw.close()
    await other.etcd.kill()
    await eventually(async () => {
      const { status, text: away } = await server.request('GET', '/readyz?verbose')
      expect(status).toBe(500)
      expect(away).toContain('[-]etcd-override-0 failed')
      expect(away).toContain('[+]etcd ok')
    })
    // The first one in each namespace catches up with every etcd, to see its quotas.
    for (const namespace of ['default', 'kube-public', 'kube-system']) {
      const path = configMaps.replace('default', namespace)
      expect((await server.request('POST', path, { body: configMap('b') })).status).toBe(201)
    }
    expect(namesOf(await server.request('GET', `${events}?resourceVersion=0`))).toEqual(['one'])
    await other.etcd.restart()
    await eventually(async () => {
      expect((await server.request('GET', '/readyz')).status).toBe(200)
    })
    expect((await server.request('POST', events, { body: event('two') })).status).toBe(201)
  })

  test('expire in the etcd that they lie in', async () => {
    const { other, flags } = await twoEtcds()
    const server = await start([...flags, '--event-ttl=2s'])
    expect((await server.request('POST', events, { body: event('brief') })).status).toBe(201)
    await eventually(async () => {
      expect(await namesIn(other.raw, 'events/')).toEqual([])
    })
    expect(namesOf(await server.request('GET', events))).toEqual([])
  })

  test('keep a server from starting when the flag or their etcd is of no use', async () => {
    const { etcd } = await ownEtcd()
    const servers = `--etcd-servers=${etcd.url}`
    const given = (value: string): string => `--etcd-servers-overrides=${value}`
    await expect(start([servers, given('/events/http://127.0.0.1:1')])).rejects.toThrow(
      '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
    )
    await expect(start([servers, given('/events#127.0.0.1:1')])).rejects.toThrow(
      '--etcd-servers-overrides: ',
    )
    await expect(start(['--store=memory:', given(`/events#${etcd.url}`)])).rejects.toThrow(
      '--etcd-servers-overrides needs --etcd-servers: pass both',
    )
    const both = [servers, given(`/events#${etcd.url}`)]
    await expect(start([...both, '--print-state=backup'])).rejects.toThrow(
      '--print-state and --etcd-servers-overrides cannot be combined: ',
    )
    await expect(start([...both, '--initial-state=/none'])).rejects.toThrow(
      '--initial-state and --etcd-servers-overrides cannot be combined: ',
    )
  })

  test('go with their namespace in a whole cluster, which says that it cannot be saved', async () => {
    const [main, other] = [await ownEtcd(), await ownEtcd()]
    // The judge compares revisions of all kinds.
    const place = createPlace({ isJudged: false })
    ends.push(() => place[Symbol.asyncDispose]())
    const { client } = await place.up('apart', [
      ...['--etcd-servers', main.etcd.url, '--nodes', '1'],
      ...['--set', `api-server.etcd-servers-overrides=/events#${other.etcd.url}`],
    ])
    const { namespaces, events: eventsOf } = resourcesOf(client.dialect)
    const namespace = 'short'
    await client.resource(namespaces).create({ metadata: { name: namespace } })
    const involvedObject = { kind: 'ConfigMap', name: 'a', namespace }
    await client
      .resource(eventsOf)
      .create({ metadata: { name: 'one', namespace }, involvedObject, message: '' } as KubeObject)
    expect(await namesIn(other.raw, 'events/short/')).toContain('one')
    await client.resource(namespaces).delete({ name: namespace })
    await eventually(async () => {
      expect(await namesIn(main.raw, 'namespaces/')).not.toContain(namespace)
    })
    expect(await namesIn(other.raw, 'events/short/')).toEqual([])
    // Those of nodes, from components that know nothing of it.
    expect((await namesIn(other.raw, 'events/')).length).toBeGreaterThan(0)
    expect(await namesIn(main.raw, 'events/')).toEqual([])

    const file = join(place.root, 'file')
    for (const words of [
      ['save', 'apart', file],
      ['backup', '--name', 'apart', file],
    ]) {
      const { code, stderr } = await place.run(words)
      expect(code).not.toBe(0)
      expect(stderr).toContain('a saved cluster or backup holds all objects at one revision')
    }
    expect(place.leftovers()).not.toContain('file')
  })
})
