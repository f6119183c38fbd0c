/** The list and watch loop against servers that tell of their progress never, or all the time. */
import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { runReflector } from '../../components/client/reflector.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { WatchEvent, WatchOptions } from '../../components/client/resource-client.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

const { pods } = resourcesOf(dialects.kubernetes)

const pod = (name: string, version: number): KubeObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, namespace: 'ns', resourceVersion: String(version) },
})

const bookmark = (version: number): WatchEvent => ({
  type: 'BOOKMARK',
  object: { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion: String(version) } },
})

const changes: WatchEvent[] = [
  { type: 'ADDED', object: pod('b', 20) },
  { type: 'MODIFIED', object: pod('a', 30) },
  { type: 'DELETED', object: pod('b', 40) },
]

/** A server with one pod and three changes, the watch cut off after each; `bookmarks` come after every change. */
async function follow(bookmarks: readonly number[]) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const state = new Map<string, string | undefined>()
  const from: (string | undefined)[] = []
  let lists = 0
  const keep = ({ metadata }: KubeObject): void => {
    state.set(metadata.name ?? '', metadata.resourceVersion)
  }
  async function* watch(options: WatchOptions | undefined, signal: AbortSignal | undefined) {
    from.push(options?.resourceVersion)
    const change = changes[from.length - 1]
    if (change === undefined) {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      return
    }
    yield change
    const version = Number(change.object.metadata.resourceVersion)
    for (const later of bookmarks) yield bookmark(version + later)
  }
  const running = runReflector(
    {
      client: {
        resource: pods,
        list: async () => {
          lists += 1
          return await Promise.resolve({
            metadata: { resourceVersion: '10' },
            items: [pod('a', 5)],
          })
        },
        watch,
      },
      selection: {},
      sink: {
        replace: (objects) => objects.forEach(keep),
        apply: (type, object) => {
          if (type === 'DELETED') state.delete(object.metadata.name ?? '')
          else keep(object)
        },
      },
      clock,
      log: silentLog,
    },
    stop.signal,
  )
  for (let step = 0; step < 10; step += 1) {
    await settle()
    await clock.step(1000)
  }
  stop.abort()
  await running
  return { state: Object.fromEntries(state), from, lists }
}

