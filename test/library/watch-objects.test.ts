/** Watches of the library: what is there, every change, and what changed while the server had forgotten the place. */
import { describe, expect, it } from 'vitest'
import { createObjectClient, objectClientOver } from '../../library/object-client.ts'
import type { KubernetesObject, ObjectClient, WatchEvent } from '../../library/types.ts'
import { startApiServer } from '../support/api-server.ts'
import type { TestApiServer } from '../support/api-server.ts'
import { define, definitionsPath } from '../support/custom-definitions.ts'
import { connectionTo, counting, optionsOf } from './place.ts'

const shown = ({ type, object }: WatchEvent): string => `${type} ${object.metadata?.name ?? ''}`

/** The next events of an open watch. */
async function take(
  watch: AsyncIterator<WatchEvent>,
  count: number,
): Promise<(string | undefined)[]> {
  const events: string[] = []
  while (events.length < count) {
    const { value, done } = await watch.next()
    if (done === true) break
    events.push(shown(value as WatchEvent))
  }
  return events
}

const configMap = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'a' } },
  data,
})

function begin(api: ObjectClient, options?: { signal: AbortSignal }): AsyncIterator<WatchEvent> {
  return api.watch({ kind: 'ConfigMap', labelSelector: 'app=a' }, options)[Symbol.asyncIterator]()
}

it('gives the objects there are as ADDED, and then every change', async () => {
  await using server = await startApiServer()
  using api = createObjectClient(optionsOf(server))
  await api.create(configMap('a'))
  await api.create(configMap('b'))
  await api.create({ kind: 'ConfigMap', metadata: { name: 'other' } })
  const watch = begin(api)
  expect(await take(watch, 2)).toEqual(['ADDED a', 'ADDED b'])
  await api.create(configMap('c'))
  await api.patch({ kind: 'ConfigMap', name: 'a' }, { data: { x: '1' } }, { type: 'merge' })
  await api.delete({ kind: 'ConfigMap', name: 'b' })
  expect(await take(watch, 3)).toEqual(['ADDED c', 'MODIFIED a', 'DELETED b'])
  await watch.return?.()
})

it('objects may be changed by who got them', async () => {
  await using server = await startApiServer()
  using api = createObjectClient(optionsOf(server))
  await api.create(configMap('a'))
  for await (const { object } of api.watch({ kind: 'ConfigMap', labelSelector: 'app=a' })) {
    object['data'] = { x: '1' }
    expect((await api.replace(object))['data']).toEqual({ x: '1' })
    break
  }
})

it('leaving the loop ends the watch', async () => {
  await using server = await startApiServer()
  using own = connectionTo(server)
  const { connection, progress } = counting(own)
  const api = objectClientOver(connection)
  await api.create(configMap('a'))
  const watch = begin(api)
  expect(await take(watch, 1)).toEqual(['ADDED a'])
  const next = take(watch, 1)
  await expect.poll(() => progress.begun).toBe(1)
  await api.create(configMap('b'))
  expect(await next).toEqual(['ADDED b'])
  expect(progress.ended).toBe(0)
  await watch.return?.()
  expect(progress).toMatchObject({ begun: 1, ended: 1 })
})

it('ends quietly when its signal aborts, and fails when the client is closed', async () => {
  await using server = await startApiServer()
  const api = createObjectClient(optionsOf(server))
  await api.create(configMap('a'))
  const stop = new AbortController()
  const watch = begin(api, { signal: stop.signal })
  expect(await take(watch, 1)).toEqual(['ADDED a'])
  const next = watch.next()
  stop.abort()
  expect(await next).toEqual({ value: undefined, done: true })

  const other = begin(api)
  await take(other, 1)
  const failing = other.next()
  api.close()
  await expect(failing).rejects.toMatchObject({ name: 'ConnectionError' })
})

it('who may not watch is told so', async () => {
  await using server = await startApiServer()
  using api = createObjectClient(optionsOf(server, { user: 'jane' }))
  await expect(begin(api).next()).rejects.toMatchObject({ reason: 'Forbidden' })
})

it('gives what changed meanwhile when the server has forgotten where it was', async () => {
  await using server = await startApiServer({ store: 'sqlite' })
  const { port } = server
  using api = createObjectClient(optionsOf(server))
  for (const name of ['a', 'b', 'c', 'd']) await api.create(configMap(name))
  const watch = begin(api)
  expect(await take(watch, 4)).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d'])

  // What happens behind the server's back, and is compacted away: the watch gets a 410.
  await server.restartWith(
    async (store) => {
      const keyOf = (name: string): string => `/registry/configmaps/default/${name}`
      const change = async (name: string, edit: (text: string) => string | null): Promise<void> => {
        const there = await store.get(keyOf(name))
        if (there === undefined) throw new Error(`no ${name} in the store`)
        const text = edit(Buffer.from(there.value).toString())
        const value = text === null ? null : Buffer.from(text)
        await store.txn({ key: keyOf(name), expectedRevision: there.modRevision, value })
      }
      await change('b', () => null)
      await change('c', (text) => text.replace('"labels":{"app":"a"}', '"labels":{"app":"b"}'))
      await change('d', (text) =>
        text.replace('"labels":{"app":"a"}', '"labels":{"app":"a","x":"y"}'),
      )
      await store.compact(await store.revision())
    },
    [`--secure-port=${port}`],
  )
  expect((await take(watch, 3)).toSorted()).toEqual(['DELETED b', 'DELETED c', 'MODIFIED d'])
  await api.create(configMap('e'))
  expect(await take(watch, 1)).toEqual(['ADDED e'])
  await watch.return?.()
})

describe('a definition that is deleted while nobody reads', () => {
  async function watchedBoats(server: TestApiServer, api: ObjectClient) {
    const path = `${definitionsPath(server)}/boats.watched.example.com`
    const make = async (scope: 'Namespaced' | 'Cluster'): Promise<void> => {
      await define(server, { group: 'watched.example.com', kind: 'Boat', scope })
      await api.create({ kind: 'Boat', metadata: { name: 'a' } })
    }
    await make('Namespaced')
    const watch = api.watch({ kind: 'Boat' })[Symbol.asyncIterator]()
    expect(await take(watch, 1)).toEqual(['ADDED a'])
    await server.ok('DELETE', path)
    await expect.poll(async () => (await server.request('GET', path)).status).toBe(404)
    return { watch, make }
  }

  it('takes its objects with it: they are reported as deleted, and then that there is no such kind', async () => {
    await using server = await startApiServer()
    using api = createObjectClient(optionsOf(server))
    const { watch } = await watchedBoats(server, api)
    expect(await take(watch, 1)).toEqual(['DELETED a'])
    await expect(watch.next()).rejects.toThrow('no such kind: Boat')
  })

  it('may come again in another scope, and the watch goes on', async () => {
    await using server = await startApiServer()
    using api = createObjectClient(optionsOf(server))
    const { watch, make } = await watchedBoats(server, api)
    await make('Cluster')
    expect(await take(watch, 2)).toEqual(['DELETED a', 'ADDED a'])
    await watch.return?.()
  })
})
