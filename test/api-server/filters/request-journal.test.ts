/** What the request journal keeps, in what bounds, and how it treats readers that are slow. */
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { recordOf } from '../../../components/api-server/filters/kept-request.ts'
import { createRequestJournal } from '../../../components/api-server/filters/request-journal.ts'
import { parseRequestInfo } from '../../../components/api-server/request/request-info.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const keepMs = 300_000
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

function subject() {
  const clock = new FakeClock()
  const journal = createRequestJournal({ clock, dialect: dialects.kubernetes, keepMs })
  const answer = async (
    method: string,
    url: string,
    { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ): Promise<void> => {
    const context = {
      http: { method, url, headers },
      id: '',
      receivedAtMs: clock.now(),
      info: parseRequestInfo(method, url),
      user: { name: 'jane', groups: [] },
      annotations: {},
    } as unknown as RequestContext
    await journal.filter(context, () =>
      Promise.resolve({ status, headers: {}, body: Buffer.alloc(0) }),
    )
  }
  const names = (): string[] => journal.kept().map(({ name }) => name)
  return { clock, journal, answer, names }
}

describe('the request journal', () => {
  it('keeps the newest 10,000 writes', async () => {
    const { answer, names, journal } = subject()
    for (let at = 0; at < 10_005; at += 1) await answer('DELETE', `/api/v1/nodes/n${at}`)
    expect(names()).toHaveLength(10_000)
    expect(names()[0]).toBe('n5')
    expect(journal.lastDropped).toBe((journal.kept()[0]?.seq ?? 0) - 1)
  })

  it('keeps writes as long as watches can resume from them', async () => {
    const { answer, names, clock } = subject()
    await answer('DELETE', '/api/v1/nodes/old')
    await clock.step(keepMs / 2)
    await answer('DELETE', '/api/v1/nodes/new')
    await clock.step(keepMs / 2 + 1)
    expect(names()).toEqual(['new'])
    await clock.step(keepMs)
    expect(names()).toEqual([])
  })

  it('renewals of leases push out no other write', async () => {
    const { answer, names, journal } = subject()
    await answer('DELETE', '/api/v1/nodes/one')
    await answer('PUT', `${leases}/failed`, { status: 409 })
    for (let at = 0; at < 11_000; at += 1) await answer('PUT', `${leases}/n${at}`)
    expect(names().slice(0, 3)).toEqual(['one', 'failed', 'n10500'])
    expect(journal.kept()).toHaveLength(502)
  })

  it('is bounded in bytes: long texts are cut, and old records leave for long ones', async () => {
    const { answer, journal } = subject()
    const long = 'x'.repeat(8000)
    const headers = { 'user-agent': long, 'skiff-cause': long }
    for (let at = 0; at < 9000; at += 1) {
      await answer('DELETE', `/api/v1/nodes/${long}?fieldManager=${long}`, { headers })
    }
    const kept = journal.kept()
    const bytes = kept.reduce((sum, one) => sum + JSON.stringify(recordOf(one)).length, 0)
    expect(bytes).toBeLessThan(16 * 1024 * 1024)
    expect(kept.length).toBeLessThan(9000)
    expect(kept.at(-1)?.name).toBe(`${'x'.repeat(500)}...`)
  })

  it('a cause in another form than a cause has is left out', async () => {
    const { answer, journal } = subject()
    const causes = ['watch pods', 'because', 'watch pods a/b 1', 'timer resync', 'start']
    for (const cause of causes) {
      await answer('DELETE', '/api/v1/nodes/a', { headers: { 'skiff-cause': cause } })
    }
    expect(journal.kept().map((one) => recordOf(one).cause)).toEqual([
      undefined,
      undefined,
      { kind: 'watch', what: 'pods', key: 'a/b', revision: '1' },
      { kind: 'timer', what: 'resync' },
      { kind: 'start', what: '' },
    ])
  })

  it('keeps reads while a client follows, and the newest 1,000 of them', async () => {
    const { answer, journal } = subject()
    await answer('GET', '/api/v1/nodes/before')
    const follower = journal.follow(() => true)
    for (let at = 0; at < 1100; at += 1) await answer('GET', `/api/v1/nodes/n${at}`)
    await answer('GET', '/healthz')
    expect(journal.kept()).toHaveLength(1000)
    expect(journal.kept().at(-1)?.name).toBe('n1099')
    follower.close()
    expect(journal.kept()).toEqual([])
  })

  it('a reader that does not keep up misses records, gets their number, and goes on', async () => {
    const { answer, journal } = subject()
    const follower = journal.follow(({ resource }) => resource === 'nodes')
    for (let at = 0; at < 2003; at += 1) await answer('DELETE', `/api/v1/nodes/n${at}`)
    await answer('DELETE', '/api/v1/pods/other')
    const taken = follower.take()
    expect(taken).toHaveLength(2001)
    expect(taken.at(-1)).toEqual({ missed: 3 })
    await answer('DELETE', '/api/v1/nodes/next')
    await follower.ready()
    expect(follower.take()).toEqual([expect.objectContaining({ name: 'next' })])
    follower.close()
  })
})
