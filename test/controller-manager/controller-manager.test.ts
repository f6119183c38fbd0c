import { afterEach, describe, expect, it } from 'vitest'
import { diskFiles } from '../../components/component-base/files.ts'
import { dialects } from '../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { ClusterRole } from '../../components/api/generated/types.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { RestClient } from '../../components/client/rest-client.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { clusterRoleAggregation } from '../../components/controller-manager/cluster-role-aggregation.ts'
import { runControllerManager } from '../../components/controller-manager/controller-manager.ts'
import type { ControllerEntry } from '../../components/controller-manager/controller-context.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import {
  selectControllers,
  whyGatedOff,
} from '../../components/controller-manager/select-controllers.ts'
import {
  createTokenSource,
  withToken,
} from '../../components/controller-manager/service-account-clients.ts'
import {
  absentControllers,
  upstreamControllers,
} from '../../components/controller-manager/upstream-controllers.ts'
import { notFound, unauthorized } from '../../components/machinery/objects/status-error.ts'
import { createHarness } from '../support/controller-harness.ts'
import type { Harness } from '../support/controller-harness.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { unseenMetrics } from '../support/unseen-metrics.ts'

const harnesses: Harness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop()
})

describe('--controllers', () => {
  const names = (...selection: string[]) =>
    selectControllers(controllers, selection).map(({ name }) => name)

  it('[BOOT-019] tokencleaner and bootstrapsigner run only when named', () => {
    expect(names('*')).not.toContain('token-cleaner-controller')
    expect(names('*')).not.toContain('bootstrap-signer-controller')
    expect(names('*').length).toBeGreaterThan(4)
    expect(names('*', 'tokencleaner', 'bootstrapsigner', 'selinux-warning-controller')).toEqual(
      controllers.map(({ name }) => name),
    )
    expect(names('tokencleaner')).toEqual(['token-cleaner-controller'])
  })

  it('takes old and new names, and -name for all but one', () => {
    expect(names('*', '-csrcleaner')).not.toContain('certificatesigningrequest-cleaner-controller')
    expect(names('*', '-certificatesigningrequest-cleaner-controller')).toEqual(
      names('*', '-csrcleaner'),
    )
    expect(names('bootstrap-signer-controller')).toEqual(names('bootstrapsigner'))
  })

  it('refuses a name that no controller has', () => {
    expect(() => names('*', 'tokencleanr')).toThrow(
      '"tokencleanr" is not in the list of known controllers; did you mean "tokencleaner"?',
    )
  })

  it('names the known controllers to who asks for another', () => {
    expect(() => names('xyz')).toThrow(
      /^"xyz" is not in the list of known controllers; known controllers: bootstrap-signer-controller, .*, ttl-controller(, [a-z-]+)*$/,
    )
  })

  it('takes every name and alias of upstream, and says why those do not run that are not here', () => {
    const absent = absentControllers(controllers)
    const all = [...controllers, ...absent]
    for (const { name, aliases } of upstreamControllers)
      for (const one of [name, ...aliases])
        expect(selectControllers(all, [one]).map((entry) => entry.name)).toEqual([name])
    const why = new Map(absent.map((entry) => [entry.name, entry.why]))
    expect(why.get('node-route-controller')).toBe(
      'it needs a cloud provider; clusters here have none',
    )
    expect(why.has('ttl-controller')).toBe(false)
  })

  it('a controller runs only while all its gates are on, and the log says which are off', () => {
    const gates = ['MultiCIDRServiceAllocator', 'JobManagedBy'] as const
    expect(whyGatedOff({ gates }, defaultFeatureGates)).toBe(
      'it is disabled by a feature gate: MultiCIDRServiceAllocator',
    )
    const on = { ...defaultFeatureGates, MultiCIDRServiceAllocator: true }
    expect(whyGatedOff({ gates }, on)).toBeUndefined()
    expect(whyGatedOff({}, defaultFeatureGates)).toBeUndefined()
  })

  it('each controller has upstream’s name and aliases, and is on where upstream’s is', () => {
    const shape = ({ name, aliases, defaultOn }: (typeof upstreamControllers)[number]) => ({
      name,
      aliases,
      defaultOn,
    })
    const upstream = new Map(upstreamControllers.map((one) => [one.name, shape(one)]))
    for (const entry of controllers) {
      // Upstream's provisioners are programs of their own.
      if (entry.name === 'simulated-provisioner-controller') continue
      expect(shape(entry)).toEqual(upstream.get(entry.name))
    }
  })

  it('no two controllers share a name', () => {
    const all = controllers.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('cluster role aggregation', () => {
  it('gives a role the rules of all roles it selects, and follows their changes', async () => {
    const harness = createHarness()
    harnesses.push(harness)
    const { cluster, resources } = harness
    const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] })
    const add = (name: string, label: string, resource: string): void => {
      cluster.seed(resources.clusterRoles, {
        metadata: { name, labels: { [label]: 'true' } },
        rules: [rule(resource)],
      })
    }
    cluster.seed(resources.clusterRoles, {
      metadata: { name: 'view', labels: { 'to-view': 'true' } },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'to-view': 'true' } }] },
      rules: [rule('stale')],
    })
    add('z-pods', 'to-view', 'pods')
    add('a-nodes', 'to-view', 'nodes')
    add('b-nodes', 'to-view', 'nodes')
    add('other', 'to-edit', 'secrets')
    await harness.start(clusterRoleAggregation)
    const rules = () =>
      cluster
        .peek<ClusterRole>(resources.clusterRoles, 'view')
        ?.rules?.map(({ resources: [name] = [] }) => name)
    expect(rules()).toEqual(['nodes', 'pods'])
    cluster.change(resources.clusterRoles, 'other', ({ metadata }) => {
      metadata.labels = { 'to-view': 'true' }
    })
    cluster.remove(resources.clusterRoles, 'z-pods')
    await harness.settle()
    expect(rules()).toEqual(['nodes', 'secrets'])
  })
})

