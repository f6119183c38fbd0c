import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { expired, forbidden, StatusError } from '../../components/machinery/objects/status-error.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'

const { pods, configMaps } = resourcesOf(dialects.kubernetes)
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function start(selection?: { namespace?: string; labelSelector?: string }) {
  const clock = new FakeClock()
  const cluster = new FakeCluster(clock)
  const factory = createInformerFactory(cluster.client(), clock, silentLog)
  const informer = factory.informer(pods, selection)
  const events: string[] = []
  informer.onEvent((event) => events.push(`${event.type} ${keyOf(event.object)}`))
  const run = () => {
    const stop = new AbortController()
    const done = factory.run(stop.signal)
    stops.push(async () => {
      stop.abort()
      await done
    })
  }
  return { clock, cluster, factory, informer, events, run }
}

const pod = (name: string, labels: Record<string, string> = {}) => ({
  metadata: { namespace: 'ns', name, labels },
})

describe('informer', () => {
  it('holds what the server has and tells every change in order', async () => {
    const { cluster, factory, informer, events, run } = start()
    cluster.seed(pods, pod('a'))
    run()
    await factory.ready()
    expect(events).toEqual(['add ns/a'])
    cluster.seed(pods, pod('b'))
    cluster.change(pods, 'ns/a', (object) => {
      object.metadata.labels = { x: 'y' }
    })
    cluster.remove(pods, 'ns/b')
    await settle()
    expect(events).toEqual(['add ns/a', 'add ns/b', 'update ns/a', 'delete ns/b'])
    expect(informer.get('ns/a')?.metadata.labels).toEqual({ x: 'y' })
    expect(informer.list()).toHaveLength(1)
    expect(Object.isFrozen(informer.get('ns/a')?.metadata)).toBe(true)
  })

  it('has no field owners in memory, of objects that were there and of those that come', async () => {
    const { cluster, factory, informer, run } = start()
    const managedFields = [{ manager: 'test', fieldsV1: { 'f:spec': {} } }]
    const owned = (name: string) => ({ metadata: { ...pod(name).metadata, managedFields } })
    cluster.seed(pods, owned('a'))
    run()
    await factory.ready()
    cluster.seed(pods, owned('b'))
    await settle()
    expect(informer.list().map(({ metadata }) => metadata)).toEqual([
      expect.objectContaining({ name: 'a' }),
      expect.objectContaining({ name: 'b' }),
    ])
    for (const { metadata } of informer.list()) expect(metadata).not.toHaveProperty('managedFields')
    expect(cluster.peek(pods, 'ns/b')?.metadata.managedFields).toEqual(managedFields)
  })

  it('keeps indexes through changes', async () => {
    const { cluster, factory, informer, run } = start()
    informer.addIndex('app', (object) => [object.metadata.labels?.['app'] ?? ''])
    cluster.seed(pods, pod('a', { app: 'one' }))
    cluster.seed(pods, pod('b', { app: 'one' }))
    run()
    await factory.ready()
    cluster.change(pods, 'ns/b', (object) => {
      object.metadata.labels = { app: 'two' }
    })
    cluster.remove(pods, 'ns/a')
    await settle()
    expect(informer.byIndex('app', 'one')).toEqual([])
    expect(informer.byIndex('app', 'two').map(keyOf)).toEqual(['ns/b'])
    expect(() => informer.byIndex('none', '')).toThrow('no index')
  })

  it('resumes an ended watch from where it was, without listing again', async () => {
    const { clock, cluster, factory, events, run } = start()
    run()
    await factory.ready()
    await settle()
    cluster.seed(pods, pod('a'))
    await settle()
    cluster.endWatches()
    cluster.seed(pods, pod('b'))
    await clock.step(100)
    expect(events).toEqual(['add ns/a', 'add ns/b'])
    expect(cluster.calls.filter(({ verb }) => verb === 'list')).toHaveLength(1)
  })

  it('lists again when the server has forgotten its place, and tells of what was deleted meanwhile', async () => {
    const { clock, cluster, factory, events, run } = start()
    cluster.seed(pods, pod('a'))
    cluster.seed(pods, pod('b'))
    run()
    await factory.ready()
    await settle()
    const away = cluster.react('*', 'pods', () => {
      throw new ConnectionError('refused', 'down')
    })
    cluster.endWatches(new ConnectionError('lost', 'down'))
    await settle()
    cluster.remove(pods, 'ns/a')
    cluster.seed(pods, pod('c'))
    cluster.compact()
    away()
    await clock.step(60_000)
    expect(events.toSorted()).toEqual(['add ns/a', 'add ns/b', 'add ns/c', 'delete ns/a'])
  })

  it('an object made anew under its name is told as deleted and added', async () => {
    const { clock, cluster, factory, events, run } = start()
    cluster.seed(pods, pod('a'))
    run()
    await factory.ready()
    await settle()
    cluster.endWatches(expired('too old'))
    cluster.remove(pods, 'ns/a')
    cluster.seed(pods, pod('a'))
    cluster.compact()
    await clock.step(60_000)
    expect(events).toEqual(['add ns/a', 'delete ns/a', 'add ns/a'])
  })

  it('tries again at once, then ever more slowly, while the server is away', async () => {
    const { clock, cluster, run, factory } = start()
    const tries: number[] = []
    const away = cluster.react('list', 'pods', () => {
      tries.push(clock.now())
      throw new ConnectionError('refused', 'down')
    })
    run()
    await clock.step(300_000)
    const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0))
    expect(gaps.slice(0, 4)).toEqual([50, 100, 200, 400])
    expect(gaps[4]).toBeGreaterThanOrEqual(800)
    expect(gaps[4]).toBeLessThanOrEqual(1600)
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(30_000)
    expect(gaps.at(-1)).toBeLessThanOrEqual(60_000)
    away()
    await clock.step(60_000)
    await factory.ready()
  })

  it('does not hammer a server that refuses it', async () => {
    const { clock, cluster, run } = start()
    cluster.react('watch', 'pods', () => {
      throw forbidden(pods, '', 'no')
    })
    run()
    await clock.step(60_000)
    const { length } = cluster.calls
    expect(length).toBeGreaterThan(3)
    expect(length).toBeLessThan(15)
  })

  it('waits as long as a busy server asks', async () => {
    const { clock, cluster, run } = start()
    const tries: number[] = []
    cluster.react('list', 'pods', () => {
      tries.push(clock.now())
      throw new StatusError('TooManyRequests', 'busy', { details: { retryAfterSeconds: 20 } })
    })
    run()
    await clock.step(30_000)
    expect(tries.map((at) => at - (tries[0] ?? 0))).toEqual([0, 20_000])
  })

  it('does not hammer a server whose every watch has expired', async () => {
    const { clock, cluster, run } = start()
    cluster.react('watch', 'pods', () => {
      throw expired('too old')
    })
    run()
    await clock.step(60_000)
    expect(cluster.calls.filter(({ verb }) => verb === 'watch').length).toBeLessThan(80)
  })

  it('starts over with the newest state when the server no longer knows its version', async () => {
    const { clock, cluster, factory, events, run } = start()
    run()
    await factory.ready()
    await settle()
    let refusals = 0
    cluster.react('list', 'pods', () => {
      refusals += 1
      if (refusals === 1) throw new StatusError('Timeout', 'Too large resource version')
    })
    cluster.endWatches(expired('too old'))
    cluster.seed(pods, pod('a'))
    cluster.compact()
    await clock.step(60_000)
    expect(refusals).toBe(2)
    expect(events).toEqual(['add ns/a'])
  })

  it('moves its place along bookmarks', async () => {
    const { clock, cluster, factory, run } = start()
    run()
    await factory.ready()
    await settle()
    // Changes elsewhere move the server's version; only a bookmark tells this watcher.
    expect(cluster.calls.filter(({ verb }) => verb === 'watch')).toHaveLength(1)
    cluster.seed(configMaps, { metadata: { namespace: 'ns', name: 'x' } })
    await clock.step(1000)
    expect(cluster.calls.filter(({ verb }) => verb === 'list')).toHaveLength(1)
  })

  it('tells a late handler of everything there is, and shares one cache', async () => {
    const { cluster, factory, informer, run } = start()
    cluster.seed(pods, pod('a'))
    run()
    await factory.ready()
    expect(factory.informer(pods)).toBe(informer)
    const late: string[] = []
    factory.informer(pods).onEvent((event) => late.push(`${event.type} ${keyOf(event.object)}`))
    expect(late).toEqual(['add ns/a'])
    cluster.seed(configMaps, { metadata: { namespace: 'ns', name: 'x' } })
    const other = factory.informer(configMaps)
    await other.ready
    expect(other.list()).toHaveLength(1)
  })

  it('sees only what its selector selects; what leaves the selection is deleted', async () => {
    const { cluster, factory, events, run } = start({ labelSelector: 'app=one' })
    cluster.seed(pods, pod('a', { app: 'one' }))
    cluster.seed(pods, pod('b', { app: 'two' }))
    run()
    await factory.ready()
    await settle()
    cluster.change(pods, 'ns/a', (object) => {
      object.metadata.labels = { app: 'two' }
    })
    await settle()
    expect(events).toEqual(['add ns/a', 'delete ns/a'])
  })

  it('a handler that throws does not keep others from being told', async () => {
    const { cluster, factory, informer, run } = start()
    const told: string[] = []
    informer.onEvent(() => {
      throw new Error('bug')
    })
    informer.onEvent((event) => told.push(event.type))
    cluster.seed(pods, pod('a'))
    run()
    await factory.ready()
    expect(told).toEqual(['add'])
  })
})
