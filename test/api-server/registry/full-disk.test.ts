/** A store that cannot take more, or a disk that fails: writes say so, everything else goes on, and it mends itself. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startStoredServer } from '../../support/raw-store.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const merge = { 'content-type': 'application/merge-patch+json' }

const rewrite = async (server: TestApiServer, value: string) =>
  await server.request('PATCH', `${configMaps}/big`, {
    headers: merge,
    body: { data: { value: value.repeat(50_000) } },
  })

/** Replaces one object's value until the store has no room; answers the refusal. */
async function fill(server: TestApiServer) {
  for (let round = 0; round < 1000; round += 1) {
    const reply = await rewrite(server, String(round % 10))
    if (reply.status !== 200) return reply
  }
  throw new Error('the store takes everything')
}

async function withLimit(clock: FakeClock) {
  const at = await startStoredServer({
    clock,
    flags: () => ['--quota-backend-bytes=3000000'],
  })
  await at.server.ok('POST', configMaps, { body: { metadata: { name: 'big' } } })
  return at
}

describe('a store without room', () => {
  it('refuses a write with what is wrong, reads and watches on, and writes again once history is dropped', async () => {
    const clock = new FakeClock(Date.now())
    await using at = await withLimit(clock)
    const { server } = at
    const watch = await server.watch(`${configMaps}?watch=1`)
    const refused = await fill(server)
    expect(refused.status).toBe(500)
    expect(refused.body).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      message: 'etcdserver: mvcc: database space exceeded',
    })
    expect(refused.text).not.toMatch(/SQLITE|data\.db/)
    const before = await server.ok('GET', `${configMaps}/big`)
    expect((await server.ok('GET', configMaps)).items).toHaveLength(1)
    expect(await server.ok('GET', `${configMaps}/big?resourceVersion=0`)).toEqual(before)
    const body = { metadata: { name: 'another' }, data: { value: 'x'.repeat(100_000) } }
    expect((await server.request('POST', `${configMaps}?dryRun=All`, { body })).status).toBe(201)
    expect((await server.ok('GET', '/livez')).toString()).toBe('ok')
    await server.watch(`${configMaps}?watch=1`)

    // The history that took the room is dropped.
    await eventually(async () => {
      await clock.step(1000)
      expect((await server.request('POST', configMaps, { body })).status).toBe(201)
    })
    expect((await rewrite(server, 'y')).status).toBe(200)
    // The watch has seen every write that was acknowledged, and none that was not.
    const events = await watch.take(1)
    expect(events[0]?.object.metadata.name).toBe('big')
    const seen = [...events, ...watch.waiting]
    expect(seen.filter(({ object }) => object.metadata.name === 'another')).toHaveLength(1)
  })

  it('loses nothing that was acknowledged when the server ends then', async () => {
    const clock = new FakeClock(Date.now())
    await using at = await withLimit(clock)
    const { server } = at
    await fill(server)
    const before = await server.ok('GET', `${configMaps}/big`)
    await at.between(async () => {})
    expect(await server.ok('GET', `${configMaps}/big`)).toEqual(before)
    await eventually(async () => {
      await clock.step(1000)
      expect((await rewrite(server, 'z')).status).toBe(200)
    })
  })
})

/** `/dev/full` takes no byte; where there is none, the test says so. */
describe('a log without room', () => {
  it('of the audit keeps no request from being answered', async ({ skip }) => {
    if (!existsSync('/dev/full') || !statSync('/dev/full').isCharacterDevice()) skip()
    closeSync(openSync('/dev/full', 'r'))
    await using server = await startApiServer({ flags: ['--audit-log-path=/dev/full'] })
    for (let round = 0; round < 3; round += 1) {
      expect((await server.request('GET', configMaps)).status).toBe(200)
    }
    const made = await server.request('POST', configMaps, { body: { metadata: { name: 'c' } } })
    expect(made.status).toBe(201)
  })
})
