/** Following a cluster: rows that stay equal to a list over restarts, and the journal of requests. */
import { describe, expect, it } from 'vitest'
import { resourcesOf } from '../../../components/api/resources.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { ResourceClient } from '../../../components/client/resource-client.ts'
import type { RestClient } from '../../../components/client/rest-client.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { ConnectionWatch } from '../../../console/top/connection-watch.ts'
import { followRequests } from '../../../components/client/follow-requests.ts'
import { followRows } from '../../../console/top/follow-rows.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const pods = resourcesOf(dialects.kubernetes).pods
const pod = (name: string, version: string): KubeObject => ({
  metadata: { namespace: 'shop', name, resourceVersion: version },
  spec: { big: 'x' },
})
const expired = (): StatusError => StatusError.fromStatus({ reason: 'Expired', code: 410 }, 410)

/** A server with pages of one object; `lists` and `watches` are taken in order. */
function server(
  lists: readonly (readonly KubeObject[])[],
  watches: readonly (readonly (KubeObject | Error | string)[])[],
) {
  const asked: unknown[] = []
  let list = -1
  let watch = -1
  const client: Pick<ResourceClient, 'list' | 'watch' | 'resource'> = {
    resource: pods,
    list: async (options = {}) => {
      asked.push(options)
      const at = Number(options.continue ?? 0)
      if (at === 0) list += 1
      const items = lists[list] ?? []
      const next = at + 1 < items.length ? { continue: String(at + 1) } : {}
      return { metadata: { resourceVersion: `v${list}`, ...next }, items: items.slice(at, at + 1) }
    },
    watch: async function* (options, signal) {
      asked.push(options.resourceVersion)
      watch += 1
      for (const one of watches[watch] ?? []) {
        if (one instanceof Error) throw one
        if (typeof one === 'string') {
          yield { type: 'DELETED', object: { metadata: { namespace: 'shop', name: one } } }
        } else yield { type: 'MODIFIED', object: one }
      }
      await new Promise((_, reject) => signal.addEventListener('abort', reject))
    },
  }
  return { client, asked }
}

describe('rows', () => {
  it('are read page by page, and follow the watch and the next list', async () => {
    const clock = new FakeClock(0)
    const stop = new AbortController()
    const rows = new Map<string, string>()
    const trouble: string[] = []
    const { client, asked } = server(
      [[pod('a', '1'), pod('b', '1')], [pod('c', '9')]],
      [[pod('a', '2'), 'b', expired()], []],
    )
    const following = followRows(
      {
        client,
        clock,
        toRow: ({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`,
        put: (changes) => {
          for (const [key, row] of changes) {
            if (row === undefined) rows.delete(key)
            else rows.set(key, row)
          }
        },
        onReached: () => {},
        onTrouble: (error) => trouble.push(String((error as StatusError).code)),
      },
      stop.signal,
    )
    await settle(20)
    expect([...rows]).toEqual([['shop/c', 'c@9']])
    expect(trouble).toEqual(['410'])
    expect(asked).toEqual([
      { limit: 500 },
      { limit: 500, continue: '1' },
      'v0',
      { limit: 500 },
      'v1',
    ])
    stop.abort()
    await following
  })
})

describe('requests', () => {
  type Answer = readonly string[] | Error
  const follow = (answers: readonly Answer[]) => {
    const clock = new FakeClock(0)
    const stop = new AbortController()
    const seen: number[] = []
    const asked: string[] = []
    let why: string | undefined
    const rest: Pick<RestClient, 'stream'> = {
      stream: async ({ path, signal }) => {
        asked.push(path)
        const answer = answers[asked.length - 1]
        if (answer instanceof Error) throw answer
        const chunks = async function* (): AsyncGenerator<Buffer> {
          for (const text of answer ?? []) yield Buffer.from(text)
          if (answer === undefined) {
            await new Promise((_, reject) => signal?.addEventListener('abort', reject))
          }
        }
        return { status: 200, headers: {}, chunks: chunks() }
      },
    }
    const following = followRequests(
      {
        rest,
        clock,
        onRequest: ({ seq }) => void seen.push(seq),
        onAbsent: (text) => void (why = text),
      },
      stop.signal,
    )
    return { clock, stop, seen, asked, following, why: () => why }
  }
  const record = (seq: number): string => `${JSON.stringify({ seq, verb: 'get' })}\n`

  it('come line by line, and go on after the newest when the stream ends', async () => {
    const text = `${record(1)}{"missed":3}\n${record(5)}`
    const { clock, stop, seen, asked, following } = follow([
      [text.slice(0, 9), text.slice(9)],
      [record(6)],
    ])
    await settle()
    expect(seen).toEqual([1, 5])
    await clock.step(1000)
    await settle()
    expect(seen).toEqual([1, 5, 6])
    expect(asked).toEqual([
      '/explain/requests?follow=true',
      '/explain/requests?follow=true&since=5',
    ])
    stop.abort(new Error('enough'))
    await expect(following).rejects.toThrow('enough')
  })

  it.each([
    [404, 'This API server has no journal of requests.'],
    [403, 'You may not read the journal of requests: no'],
  ])('are absent after %i, and are not asked for again', async (code, why) => {
    const of = follow([StatusError.fromStatus({ code, message: 'no' }, code)])
    await of.following
    expect(of.why()).toBe(why)
    expect(of.asked).toHaveLength(1)
  })

  it('are asked for again while the server does not answer', async () => {
    const of = follow([new ConnectionError('refused', 'nothing listens'), [record(1)]])
    await settle()
    await of.clock.step(1000)
    await settle()
    expect(of.seen).toEqual([1])
    of.stop.abort(new Error('enough'))
    await expect(of.following).rejects.toThrow('enough')
  })
})

describe('the connection', () => {
  it('is lost from the first request without an answer to the next answer', async () => {
    const clock = new FakeClock(0)
    let losses = 0
    const connection = new ConnectionWatch(clock, () => (losses += 1))
    connection.failed(StatusError.fromStatus({ code: 403 }, 403))
    expect(connection.loss).toBeUndefined()
    connection.failed(new ConnectionError('refused', 'nothing listens'))
    await clock.step(3000)
    connection.failed(new ConnectionError('refused', 'nothing listens'))
    expect([connection.lostForMs(), connection.loss?.why, losses]).toEqual([
      3000,
      'nothing listens',
      1,
    ])
    connection.reached()
    expect([connection.lostForMs(), connection.loss]).toEqual([0, undefined])
  })
})
