/** A client against a real API server that has forgotten the place where the client was. */
import { expect, it } from 'vitest'
import { createClient } from '../../components/client/client.ts'
import { createInformer } from '../../components/client/informer.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { startApiServer } from '../support/api-server.ts'
import { eventually } from '../support/eventually.ts'

const { configMaps } = resourcesOf(dialects.kubernetes)

it('[ERR-018] after a 410 an informer drops what is gone, lists and watches again; a paged list starts over', async () => {
  await using server = await startApiServer({ store: 'sqlite' })
  const namespace = await server.namespace('ns')
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const make = async (name: string) =>
    await server.ok('POST', path, { body: { metadata: { name } } })
  for (const name of ['a', 'b', 'c']) await make(name)

  const { port, pki } = server
  const shown = server.credential({ user: 'informer', groups: ['system:masters'] })
  const client = createClient({
    server: `https://127.0.0.1:${port}`,
    ca: pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
  const informer = createInformer({
    client: client.resource(configMaps),
    selection: { namespace },
    clock: systemClock,
    log: silentLog,
  })
  const events: string[] = []
  informer.onEvent(({ type, object }) => events.push(`${type} ${object.metadata.name ?? ''}`))
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await informer.ready
  expect(events).toEqual(['add a', 'add b', 'add c'])
  const first = await server.ok('GET', `${path}?limit=1`)

  // What the client has missed is compacted away: it is told 410.
  const removed = `/registry/configmaps/${namespace}/b`
  await server.restartWith(
    async (store) => {
      const there = await store.get(removed)
      await store.txn({ key: removed, expectedRevision: there?.modRevision ?? 0, value: null })
      await store.compact(await store.revision())
    },
    [`--secure-port=${port}`],
  )
  await eventually(() => expect(events).toContain('delete b'))
  expect(informer.list().map(keyOf)).toEqual([`${namespace}/a`, `${namespace}/c`])
  await make('d')
  await eventually(() => expect(events).toEqual([...events.slice(0, 3), 'delete b', 'add d']))
  const verbs = server
    .audit()
    .filter(({ user, responseStatus }) => user.username === 'informer' && responseStatus.code < 300)
    .map(({ verb }) => verb)
  expect(verbs.filter((verb) => verb === 'list')).toHaveLength(2)

  const page = `${path}?limit=1&continue=${encodeURIComponent(first.metadata.continue)}`
  const refused = await server.request('GET', page)
  expect([refused.status, refused.body.reason]).toEqual([410, 'Expired'])
  const { items } = await server.ok('GET', path)
  expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
    'a',
    'c',
    'd',
  ])
  stop.abort()
  await running
  client.close()
})
