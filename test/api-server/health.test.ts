/** Health endpoints: rows HEALTH-001 to HEALTH-014 and HEALTH-016. */
import { describe, expect, it } from 'vitest'
import { answerHealth } from '../../components/api-server/handlers/health.ts'
import { healthChecks } from '../../components/api-server/health-checks.ts'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { describeDialects } from '../support/shared-server.ts'

const endpoints = ['/livez', '/readyz', '/healthz'] as const
const lines = (text: string): string[] => text.trimEnd().split('\n')

describeDialects('a healthy server', (server) => {
  it('[HEALTH-001][HEALTH-002][HEALTH-003] answers 200 on all three endpoints, to anybody', async () => {
    for (const path of endpoints) {
      const answer = await server().request('GET', path, { as: 'anonymous' })
      expect(answer.status).toBe(200)
      expect(answer.text).toBe('ok')
    }
  })

  it('[HEALTH-006][HEALTH-008] verbose has a line per check and one at the end', async () => {
    for (const path of endpoints) {
      for (const flag of ['verbose', 'verbose=1', 'verbose=true']) {
        const answer = await server().request('GET', `${path}?${flag}`)
        const checks = lines(answer.text)
        expect(checks.pop()).toBe('healthz check passed')
        expect(checks.length).toBeGreaterThan(4)
        for (const line of checks) expect(line).toMatch(/^\[\+\][\w/-]+ ok$/)
      }
    }
  })

  it('counts the results of each check at /metrics/slis', async () => {
    const at = '/metrics/slis'
    const countOf = async (type: string): Promise<number> => {
      const { text } = await server().request('GET', at)
      const series = `kubernetes_healthchecks_total{name="etcd",status="success",type="${type}"} `
      const line = text.split('\n').find((one) => one.startsWith(series))
      return Number(line?.slice(series.length) ?? 0)
    }
    const before = await countOf('livez')
    const ready = await countOf('readyz')
    await server().ok('GET', '/livez')
    await server().ok('GET', '/livez/etcd')
    await server().ok('GET', '/livez?exclude=etcd')
    expect(await countOf('livez')).toBe(before + 2)
    expect(await countOf('readyz')).toBe(ready)
    const { text, headers } = await server().request('GET', at)
    expect(headers['content-type']).toContain('text/plain; version=0.0.4')
    expect(text).toContain('kubernetes_healthcheck{name="ping",type="livez"} 1')
    expect(text).toMatch(/^# HELP kubernetes_healthcheck \[STABLE\] /m)
    expect((await server().request('GET', at, { as: 'anonymous' })).status).toBe(403)
    expect((await server().ok('GET', '/')).paths).toContain(at)
  })

  it('[HEALTH-014] has the checks that clients know', async () => {
    const { text } = await server().request('GET', '/readyz?verbose')
    const names = lines(text).map((line) => line.slice(3).split(' ')[0])
    expect(names).toEqual(
      expect.arrayContaining(['ping', 'log', 'etcd', 'shutdown', 'autoregister-completion']),
    )
    expect(names.filter((name) => name?.startsWith('poststarthook/')).length).toBeGreaterThan(0)
  })

  it('[HEALTH-010][HEALTH-011] exclude goes with verbose and is shown', async () => {
    const { status, text } = await server().request(
      'GET',
      '/readyz?verbose&exclude=etcd&exclude=log',
    )
    expect(status).toBe(200)
    expect(lines(text)).toContain('[+]etcd excluded: ok')
    expect(lines(text)).toContain('[+]log excluded: ok')
    expect(lines(text)).toContain('[+]ping ok')
    const unknown = await server().request('GET', '/readyz?verbose&exclude=none')
    expect(unknown.status).toBe(200)
    expect(unknown.text).toContain('no matches for "none"')
  })

  it('single checks have paths; unknown ones are not found', async () => {
    for (const path of ['/livez/ping', '/livez/etcd', '/readyz/shutdown', '/healthz/log']) {
      const answer = await server().request('GET', path)
      expect([answer.status, answer.text]).toEqual([200, 'ok'])
    }
    for (const path of ['/livez/none', '/livez/shutdown', '/readyz/none', '/healthz/ping/more']) {
      expect((await server().request('GET', path)).status, path).toBe(404)
    }
  })
})

/** A server told to stop five seconds ago that still serves for a minute: its check `shutdown` fails. */
async function stoppingServer(): Promise<{
  server: TestApiServer
  clock: FakeClock
  done: Promise<void>
}> {
  const clock = new FakeClock(Date.now())
  const server = await startApiServer({ clock, flags: ['--shutdown-delay-duration=5s'] })
  return { server, clock, done: server.terminate() }
}

describe('a server that shuts down', () => {
  it('[HEALTH-005][HEALTH-007][HEALTH-009][HEALTH-013][HEALTH-016] fails /readyz at once and serves on for the delay', async () => {
    const { server, clock, done } = await stoppingServer()
    const failing = await server.request('GET', '/readyz')
    expect(failing.status).toBe(500)
    const verbose = await server.request('GET', '/readyz?verbose')
    expect(verbose.status).toBe(500)
    expect(lines(verbose.text)).toContain('[-]shutdown failed: reason withheld')
    expect(lines(verbose.text).at(-1)).toBe('readyz check failed')
    expect(lines(failing.text)).toContain('[+]ping ok')

    expect((await server.request('GET', '/readyz?exclude=shutdown')).status).toBe(200)
    const both = await server.request('GET', '/readyz?verbose&exclude=shutdown')
    expect(both.status).toBe(200)
    expect(lines(both.text)).toContain('[+]shutdown excluded: ok')
    expect((await server.request('GET', '/readyz/shutdown')).status).toBe(500)
    expect((await server.request('GET', '/readyz/ping')).status).toBe(200)

    await clock.step(4000)
    expect((await server.request('GET', '/livez')).status).toBe(200)
    expect((await server.request('GET', '/api/v1/namespaces')).status).toBe(200)
    const made = await server.request('POST', '/api/v1/namespaces', {
      body: { metadata: { name: 'late' } },
    })
    expect(made.status).toBe(201)
    await clock.step(1000)
    await done
    await expect(server.request('GET', '/livez')).rejects.toThrow()
    await server[Symbol.asyncDispose]()
  })
})

describe('a server whose start hooks have not finished', () => {
  const ask = (path: string, state: { isInGrace: boolean }): { status: number; text: string } => {
    const checks = healthChecks({
      isBootstrapped: () => false,
      isStopping: () => false,
      isInGrace: () => state.isInGrace,
    })
    const [target = '', query = ''] = path.split('?')
    const answer = answerHealth(
      {
        info: { path: target, query: new URLSearchParams(query) },
        user: { name: 'prober', groups: [] },
      },
      checks,
      () => {},
    )
    if (answer === undefined) return { status: 404, text: '' }
    return { status: answer.status, text: answer.body.toString() }
  }

  it('[HEALTH-012] /livez/<name> gives the state of that check alone', () => {
    const at = { isInGrace: false }
    expect(ask('/livez/etcd', at)).toEqual({ status: 200, text: 'ok' })
    expect(ask('/livez/poststarthook/bootstrap-controller', at).status).toBe(500)
    expect(ask('/livez/none', at).status).toBe(404)
    expect(ask('/livez', at).status).toBe(500)
  })

  it('is live within the grace period, not ready, and not live after it', () => {
    expect(ask('/livez', { isInGrace: true }).status).toBe(200)
    expect(ask('/readyz', { isInGrace: true }).status).toBe(500)
    expect(ask('/healthz', { isInGrace: true }).status).toBe(500)
    const { status, text } = ask('/livez?verbose', { isInGrace: false })
    expect(status).toBe(500)
    expect(text).toContain('[-]poststarthook/bootstrap-controller failed: reason withheld')
  })
})
