import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeleteOptions } from '../../../components/client/resource-client.ts'
import type { Discover } from '../../../components/client/server-resources.ts'
import { runGarbageCollector } from '../../../components/controller-manager/garbage-collector/garbage-collector.ts'
import type { KubeObject, OwnerReference } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { staticResources } from '../../support/static-discovery.ts'

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
  expect(harness.complaints.filter((text) => text.startsWith('error'))).toEqual([])
})

/** Kinds that other controllers of the process watch. */
let shared: readonly ('deployments' | 'replicaSets' | 'pods' | 'configMaps')[] = []

const collector = {
  name: 'garbage-collector-controller',
  start: (context: ReconcilerHarness['context'], signal: AbortSignal) => {
    for (const kind of shared) context.informers.informer(context.resources[kind])
    const discover: Discover = () => Promise.resolve(staticResources(context.dialect))
    return runGarbageCollector(discover, context, signal)
  },
}

function setUp(): void {
  harness = createReconcilerHarness()
}
async function start(): Promise<void> {
  await harness.start(collector)
  await harness.step(1000)
}

function ownedBy(owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference {
  const { apiVersion = '', kind = '', metadata } = owner
  return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '', ...more }
}

function put(
  resource: Resource,
  name: string,
  owners: readonly OwnerReference[] = [],
  metadata: KubeObject['metadata'] = {},
): KubeObject {
  return harness.cluster.seed(resource, {
    metadata: {
      name,
      ...(resource.namespaced ? { namespace: 'default' } : {}),
      ...(owners.length === 0 ? {} : { ownerReferences: [...owners] }),
      ...metadata,
    },
  })
}

async function remove(
  resource: Resource,
  name: string,
  propagationPolicy: NonNullable<DeleteOptions['propagationPolicy']> = 'Background',
): Promise<void> {
  const ref = { namespace: resource.namespaced ? 'default' : '', name }
  await harness.cluster.client().resource(resource).delete(ref, { propagationPolicy })
  await harness.step(1000)
}

const names = (resource: Resource): (string | undefined)[] =>
  harness.cluster.all(resource).map(({ metadata }) => metadata.name)

