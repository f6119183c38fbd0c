/** Clients that go on where they were after the API server was restarted. */
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Made {
  readonly at: string
  /** Before all changes. */
  readonly from: string
  readonly changes: number
}

/** Five changes of ConfigMaps of which one watch sees all and another, by label, three; and some of other kinds between. */
async function makeChanges(server: TestApiServer): Promise<Made> {
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  const put = async (name: string, more: object) =>
    await server.ok('PUT', `${at}/${name}`, { body: { metadata: { name, ...more } } })
  for (const name of ['a', 'b']) {
    const body = { metadata: { name, labels: { side: 'left' } }, data: { first: 'yes' } }
    await server.ok('POST', at, { body })
  }
  const from = (await server.ok('GET', at)).metadata.resourceVersion as string
  await put('a', { labels: { side: 'left', more: 'x' } })
  await server.namespace()
  await put('a', { labels: { side: 'right' } })
  await server.ok('DELETE', `${at}/b`)
  await server.ok('POST', at, { body: { metadata: { name: 'c' } } })
  await server.namespace()
  await server.ok('POST', at, { body: { metadata: { name: 'b', labels: { side: 'right' } } } })
  return { at, from, changes: 5 }
}

describe.each(['kubernetes', 'svc'] as const)('after a restart, dialect %s', (dialect) => {
  it('a watch from an old revision gets exactly what it missed, then what comes', async () => {
    await using server = await startApiServer({ dialect, store: 'sqlite' })
    const { at, from, changes } = await makeChanges(server)
    const path = `${at}?watch=1&resourceVersion=${from}`
    const before = await (await server.watch(path)).take(changes)
    const leftBefore = await (await server.watch(`${path}&labelSelector=side%3Dleft`)).take(3)
    expect(leftBefore.map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED', 'DELETED'])

    await server.restart()
    // One resumes late, one early, one in the middle: each needs more or less of what was.
    const middle = before[2]?.object.metadata.resourceVersion
    const rest = await server.watch(`${at}?watch=1&resourceVersion=${middle}`)
    const all = await server.watch(path)
    const left = await server.watch(`${path}&labelSelector=side%3Dleft`)
    expect(await rest.take(changes - 3)).toEqual(before.slice(3))
    expect(await all.take(changes)).toEqual(before)
    expect(await left.take(3)).toEqual(leftBefore)

    const labels = { side: 'left' }
    await server.ok('POST', at, { body: { metadata: { name: 'new', labels } } })
    for (const watch of [rest, all, left]) {
      expect(await watch.take(1)).toMatchObject([
        { type: 'ADDED', object: { metadata: { name: 'new' } } },
      ])
    }
  })

  it('a list goes on at the revision that it began with, and that state can be read', async () => {
    await using server = await startApiServer({ dialect, store: 'sqlite' })
    const { at, from } = await makeChanges(server)
    const exact = `${at}?resourceVersion=${from}&resourceVersionMatch=Exact`
    const whole = await server.ok('GET', exact)
    const page = await server.ok('GET', `${at}?limit=1`)
    await server.ok('DELETE', `${at}/c`)
    await server.restart()
    expect(await server.ok('GET', exact)).toEqual(whole)
    const next = `${at}?limit=5&continue=${encodeURIComponent(page.metadata.continue as string)}`
    const names = ((await server.ok('GET', next)).items as { metadata: { name: string } }[]).map(
      ({ metadata }) => metadata.name,
    )
    expect(names).toEqual(['b', 'c'])
  })
})

const expired = { type: 'ERROR', object: { kind: 'Status', reason: 'Expired', code: 410 } }

describe('what was before a restart', () => {
  it('is gone five minutes later, as always', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock, store: 'sqlite' })
    const { at, from } = await makeChanges(server)
    await server.restart()
    const watch = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await watch.take(1)).toMatchObject([{ type: 'MODIFIED' }])
    watch.close()
    await clock.step(6 * 60_000)
    const late = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await late.next()).toMatchObject(expired)

    await server.restart()
    await clock.step(6 * 60_000)
    // Nobody had asked in time.
    const never = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await never.next()).toMatchObject(expired)
  })

  it('is 410 when the store has dropped it', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock, store: 'sqlite' })
    const { at, from } = await makeChanges(server)
    for (let minute = 0; minute < 12; minute += 1) {
      await clock.step(60_000)
      await server.ok('POST', at, { body: { metadata: { name: `minute-${minute}` } } })
    }
    await server.restart()
    const watch = await server.watch(`${at}?watch=1&resourceVersion=${from}`)
    expect(await watch.next()).toMatchObject(expired)
    const list = await server.ok('GET', at)
    expect(list.items).toHaveLength(15)
  })
})
