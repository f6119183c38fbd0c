/** Events: one stored object, two groups, each with its own names and rules. */
import { expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { describeDialects } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const strategic = { 'content-type': 'application/strategic-merge-patch+json' }

describeDialects('events', (server) => {
  let count = 0
  const core = '/api/v1/namespaces/default/events'
  const group = (): string => `/apis/${server().group('events')}/v1/namespaces/default/events`
  const event = (more: object = {}) => ({
    metadata: { name: `e${(count += 1)}` },
    eventTime: '2025-01-02T03:04:05.678901Z',
    action: 'Bind',
    reason: 'Bound',
    type: 'Normal',
    note: 'a note',
    regarding: { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u' },
    reportingController: 'example.com/test',
    reportingInstance: 'test-1',
    ...more,
  })
  const coreEvent = (more: object = {}) => ({
    metadata: { name: `e${(count += 1)}` },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Pulled',
    message: 'a message',
    type: 'Normal',
    source: { component: 'agent', host: 'n1' },
    firstTimestamp: '2025-01-02T03:04:05Z',
    lastTimestamp: '2025-01-02T03:04:06Z',
    count: 3,
    ...more,
  })
  const make = async (more?: object) => await server().ok('POST', group(), { body: event(more) })
  const fieldsOf = async (more: object): Promise<string[]> => {
    const { status, body } = await server().request('POST', group(), { body: event(more) })
    expect(status).toBe(422)
    return body.details.causes.map(({ field }: { field: string }) => field)
  }

  it('[EVENT-001] the events group takes, shows and lists events', async () => {
    const made = await make()
    const apiVersion = `${server().group('events')}/v1`
    expect(made).toMatchObject({ kind: 'Event', apiVersion, note: 'a note' })
    const list = await server().ok('GET', group())
    expect(list).toMatchObject({ kind: 'EventList', apiVersion })
    const { kind: _, apiVersion: __, ...item } = made
    expect(list.items).toContainEqual(item)
    expect(await server().ok('GET', `${group()}/${made.metadata.name}`)).toEqual(made)
  })

  it('[EVENT-002] an event is Normal or Warning', async () => {
    for (const type of ['Normal', 'Warning']) expect((await make({ type })).type).toBe(type)
    for (const type of ['Error', 'normal', '']) expect(await fieldsOf({ type })).toEqual(['type'])
    expect(await fieldsOf({ type: undefined })).toEqual(['type'])
  })

  it('[EVENT-003] action, reason, controller and instance are required on creation', async () => {
    await make()
    for (const field of ['action', 'reason', 'reportingController', 'reportingInstance']) {
      for (const without of [undefined, '']) {
        const fields = await fieldsOf({ [field]: without })
        expect([...new Set(fields)], `${field}: ${String(without)}`).toEqual([field])
      }
    }
  })

  it('[EVENT-004] what an event regards is the involvedObject of the core group', async () => {
    const { metadata, regarding } = await make()
    const shown = await server().ok('GET', `${core}/${metadata.name}`)
    expect(shown).toMatchObject({ kind: 'Event', apiVersion: 'v1', involvedObject: regarding })
    expect(shown).not.toHaveProperty('regarding')
    const selector = encodeURIComponent(`metadata.name=${metadata.name},involvedObject.uid=u`)
    expect((await server().ok('GET', `${core}?fieldSelector=${selector}`)).items).toHaveLength(1)
    const other = encodeURIComponent(`metadata.name=${metadata.name},regarding.uid=u`)
    expect((await server().ok('GET', `${group()}?fieldSelector=${other}`)).items).toHaveLength(1)
  })

  it('[EVENT-005] eventTime keeps its microseconds', async () => {
    const { metadata, eventTime } = await make()
    expect(eventTime).toBe('2025-01-02T03:04:05.678901Z')
    for (const path of [core, group()]) {
      const read = await server().ok('GET', `${path}/${metadata.name}`)
      expect(read.eventTime).toBe('2025-01-02T03:04:05.678901Z')
    }
  })

  it('[EVENT-006] a series counts, and says when it was last seen', async () => {
    const { metadata } = await make()
    const path = `${group()}/${metadata.name}`
    const patch = async (series: object, headers = merge) =>
      await server().request('PATCH', path, { body: { series }, headers })
    const series = { count: 2, lastObservedTime: '2025-01-02T03:05:05.000001Z' }
    expect((await patch(series)).status).toBe(200)
    expect((await server().ok('GET', path)).series).toEqual(series)
    expect((await server().ok('GET', `${core}/${metadata.name}`)).series).toEqual(series)
    const next = { count: 3, lastObservedTime: '2025-01-02T03:06:05.000001Z' }
    expect((await patch(next, strategic)).body.series).toEqual(next)
    const once = await patch({ count: 1, lastObservedTime: next.lastObservedTime })
    expect(once.status).toBe(422)
    expect(once.body.details.causes[0].field).toBe('series.count')
    const note = await server().request('PATCH', path, { body: { note: 'other' }, headers: merge })
    expect(note.status).toBe(422)
  })

  it('[EVENT-007] deprecated fields are for events of the core group alone', async () => {
    for (const [field, value, shown] of [
      ['deprecatedFirstTimestamp', '2025-01-02T03:04:05Z', 'firstTimestamp'],
      ['deprecatedLastTimestamp', '2025-01-02T03:04:05Z', 'lastTimestamp'],
      ['deprecatedCount', 1, 'count'],
      ['deprecatedSource', { component: 'c' }, 'source'],
      ['deprecatedSource', { host: 'h' }, 'source'],
    ] as const) {
      expect(await fieldsOf({ [field]: value }), field).toEqual([shown])
    }
    const made = await server().ok('POST', core, { body: coreEvent() })
    const read = await server().ok('GET', `${group()}/${made.metadata.name}`)
    expect(read).toMatchObject({
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      note: 'a message',
      deprecatedFirstTimestamp: '2025-01-02T03:04:05Z',
      deprecatedLastTimestamp: '2025-01-02T03:04:06Z',
      deprecatedCount: 3,
      deprecatedSource: { component: 'agent', host: 'n1' },
    })
    for (const name of ['firstTimestamp', 'lastTimestamp', 'count', 'source', 'message']) {
      expect(read).not.toHaveProperty(name)
    }
  })

  it('a watch of either group sees events that were made in the other', async () => {
    const start = (await server().ok('GET', core)).metadata.resourceVersion
    const query = `?watch=true&resourceVersion=${start}`
    const inCore = await server().watch(core + query)
    const inGroup = await server().watch(group() + query)
    const made = await make()
    const old = await server().ok('POST', core, { body: coreEvent() })
    const [first, second] = await inCore.take(2)
    expect(first?.object).toMatchObject({ apiVersion: 'v1', message: 'a note' })
    expect(second).toEqual({ type: 'ADDED', object: old })
    const [third, fourth] = await inGroup.take(2)
    expect(third).toEqual({ type: 'ADDED', object: made })
    expect(fourth?.object).toMatchObject({ note: 'a message', deprecatedCount: 3 })
    inCore.close()
    inGroup.close()
  })

  it('an event of the core group may change, in the words of either group', async () => {
    const made = await server().ok('POST', core, { body: coreEvent() })
    const path = `/${made.metadata.name}`
    const counted = await server().ok('PATCH', core + path, { body: { count: 4 }, headers: merge })
    expect(counted.count).toBe(4)
    const read = await server().ok('GET', group() + path)
    expect(await server().ok('PUT', group() + path, { body: read })).toEqual(read)
    expect(await server().ok('GET', core + path)).toEqual(counted)
  })
})

it('after a restart an event still lives for its time from when it was last seen', async () => {
  await using server = await startApiServer({ store: 'sqlite' })
  const at = `/api/v1/namespaces/${await server.namespace()}/events`
  const nowMs = Date.now()
  const minute = 60_000
  for (const [name, seenMs] of [
    ['once', nowMs],
    ['again', nowMs + 30 * minute],
  ] as const) {
    const involvedObject = { kind: 'Pod', namespace: at.split('/')[4], name: 'p' }
    const lastTimestamp = `${new Date(seenMs).toISOString().slice(0, 19)}Z`
    const body = { metadata: { name }, involvedObject, lastTimestamp, reason: 'R', type: 'Normal' }
    await server.ok('POST', at, { body })
  }
  const clock = new FakeClock(nowMs + 59 * minute)
  await server.restart({ clock })
  await clock.step(2 * minute)
  await eventually(async () => {
    expect((await server.request('GET', `${at}/once`)).status).toBe(404)
  })
  expect((await server.request('GET', `${at}/again`)).status).toBe(200)
})