describe.each([
  { where: 'alone', kinds: [] },
  {
    where: 'beside controllers that watch the same kinds',
    kinds: ['deployments', 'replicaSets', 'pods', 'configMaps'] as const,
  },
])('garbage-collector-controller $where', ({ kinds }) => {
  beforeEach(() => {
    shared = kinds
  })

  it('lists and watches each kind once', async () => {
    setUp()
    await start()
    for (const verb of ['list', 'watch'] as const) {
      const calls = harness.cluster.calls.filter((call) => call.verb === verb)
      const asked = calls.map(({ resource }) => resource)
      expect(asked).toEqual(expect.arrayContaining(['pods', 'deployments', 'clusterroles']))
      expect(asked.filter((resource) => resource === 'pods')).toEqual(['pods'])
    }
  })

  it('background: what the owner leaves behind goes after it, all the way down', async () => {
    setUp()
    const { deployments, replicaSets, pods } = harness.resources
    const web = put(deployments, 'web')
    const set = put(replicaSets, 'web-1', [ownedBy(web)])
    put(pods, 'a', [ownedBy(set)])
    put(pods, 'b', [ownedBy(set)])
    put(pods, 'free')
    await start()
    expect(harness.cluster.writes).toEqual([])
    await remove(deployments, 'web')
    expect(names(replicaSets)).toEqual([])
    expect(names(pods)).toEqual(['free'])
  })

  it('what is known to have lost its owners is deleted unread', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    put(pods, 'a', [ownedBy(set)])
    await start()
    await remove(replicaSets, 'web')
    expect(names(pods)).toEqual([])
    const calls = harness.cluster.calls.filter(({ resource }) => resource === 'pods')
    expect(calls.map(({ verb }) => verb)).toEqual(['list', 'watch', 'delete'])
  })

  it('what gets another owner before it is deleted unread stays', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    const other = put(replicaSets, 'other')
    put(pods, 'a', [ownedBy(set)])
    await start()
    let isAdopted = false
    harness.cluster.react('delete', 'pods', () => {
      if (isAdopted) return
      isAdopted = true
      harness.cluster.change(pods, 'default/a', (pod) => {
        pod.metadata.ownerReferences = [ownedBy(set), ownedBy(other)]
      })
    })
    await remove(replicaSets, 'web')
    const [pod] = harness.cluster.all(pods)
    expect(isAdopted).toBe(true)
    expect(pod?.metadata.ownerReferences).toEqual([ownedBy(other)])
    await remove(replicaSets, 'other')
    expect(names(pods)).toEqual([])
  })

  it('what lost its owner while nobody looked goes when the collector starts', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const gone = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'gone', uid: 'no-such-uid' },
    }
    put(replicaSets, 'gone')
    put(pods, 'of-another-with-that-name', [ownedBy(gone)])
    await start()
    expect(names(pods)).toEqual([])
    expect(names(replicaSets)).toEqual(['gone'])
  })

  it('a new object whose owner is gone already goes too', async () => {
    setUp()
    await start()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    await remove(replicaSets, 'web')
    put(pods, 'late', [ownedBy(set)])
    await harness.step(1000)
    expect(names(pods)).toEqual([])
  })

  it('a new object goes with its missing owner also when others of that owner linger', async () => {
    setUp()
    await start()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    await remove(replicaSets, 'web')
    put(pods, 'held', [ownedBy(set)], { finalizers: ['agent'] })
    await harness.step(1000)
    put(pods, 'late', [ownedBy(set)])
    await harness.step(1000)
    expect(names(pods)).toEqual(['held'])
  })

  it('foreground: the owner goes after the dependents that block it', async () => {
    setUp()
    const { deployments, replicaSets, pods } = harness.resources
    const web = put(deployments, 'web')
    const set = put(replicaSets, 'web-1', [ownedBy(web, { blockOwnerDeletion: true })])
    put(pods, 'a', [ownedBy(set, { blockOwnerDeletion: true })], { finalizers: ['agent'] })
    put(pods, 'b', [ownedBy(set, { blockOwnerDeletion: true })])
    await start()
    await remove(deployments, 'web', 'Foreground')
    expect(names(pods)).toEqual(['a'])
    expect(names(replicaSets)).toEqual(['web-1'])
    expect(names(deployments)).toEqual(['web'])
    harness.cluster.change(pods, 'default/a', (pod) => {
      delete pod.metadata.finalizers
    })
    await harness.step(1000)
    expect(names(replicaSets)).toEqual([])
    expect(names(deployments)).toEqual([])
  })

  it('foreground does not wait for a dependent whose end no watch told of', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    put(pods, 'a', [ownedBy(set, { blockOwnerDeletion: true })])
    await start()
    harness.cluster.react('delete', 'pods', () => {
      throw new StatusError('NotFound', 'gone before it was told of')
    })
    harness.cluster.react('get', 'pods', () => {
      throw new StatusError('NotFound', 'gone before it was told of')
    })
    await remove(replicaSets, 'web', 'Foreground')
    expect(names(replicaSets)).toEqual([])
  })

  it('foreground goes on after reads by a server that is behind', async () => {
    setUp()
    const { deployments, replicaSets, pods } = harness.resources
    const web = put(deployments, 'web')
    const set = put(replicaSets, 'web-1', [ownedBy(web, { blockOwnerDeletion: true })])
    put(pods, 'a', [ownedBy(set, { blockOwnerDeletion: true })])
    await start()
    const old = new Map([web, set].map((object) => [object.metadata.name, object]))
    let isBehind = true
    for (const plural of ['deployments', 'replicasets'])
      harness.cluster.react('get', plural, ({ key, resourceVersion }) => {
        if (!isBehind) return undefined
        const object = old.get(key.replace('default/', ''))
        if (Number(resourceVersion ?? 0) > Number(object?.metadata.resourceVersion))
          throw new StatusError('Timeout', 'Too large resource version')
        return object
      })
    await remove(deployments, 'web', 'Foreground')
    isBehind = false
    await harness.step(60_000)
    for (const resource of [deployments, replicaSets, pods]) expect(names(resource)).toEqual([])
  })

  it('foreground does not wait for dependents that do not block', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web')
    put(pods, 'a', [ownedBy(set)], { finalizers: ['agent'] })
    await start()
    await remove(replicaSets, 'web', 'Foreground')
    expect(names(replicaSets)).toEqual([])
    expect(names(pods)).toEqual(['a'])
    expect(harness.cluster.peek(pods, 'default/a')?.metadata.deletionTimestamp).toBeDefined()
  })

  it('orphan: the dependents stay, without their reference', async () => {
    setUp()
    const { replicaSets, pods, configMaps } = harness.resources
    const set = put(replicaSets, 'web')
    const other = put(configMaps, 'other')
    put(pods, 'a', [ownedBy(set, { controller: true })])
    put(pods, 'b', [ownedBy(set), ownedBy(other)])
    await start()
    await remove(replicaSets, 'web', 'Orphan')
    expect(names(replicaSets)).toEqual([])
    expect(names(pods)).toEqual(['a', 'b'])
    const owners = harness.cluster.all(pods).map(({ metadata }) => metadata.ownerReferences)
    expect(owners).toEqual([[], [ownedBy(other)]])
  })

  it('an object with one owner left stays, and loses the reference to the other', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const one = put(replicaSets, 'one')
    const two = put(replicaSets, 'two')
    put(pods, 'shared', [ownedBy(one), ownedBy(two)])
    await start()
    await remove(replicaSets, 'one')
    expect(harness.cluster.peek(pods, 'default/shared')?.metadata.ownerReferences).toEqual([
      ownedBy(two),
    ])
    await remove(replicaSets, 'two')
    expect(names(pods)).toEqual([])
  })

  it('an object in two worlds: one owner waits for it, another keeps it', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const one = put(replicaSets, 'one')
    const two = put(replicaSets, 'two')
    put(pods, 'shared', [ownedBy(one, { blockOwnerDeletion: true }), ownedBy(two)])
    await start()
    await remove(replicaSets, 'one', 'Foreground')
    expect(names(replicaSets)).toEqual(['two'])
    expect(harness.cluster.peek(pods, 'default/shared')?.metadata.ownerReferences).toEqual([
      ownedBy(two),
    ])
  })

  it('a circle deleted in the foreground does not wait for itself', async () => {
    setUp()
    const { configMaps } = harness.resources
    const block = { blockOwnerDeletion: true }
    const a = put(configMaps, 'a')
    const b = put(configMaps, 'b', [ownedBy(a, block)])
    harness.cluster.change(configMaps, 'default/a', (object) => {
      object.metadata.ownerReferences = [ownedBy(b, block)]
    })
    await start()
    await remove(configMaps, 'a', 'Foreground')
    await harness.step(10_000)
    expect(names(configMaps)).toEqual([])
  })

  it('cluster-scoped owners keep namespaced and cluster-scoped dependents', async () => {
    setUp()
    const { clusterRoles, clusterRoleBindings, pods } = harness.resources
    const role = put(clusterRoles, 'role')
    put(clusterRoleBindings, 'binding', [ownedBy(role)])
    put(pods, 'a', [ownedBy(role)])
    await start()
    expect(names(pods)).toEqual(['a'])
    await remove(clusterRoles, 'role')
    expect(names(pods)).toEqual([])
    expect(names(clusterRoleBindings)).toEqual([])
  })

  it('an owner in another namespace does not count, and an event says so', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const far = harness.cluster.seed<KubeObject>(replicaSets, {
      metadata: { name: 'far', namespace: 'other' },
    })
    put(pods, 'astray', [ownedBy(far)])
    harness.cluster.seed(pods, {
      metadata: { name: 'right', namespace: 'other', ownerReferences: [ownedBy(far)] },
    })
    await start()
    expect(names(pods)).toEqual(['right'])
    expect(harness.events).toEqual([
      `Warning OwnerRefInvalidNamespace Pod default/astray: ownerRef [apps/v1/ReplicaSet, namespace: default, name: far, uid: ${far.metadata.uid}] does not exist in namespace "default"`,
    ])
  })

  it('a cluster-scoped object that names a namespaced owner is left alone', async () => {
    setUp()
    const { configMaps, clusterRoles } = harness.resources
    const owner = put(configMaps, 'owner')
    put(clusterRoles, 'odd', [ownedBy(owner)])
    await start()
    await remove(configMaps, 'owner')
    expect(names(clusterRoles)).toEqual(['odd'])
  })

  it('an owner of a kind nobody serves keeps its dependents', async () => {
    setUp()
    const { pods } = harness.resources
    put(pods, 'a', [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'u' }])
    await start()
    await harness.step(120_000)
    expect(names(pods)).toEqual(['a'])
  })

  it('deletes nothing while it cannot ask the server about an owner', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const gone = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone', uid: 'gone' }
    put(pods, 'a', [gone])
    const allow = harness.cluster.react('get', replicaSets.plural, () => {
      throw new StatusError('InternalError', 'no')
    })
    await start()
    await harness.step(5000)
    expect(names(pods)).toEqual(['a'])
    allow()
    await harness.step(60_000)
    expect(names(pods)).toEqual([])
  })

  it('waits for every list before it lets an owner go ahead of its dependents', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web', [], {
      deletionTimestamp: '2025-01-01T00:00:00Z',
      finalizers: ['foregroundDeletion'],
    })
    put(pods, 'a', [ownedBy(set, { blockOwnerDeletion: true })], { finalizers: ['agent'] })
    const allow = harness.cluster.react('list', 'pods', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    await start()
    await harness.step(10_000)
    expect(names(replicaSets)).toEqual(['web'])
    allow()
    await harness.step(31_000)
    expect(names(replicaSets)).toEqual(['web'])
    harness.cluster.change(pods, 'default/a', (pod) => {
      delete pod.metadata.finalizers
    })
    await harness.step(1000)
    expect(names(replicaSets)).toEqual([])
  })

  it('orphaning goes on after a restart', async () => {
    setUp()
    const { replicaSets, pods } = harness.resources
    const set = put(replicaSets, 'web', [], {
      deletionTimestamp: '2025-01-01T00:00:00Z',
      finalizers: ['orphan'],
    })
    put(pods, 'a', [ownedBy(set)])
    await start()
    expect(names(replicaSets)).toEqual([])
    expect(harness.cluster.peek(pods, 'default/a')?.metadata.ownerReferences).toEqual([])
  })

  it('watches what can be owned, and no events', async () => {
    setUp()
    await start()
    const watched = harness.cluster.calls
      .filter(({ verb }) => verb === 'watch')
      .map(({ resource }) => resource)
    expect(watched).toEqual(expect.arrayContaining(['pods', 'clusterroles', 'namespaces']))
    expect(watched).not.toContain('events')
  })

  it('a kind that is served from now on is collected within a second', async () => {
    setUp()
    const { configMaps, customResourceDefinitions } = harness.resources
    const widgets: Resource = {
      ...configMaps,
      group: 'example.com',
      version: 'v1',
      plural: 'widgets',
      kind: 'Widget',
      storagePrefix: 'example.com/widgets',
    }
    const name = 'widgets.example.com'
    let asked = 0
    await harness.start({
      ...collector,
      start: (context, signal) => {
        const discover: Discover = () => {
          asked += 1
          const { all, preferred } = staticResources(context.dialect)
          const more = harness.cluster.peek(customResourceDefinitions, name) ? [widgets] : []
          return Promise.resolve({
            all: [...all, ...more],
            preferred: [...preferred, ...more],
            failed: [],
          })
        }
        return runGarbageCollector(discover, context, signal)
      },
    })
    await harness.step(1000)
    const before = asked
    harness.cluster.seed(customResourceDefinitions, { metadata: { name } })
    for (const step of ['named', 'established'])
      harness.cluster.change(customResourceDefinitions, name, (definition) => {
        definition['status'] = { step }
      })
    await harness.step(500)
    expect(asked).toBe(before + 1)
    const owner = put(widgets, 'w')
    put(configMaps, 'of-w', [ownedBy(owner)])
    await harness.step(0)
    harness.cluster.remove(widgets, 'default/w')
    await harness.step(500)
    expect(names(configMaps)).toEqual([])
    harness.cluster.remove(customResourceDefinitions, name)
    await harness.step(500)
    expect(asked).toBe(before + 2)
  })

  it('a group that does not say yet what it serves is asked again soon, then ever more rarely', async () => {
    setUp()
    const askedAtMs: number[] = []
    await harness.start({
      ...collector,
      start: (context, signal) =>
        runGarbageCollector(
          () => {
            askedAtMs.push(harness.clock.now())
            return Promise.resolve(staticResources(context.dialect, ['example.com/v1']))
          },
          context,
          signal,
        ),
    })
    for (let second = 0; second < 120; second += 1) await harness.step(1000)
    const waits = askedAtMs.map((at, index) => at - (askedAtMs[index - 1] ?? at))
    expect(waits.slice(2, 8)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000])
  })

  it('counts discoveries that failed', async () => {
    setUp()
    let refusals = 2
    await harness.start({
      ...collector,
      start: (context, signal) =>
        runGarbageCollector(
          () => {
            refusals -= 1
            return refusals >= 0
              ? Promise.reject(new StatusError('ServiceUnavailable', 'not now'))
              : Promise.resolve(staticResources(context.dialect))
          },
          context,
          signal,
        ),
    })
    await harness.step(10_000)
    const name = 'garbagecollector_controller_resources_sync_error_total'
    expect(harness.shown(name)).toEqual(['2'])
  })
})