describe('tokens of service accounts', () => {
  function tokens() {
    const clock = new FakeClock()
    const cluster = new FakeCluster(clock)
    let made = 0
    const exists = { account: false }
    const undo = cluster.react('create', 'serviceaccounts/token', ({ key }) => {
      if (!exists.account) throw notFound(resourcesOf(dialects.kubernetes).serviceAccounts, key)
      made += 1
      const expirationTimestamp = new Date(clock.now() + 3_600_000).toISOString()
      return { status: { token: `t${made}`, expirationTimestamp } }
    })
    cluster.react('create', 'serviceaccounts', () => {
      exists.account = true
    })
    return { clock, cluster, undo, source: createTokenSource(cluster.client(), 'job-controller') }
  }

  it('are asked for once, for an account that is made when it is not there', async () => {
    const { cluster, source } = tokens()
    expect(await Promise.all([source.token(), source.token()])).toEqual(['t1', 't1'])
    expect(await source.token()).toBe('t1')
    expect(cluster.writes).toEqual([
      'create serviceaccounts/token kube-system/job-controller',
      'create serviceaccounts kube-system/job-controller',
      'create serviceaccounts/token kube-system/job-controller',
    ])
  })

  it('are renewed in time, and kept while renewal fails but they still hold', async () => {
    const { clock, cluster, source } = tokens()
    await source.token()
    await clock.step(0.8 * 3_600_000)
    expect(await source.token()).toBe('t2')
    const away = cluster.react('create', 'serviceaccounts/token', () => {
      throw new ConnectionError('refused', 'down')
    })
    await clock.step(0.9 * 3_600_000)
    expect(await source.token()).toBe('t2')
    await clock.step(0.2 * 3_600_000)
    await expect(source.token()).rejects.toThrow('down')
    away()
    expect(await source.token()).toBe('t3')
  })

  it('are replaced after the server refused one', async () => {
    const { source } = tokens()
    const sent: unknown[] = []
    const rest = {
      json: async ({ headers }: { headers: Record<string, string> }) => {
        sent.push(headers['authorization'])
        if (sent.length === 1) throw unauthorized()
      },
    } as unknown as RestClient
    const client = withToken(rest, source)
    await expect(client.json({ method: 'GET', path: '/' })).rejects.toThrow('Unauthorized')
    await client.json({ method: 'GET', path: '/' })
    expect(sent).toEqual(['Bearer t1', 'Bearer t2'])
  })
})

describe('controller manager', () => {
  function manage(entries: ControllerEntry[], flags: string[] = []) {
    const clock = new FakeClock()
    const cluster = new FakeCluster(clock)
    const stop = new AbortController()
    const accounts: string[] = []
    const start = () =>
      runControllerManager(
        {
          client: cluster.client(),
          clientOf: (account) => {
            accounts.push(account)
            return cluster.client()
          },
          files: diskFiles,
          entries,
          options: parseFlags(controllerManagerFlags, flags),
          gates: defaultFeatureGates,
          clock,
          log: silentLog,
          queues: () => createWorkQueue({ clock }),
          metrics: unseenMetrics(),
        },
        stop.signal,
      )
    return { clock, cluster, stop, accounts, start }
  }
  const entry = (name: string, run: ControllerEntry['start']): ControllerEntry => ({
    name,
    aliases: [],
    defaultOn: true,
    start: run,
  })
  const untilAborted: ControllerEntry['start'] = (_, signal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

  it('runs controllers only while it leads, each as its own account', async () => {
    const journal: string[] = []
    const one = entry('bootstrap-signer-controller', async (context, signal) => {
      journal.push('runs')
      await untilAborted(context, signal)
      journal.push('stops')
    })
    const { clock, cluster, stop, accounts, start } = manage([one])
    const leases = resourcesOf(dialects.kubernetes).leases
    cluster.seed(leases, {
      metadata: { namespace: 'kube-system', name: 'kube-controller-manager' },
      spec: { holderIdentity: 'other', leaseDurationSeconds: 15 },
    })
    const done = start()
    await clock.step(10_000)
    expect(journal).toEqual([])
    await clock.step(10_000)
    expect(journal).toEqual(['runs'])
    expect(accounts).toEqual(['bootstrap-signer'])
    const [took] = cluster.all(resourcesOf(dialects.kubernetes).events)
    const lease = cluster.peek(leases, 'kube-system/kube-controller-manager')
    expect(took).toMatchObject({
      type: 'Normal',
      reason: 'LeaderElection',
      message: `${lease?.['spec'].holderIdentity} became leader`,
      involvedObject: { kind: 'Lease', name: 'kube-controller-manager', namespace: 'kube-system' },
      source: { component: 'kube-controller-manager' },
    })
    stop.abort()
    await done
    expect(journal).toEqual(['runs', 'stops'])
    expect(cluster.peek(leases, 'kube-system/kube-controller-manager')?.['spec']).toMatchObject({
      holderIdentity: '',
    })
  })

  it('a controller that fails ends the others and the manager', async () => {
    const gate = Promise.withResolvers<void>()
    let stopped = false
    const failing = entry('a', async () => {
      await gate.promise
      throw new Error('broken')
    })
    const other = entry('b', async (context, signal) => {
      await untilAborted(context, signal)
      stopped = true
    })
    const { start } = manage([failing, other], ['--leader-elect=false'])
    const done = start()
    await settle()
    gate.resolve()
    await expect(done).rejects.toThrow('broken')
    expect(stopped).toBe(true)
  })
})