describe('a reflector', () => {
  it('[WATCH-016] sees the same from a server without bookmarks and from one with many', async () => {
    const without = await follow([])
    const many = await follow([1, 2, 3, 3, 5, 8])
    expect(without.state).toEqual({ a: '30' })
    expect(many.state).toEqual({ a: '30' })
    expect([without.lists, many.lists]).toEqual([1, 1])
    // It goes on from the last event, or from the bookmark after it.
    expect(without.from).toEqual(['10', '20', '30', '40'])
    expect(many.from).toEqual(['10', '28', '38', '48'])
  })

  it('gets its first state from the watch, and lists at a server that refuses such a watch', async () => {
    const end = 'k8s.io/initial-events-end'
    const run = async (isRefused: boolean) => {
      const stop = new AbortController()
      const asked: string[] = []
      const seen: string[] = []
      const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name)
      const clock = new FakeClock()
      const running = runReflector(
        {
          client: {
            resource: pods,
            list: async () => {
              asked.push('list')
              return { metadata: { resourceVersion: '10' }, items: [pod('a', 5)] }
            },
            async *watch(options, signal): AsyncGenerator<WatchEvent> {
              const { resourceVersion, resourceVersionMatch = '', sendInitialEvents } = options
              asked.push(['watch', resourceVersion, resourceVersionMatch].join(' ').trim())
              if (sendInitialEvents === true) {
                if (isRefused) throw new StatusError('Invalid', 'sendInitialEvents is forbidden')
                yield { type: 'ADDED', object: pod('a', 5) }
                yield { type: 'ADDED', object: pod('gone', 6) }
                yield { type: 'DELETED', object: pod('gone', 7) }
                const { object } = bookmark(10)
                const metadata = { ...object.metadata, annotations: { [end]: 'true' } }
                yield { type: 'BOOKMARK', object: { ...object, metadata } }
              }
              if (asked.length > 2) await clock.sleep(60_000, signal)
              yield { type: 'ADDED', object: pod('b', 20) }
            },
          },
          selection: {},
          initialEventsEnd: end,
          sink: {
            replace: (objects) => void seen.push(`replace ${names(objects).join()}`),
            apply: (type, { metadata }) => void seen.push(`${type} ${metadata.name}`),
          },
          clock,
          log: silentLog,
        },
        stop.signal,
      )
      await settle()
      await clock.step(2000)
      stop.abort()
      await running
      return { asked, seen }
    }
    expect(await run(false)).toEqual({
      asked: ['watch 0 NotOlderThan', 'watch 20', 'watch 20'],
      seen: ['replace a', 'ADDED b', 'ADDED b'],
    })
    const refused = await run(true)
    expect(refused.asked.slice(0, 3)).toEqual(['watch 0 NotOlderThan', 'list', 'watch 10'])
    expect(refused.seen[0]).toBe('replace a')
  })

  it('a version that is forgotten costs no wait, however long the server was away before', async () => {
    const clock = new FakeClock()
    const stop = new AbortController()
    const asked: [what: string, version: string | undefined, atMs: number][] = []
    const startMs = clock.now()
    let isAway = false
    let isForgetful = false
    const expired = (): Error => new StatusError('Expired', 'too old resource version')
    const answer = (what: string, version: string | undefined): void => {
      asked.push([what, version, clock.now() - startMs])
      if (isAway) throw new ConnectionError('refused', 'connection refused')
      if (isForgetful && version !== '') throw expired()
    }
    const running = runReflector(
      {
        client: {
          resource: pods,
          list: (options) => {
            answer('list', options?.resourceVersion)
            return Promise.resolve({
              kind: 'PodList',
              apiVersion: 'v1',
              metadata: { resourceVersion: '10' },
              items: [],
            })
          },
          async *watch(options, signal): AsyncGenerator<WatchEvent> {
            answer('watch', options?.resourceVersion)
            yield bookmark(20)
            await clock.sleep(60_000, signal)
          },
        },
        selection: {},
        sink: { replace: () => {}, apply: () => {} },
        clock,
        log: silentLog,
      },
      stop.signal,
    )
    await settle()
    isAway = true
    // The watch ends after a minute; from then on nobody answers, until the waits are as long as they get.
    for (let step = 0; step < 600; step += 1) {
      await clock.step(1000)
      await settle()
    }
    const [, , lastTryMs = 0] = asked.at(-1) ?? []
    expect(clock.now() - startMs - lastTryMs).toBeLessThan(61_000)
    isAway = false
    isForgetful = true
    asked.length = 0
    for (let step = 0; step < 61 && asked.length === 0; step += 1) {
      await clock.step(1000)
      await settle()
    }
    expect(asked.map(([what, version]) => [what, version])).toEqual([
      ['watch', '20'],
      ['list', '20'],
      ['list', ''],
      ['watch', '10'],
    ])
    const [first] = asked
    asked.length = 0
    // The second expiry in a row waits, but not as long as the server was away.
    for (let step = 0; step < 3; step += 1) {
      await clock.step(1000)
      await settle()
    }
    expect(asked.length).toBeGreaterThan(0)
    expect((asked[0]?.[2] ?? 0) - (first?.[2] ?? 0)).toBeLessThanOrEqual(2000)
    stop.abort()
    await running
  })

  it('lists again when the server has gone back to an earlier state and does not know the version yet', async () => {
    const clock = new FakeClock()
    const stop = new AbortController()
    const asked: string[] = []
    let current = 50
    const answer = (what: string, version = ''): void => {
      asked.push(`${what} ${version}`)
      if (Number(version) > current) throw new StatusError('Timeout', 'Too large resource version')
    }
    const running = runReflector(
      {
        client: {
          resource: pods,
          list: async (options) => {
            answer('list', options?.resourceVersion)
            return await Promise.resolve({
              metadata: { resourceVersion: String(current) },
              items: [],
            })
          },
          async *watch(options, signal): AsyncGenerator<WatchEvent> {
            answer('watch', options?.resourceVersion)
            yield bookmark(current)
            await clock.sleep(60_000, signal)
          },
        },
        selection: {},
        sink: { replace: () => {}, apply: () => {} },
        clock,
        log: silentLog,
      },
      stop.signal,
    )
    await settle()
    current = 7
    await clock.step(70_000)
    expect(asked).toEqual(['list 0', 'watch 50', 'watch 50', 'list 50', 'list ', 'watch 7'])
    stop.abort()
    await running
  })
})
