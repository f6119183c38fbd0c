/** The story of a namespace, as it is read from a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storyOf } from '../../library/story.ts'
import type { Component, ObjectClient } from '../../library/types.ts'
import { startApiServer, user, type TestApiServer } from '../support/api-server.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { clientOf } from './support/clients.ts'

let clock: FakeClock
let server: TestApiServer
let client: ObjectClient
beforeAll(async () => {
  clock = new FakeClock(Math.ceil(Date.now() / 1000) * 1000)
  server = await startApiServer({ clock })
  client = clientOf(server)
})
afterAll(async () => {
  client.close()
  await server[Symbol.asyncDispose]()
})

const logs: Partial<Record<Component, string[]>> = {}
const fault = (): AbortSignal => new AbortController().signal
const story = (namespace: string): Promise<string> =>
  storyOf(
    { client, form: { logs: async (of) => await Promise.resolve(logs[of] ?? []), fault } },
    { namespace },
  )

/** The lines of what happened, without the service account that every namespace has. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => !line.includes('ServiceAccount'))

test('tells changes with their managers, events, denied requests and warnings, in order of time', async () => {
  const startedAt = new Date(clock.now()).toISOString()
  const ns = await server.namespace('shop')
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', namespace: ns } }
  await clock.step(100)
  await client.create({ ...object, data: { color: 'red' } }, { fieldManager: 'jane' })
  await clock.step(100)
  const reference = { kind: 'ConfigMap', name: 'web', namespace: ns }
  const patch = { data: { color: 'blue' } }
  await client.patch(reference, patch, { type: 'merge', fieldManager: 'joe' })
  await clock.step(100)
  const sly = clientOf(server, user('sly'))
  const secrets = { kind: 'Secret', namespace: ns }
  for (let times = 0; times < 2; times += 1) await sly.list(secrets).catch(() => {})
  sly.close()
  await clock.step(100)
  const time = new Date(clock.now()).toISOString()
  const line = { time, level: 'warn', message: 'cannot list and watch', resource: 'pods' }
  logs['controller-manager'] = [
    JSON.stringify({ ...line, level: 'info', message: 'started' }),
    JSON.stringify(line),
    '(node:1) Warning: not a line of ours',
    JSON.stringify({ ...line, time: '2020-01-01T00:00:00Z', message: 'long ago' }),
  ]
  await clock.step(100)
  await client.create({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web.1', namespace: ns },
    involvedObject: { kind: 'Pod', name: 'web', namespace: ns },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off\nrestarting',
    count: 3,
  })
  await clock.step(100)
  await client.delete(reference)
  const text = await story(ns)
  expect(text.split('\n')[0]).toBe(`What happened in namespace shop (since ${startedAt}):`)
  expect(linesOf(text)).toEqual([
    expect.stringMatching(/^\+0\.00 s {2}Namespace\/shop created/),
    '+0.10 s  ConfigMap/web created by jane',
    '+0.20 s  ConfigMap/web changed by joe: data.color: red -> blue',
    '+0.30 s  403 GET /api/v1/namespaces/shop/secrets by sly (2 times): secrets is forbidden: User "sly" cannot list resource "secrets" in API group "" in the namespace "shop"',
    '+0.40 s  controller-manager warn: cannot list and watch resource=pods',
    '+0.50 s  Warning BackOff Pod/web: Back-off restarting (3 times)',
    '+0.60 s  ConfigMap/web deleted',
  ])
  logs['controller-manager'] = []
})

test('says nothing of other namespaces', async () => {
  const [mine, other] = [await server.namespace('mine'), await server.namespace('mine-too')]
  const object = { apiVersion: 'v1', kind: 'ConfigMap' }
  await client.create({ ...object, metadata: { name: 'theirs', namespace: other } })
  const sly = clientOf(server, user('sly'))
  await sly.list({ kind: 'Secret', namespace: other }).catch(() => {})
  sly.close()
  expect(linesOf(await story(mine))).toEqual([expect.stringContaining('Namespace/mine created')])
})

test('is bounded in length and width: the first and the last lines are shown', async () => {
  const ns = await server.namespace('many')
  const object = { apiVersion: 'v1', kind: 'ConfigMap' }
  for (let at = 0; at < 100; at += 1) {
    const made = { ...object, metadata: { name: `map-${at}`, namespace: ns } }
    await client.create({ ...made, data: { text: 'x'.repeat(5000) } })
  }
  const last = { kind: 'ConfigMap', name: 'map-99', namespace: ns }
  await client.patch(last, { data: { text: 'y'.repeat(5000) } }, { type: 'merge' })
  const lines = (await story(ns)).split('\n')
  expect(lines.length).toBeLessThan(65)
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(270)
  expect(lines[1]).toContain('Namespace/many created')
  expect(lines.join('\n')).toContain('lines left out')
  expect(lines.at(-1)).toContain('ConfigMap/map-99 changed by kube-skiff: data.text: xxx')
})

test('begins with what there was when older changes are forgotten', async () => {
  const ns = await server.namespace('old')
  const metadata = { name: 'web', namespace: ns }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { color: 'red' } }
  await client.create(object, { fieldManager: 'jane' })
  await clock.step(6 * 60 * 1000)
  await client.delete({ kind: 'ConfigMap', name: 'web', namespace: ns })
  await client.create(
    { ...object, metadata: { ...metadata, name: 'new' } },
    { fieldManager: 'jane' },
  )
  const text = await story(ns)
  expect(text).toContain('; older changes are forgotten: what was deleted before is missing)')
  expect(linesOf(text).map((line) => line.replace(/^\+36\d\.\d\d s {2}/, ''))).toEqual([
    'ConfigMap/web deleted',
    'ConfigMap/new created by jane',
  ])
})

test('of a namespace that never was, and of a server that does not answer, it says so', async () => {
  expect(await story('nowhere')).toBe(
    'Nothing is known of namespace nowhere: it is empty, and older changes are forgotten',
  )
  const gone = { request: () => Promise.reject(new Error('nothing listens there')) }
  const source = (of = fault) => ({
    client: gone,
    form: { logs: () => Promise.reject(new Error('no log')), fault: of },
  })
  expect(await storyOf(source(), { namespace: 'a' })).toBe(
    'The story of namespace a cannot be read: nothing listens there',
  )
  const failed = AbortSignal.abort(new Error('the scheduler failed'))
  expect(
    await storyOf(
      source(() => failed),
      { namespace: 'a' },
    ),
  ).toBe('the scheduler failed\nThe story of namespace a cannot be read: nothing listens there')
})
