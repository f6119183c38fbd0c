/** Health endpoints: rows HEALTH-001 to HEALTH-014 and HEALTH-016. */
import { describe, expect, it } from 'vitest'
import { answerHealth } from '../../../components/api-server/health/health.ts'
import { healthChecks } from '../../../components/api-server/health/health-checks.ts'
import { expectedHooks } from '../../../components/api-server/health/start-hooks.ts'
import { StoreHealth } from '../../../components/api-server/health/store-health.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { StoreError } from '../../../components/store/store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { describeDialects } from '../../support/shared-server.ts'

const endpoints = ['/livez', '/readyz', '/healthz'] as const
const lines = (text: string): string[] => text.trimEnd().split('\n')

describeDialects(
  'a healthy server',
  (server) => {
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

    it('has the checks that clients know', async () => {
      const { text } = await server().request('GET', '/readyz?verbose')
      const names = lines(text).map((line) => line.slice(3).split(' ')[0])
      expect(names).toEqual(
        expect.arrayContaining(['ping', 'log', 'etcd', 'shutdown', 'autoregister-completion']),
      )
      expect(names).toEqual(expect.arrayContaining(['etcd-readiness', 'informer-sync']))
      // Upstream's of 1.32 with RBAC and priority and fairness, but for those of parts that are not here.
      const hooks = [
        'start-apiserver-admission-initializer',
        'generic-apiserver-start-informers',
        'priority-and-fairness-config-consumer',
        'priority-and-fairness-filter',
        'storage-object-count-tracker-hook',
        'start-apiextensions-informers',
        'start-apiextensions-controllers',
        'crd-informer-synced',
        'start-system-namespaces-controller',
        'start-cluster-authentication-info-controller',
        'start-kube-apiserver-identity-lease-controller',
        'start-kube-apiserver-identity-lease-garbage-collector',
        'start-legacy-token-tracking-controller',
        'start-service-ip-repair-controllers',
        'rbac/bootstrap-roles',
        'scheduling/bootstrap-system-priority-classes',
        'priority-and-fairness-config-producer',
        'bootstrap-controller',
        'start-kube-aggregator-informers',
        'apiservice-status-local-available-controller',
        'apiservice-status-remote-available-controller',
        'apiservice-registration-controller',
        'apiservice-discovery-controller',
        'kube-apiserver-autoregistration',
        'apiservice-openapi-controller',
        'apiservice-openapiv3-controller',
      ].map((name) => `poststarthook/${name}`)
      expect(names.filter((name) => name?.startsWith('poststarthook/')).toSorted()).toEqual(
        hooks.toSorted(),
      )
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
  },
  { without: ['feature-gates'] },
)

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

/** Health endpoints over checks of which a test says how they are. */
function endpointsOver(state: Partial<Parameters<typeof healthChecks>[0]> = {}) {
  const hooks = expectedHooks({
    withPolicy: true,
    withFairness: true,
    withProxyClient: true,
    gates: defaultFeatureGates,
  })
  const checks = healthChecks({
    hooks,
    store: { live: async () => undefined, ready: async () => undefined },
    storeTimeoutsMs: { live: 2000, ready: 2000 },
    logFault: () => undefined,
    isSynced: () => true,
    isStopping: () => false,
    isInGrace: () => false,
    ...state,
  })
  const ask = async (path: string): Promise<{ status: number; text: string }> => {
    const [target = '', query = ''] = path.split('?')
    const answer = await answerHealth(
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
  return { ask, hooks }
}

describe('a server whose start hooks have not finished', () => {
  it('[HEALTH-012] /livez/<name> gives the state of that check alone', async () => {
    const { ask } = endpointsOver()
    expect(await ask('/livez/etcd')).toEqual({ status: 200, text: 'ok' })
    expect((await ask('/livez/poststarthook/bootstrap-controller')).status).toBe(500)
    expect((await ask('/livez/none')).status).toBe(404)
    expect((await ask('/livez')).status).toBe(500)
  })

  it('is live within the grace period, not ready, and not live after it', async () => {
    const inGrace = endpointsOver({ isInGrace: () => true })
    expect((await inGrace.ask('/livez')).status).toBe(200)
    expect((await inGrace.ask('/readyz')).status).toBe(500)
    expect((await inGrace.ask('/healthz')).status).toBe(500)
    const { status, text } = await endpointsOver().ask('/livez?verbose')
    expect(status).toBe(500)
    expect(text).toContain('[-]poststarthook/bootstrap-controller failed: reason withheld')
  })

  it('is ready when the last of them is done, and no longer when one that goes on has ended', async () => {
    const { ask, hooks } = endpointsOver()
    for (const hook of hooks.all) {
      expect((await ask('/readyz')).status).toBe(500)
      hooks.done(hook)
    }
    expect((await ask('/readyz')).status).toBe(200)
    const work = Promise.withResolvers<void>()
    const kept = hooks.keep(['start-apiextensions-controllers'], work.promise)
    expect((await ask('/readyz')).status).toBe(200)
    work.resolve()
    await kept
    const { text } = await ask('/readyz/poststarthook/start-apiextensions-controllers')
    expect(text).toContain('ended')
    expect((await ask('/livez')).status).toBe(500)
  })
})

describe('each check fails for a reason of its own', () => {
  const failing: [string, Parameters<typeof endpointsOver>[0], string[]][] = [
    ['log', { logFault: () => 'logging blocked' }, ['healthz', 'livez', 'readyz']],
    [
      'etcd',
      { store: { live: async () => 'damaged', ready: async () => undefined } },
      ['healthz', 'livez', 'readyz'],
    ],
    [
      'etcd-readiness',
      { store: { live: async () => undefined, ready: async () => 'full' } },
      ['readyz'],
    ],
    ['informer-sync', { isSynced: () => false }, ['readyz']],
    ['shutdown', { isStopping: () => true }, ['readyz']],
  ]
  it.each(failing)('%s', async (name, state, where) => {
    const { ask, hooks } = endpointsOver(state)
    hooks.done(...hooks.all)
    for (const endpoint of ['healthz', 'livez', 'readyz']) {
      const fails = where.includes(endpoint)
      const { status, text } = await ask(`/${endpoint}?verbose`)
      expect([endpoint, status]).toEqual([endpoint, fails ? 500 : 200])
      const failed = lines(text).filter((line) => line.startsWith('[-]'))
      expect(failed).toEqual(fails ? [`[-]${name} failed: reason withheld`] : [])
      expect((await ask(`/${endpoint}?exclude=${name}`)).status).toBe(200)
      if (fails) expect((await ask(`/${endpoint}/${name}`)).status).toBe(500)
    }
  })
})

describe('the health of a store', () => {
  const setUp = (check: () => Promise<StoreError | undefined>) => {
    const clock = new FakeClock()
    let asked = 0
    const store = {
      check: async () => {
        asked += 1
        return await check()
      },
    }
    return { clock, health: new StoreHealth({ store, clock, log: silentLog }), asked: () => asked }
  }

  it('fails when the store does not answer within the time', async () => {
    const { clock, health } = setUp(() => new Promise(() => {}))
    const answer = health.live(2000)
    await clock.step(2000)
    expect(await answer).toBe('error getting data from etcd: context deadline exceeded')
  })

  it('is asked for once a second at most, whoever asks how often', async () => {
    const { clock, health, asked } = setUp(async () => undefined)
    for (let i = 0; i < 20; i += 1) expect(await health.live(2000)).toBeUndefined()
    expect(asked()).toBe(1)
    await clock.step(1000)
    await Promise.all(Array.from({ length: 20 }, () => health.ready(2000)))
    expect(asked()).toBe(2)
  })

  it('shows no path of the server', async () => {
    const { health } = setUp(async () => {
      const reason = 'disk I/O error'
      throw new StoreError('unavailable', `cannot read /secret/state.db: ${reason}`, { reason })
    })
    expect(await health.live(2000)).toBe('error getting data from etcd: disk I/O error')
  })
})
