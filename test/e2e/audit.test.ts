/** The audit log of a real cluster against the history of its store: nothing changes without a request. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { observe } from '../../cluster/observe.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { storeKey } from '../../components/api-server/watch-cache/store-keys.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { ClusterRoleBinding } from '../../components/api/generated/types.ts'
import { eventually } from '../support/eventually.ts'
import { connectionsOf, openFiles } from './machine.ts'
import { createPlace } from './place.ts'

/** Without credentials of service accounts, controllers have the few rights of the controller manager itself, as upstream. */
const withoutAccounts = 'off'
const place = createPlace({ underprivileged: [withoutAccounts] })
afterAll(() => place[Symbol.asyncDispose]())

interface AuditEvent {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus: { readonly code: number }
}

interface Commit {
  readonly revision: number
  /** `apps/deployments/default/web` */
  readonly key: string
  readonly change: 'created' | 'changed' | 'gone'
}

/** Every commit the store ever took. */
function commitsIn(path: string): Commit[] {
  const database = new DatabaseSync(path, { readOnly: true })
  const rows = database
    .prepare('SELECT revision, create_revision, key, value IS NULL AS gone FROM log')
    .all() as { revision: number; create_revision: number; key: string; gone: number }[]
  database.close()
  return rows.map(({ revision, create_revision: born, key, gone }) => ({
    revision,
    key,
    change: gone === 1 ? 'gone' : born === revision ? 'created' : 'changed',
  }))
}

const { all } = resourcesOf(dialects.kubernetes)

/** Where the store keeps what a request named; some resources are served by two groups. */
function keyOf({ objectRef }: AuditEvent): string {
  const { apiGroup = '', resource, namespace, name } = objectRef ?? {}
  const stored = all.find((one) => one.group === apiGroup && one.plural === resource)
  const key = [stored?.namespaced && namespace, name].filter((part) => part).join('/')
  // Without a name it is the collection.
  return stored === undefined ? key : storeKey(stored, key).replace(/\/$/, '')
}

/** Commits without a request of their own: one request explains one commit, a deletecollection any number. */
function unexplained(commits: readonly Commit[], requests: readonly AuditEvent[]): Commit[] {
  const byKey = Map.groupBy(
    requests.filter(({ verb }) => verb !== 'deletecollection'),
    keyOf,
  )
  const collections = new Set(requests.filter(({ verb }) => verb === 'deletecollection').map(keyOf))
  const take = (key: string, wanted: string): boolean => {
    const left = byKey.get(key) ?? []
    const at = left.findIndex(({ verb }) => verb === wanted)
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  }
  return commits.filter(({ key, change }) => {
    const collection = key.slice(0, key.lastIndexOf('/'))
    if (change === 'created') {
      // The server may have chosen the name; a Lease may be made by an update.
      return !(take(key, 'create') || take(collection, 'create') || take(key, 'update'))
    }
    // A binding and an eviction are creates below the object that they change.
    const isNamed = ['update', 'patch', 'delete', 'create'].some((verb) => take(key, verb))
    return !isNamed && !collections.has(collection)
  })
}

/** A Deployment is rolled out and goes again, a pod is deleted by hand, a namespace with things in it too. */
async function makeTraffic(cluster: Cluster): Promise<void> {
  const { client } = cluster
  const { deployments, pods, namespaces, configMaps } = resourcesOf(client.dialect)
  const until = (isWanted: (count: number, running: number) => boolean): Promise<true> =>
    observe(
      {
        client: client.resource(pods),
        clock: client.clock,
        namespace: 'busy',
        signal: AbortSignal.timeout(90_000),
      },
      (objects) => {
        const seen = [...objects.values()]
        const running = seen.filter(
          (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
        )
        return isWanted(seen.length, running.length) ? true : undefined
      },
    )
  await client.resource(namespaces).create({ metadata: { name: 'busy' } })
  await client.resource(configMaps).create({
    metadata: { generateName: 'some-', namespace: 'busy' },
    data: { a: '1' },
  })
  const labels = { app: 'web' }
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace: 'busy' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
      },
    },
  })
  await until((_, running) => running === 3)
  await client.resource(namespaces).delete({ name: 'busy' })
  await until((count) => count === 0)
}

/** The requests of a stopped API server's audit log that succeeded. */
function requestsIn(path: string): AuditEvent[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ responseStatus: { code } }) => code >= 200 && code < 300)
}

/** What the processes of a cluster have in their hands: files of its store, and connections that they opened. */
async function pathsToState(cluster: Cluster): Promise<{ files: string[]; peers: string[] }> {
  const { components } = await cluster.control.call('status', {})
  const files: string[] = []
  const peers: string[] = []
  for (const { name, pid = -1 } of components) {
    files.push(...openFiles(pid, cluster.paths.store).map((path) => `${name} ${path}`))
    const isServer = name === 'api-server'
    if (!isServer) peers.push(...connectionsOf(pid).map((address) => `${name} ${address}`))
  }
  return { files, peers }
}

test('[RES-002] every state change of a cluster, the server’s own ones too, is a request in the audit log', async () => {
  const auditPath = join(place.root, 'tmp', 'audit.log')
  const cluster = await place.up('audited', ['--set', `api-server.audit-log-path=${auditPath}`])
  await makeTraffic(cluster)

  // No component but the API server has the store open, and they are connected to the API server alone.
  const { files, peers } = await pathsToState(cluster)
  expect(files).not.toEqual([])
  expect(files.filter((file) => !file.startsWith('api-server '))).toEqual([])
  expect(new Set(peers.map((peer) => peer.split(' ')[0]))).toEqual(
    new Set(['controller-manager', 'scheduler', 'node-1', 'node-2', 'node-3']),
  )
  expect(peers.filter((peer) => !peer.endsWith(`:${cluster.config.port}`))).toEqual([])

  // Stopping it writes the last records and unlocks the store.
  await cluster.control.call('stop-component', { name: 'api-server' })
  const commits = commitsIn(cluster.paths.store)
  const requests = requestsIn(auditPath)

  expect(commits[0]?.revision).toBe(1)
  expect(commits.map(({ revision }) => revision)).toEqual(commits.map((_, index) => index + 1))
  // The key that signs continue tokens is no object: nobody can ask for it.
  const objects = commits.filter(({ key }) => key !== '/registry/continue-token-key')
  expect(commits.length - objects.length).toBeLessThanOrEqual(1)
  expect(unexplained(objects, requests)).toEqual([])

  // The comparison sees what is missing: without the requests of anyone who writes, it fails.
  const users = new Set(requests.map(({ user }) => user.username))
  for (const name of ['system:apiserver', 'system:kube-scheduler', 'system:node:node-1']) {
    expect(users).toContain(name)
    const others = requests.filter(({ user }) => user.username !== name)
    expect(unexplained(objects, others), name).not.toEqual([])
  }
  // The server's own writes are as many as what it made.
  const own = requests.filter(({ user }) => user.username === 'system:apiserver')
  expect(own.map(({ verb }) => verb)).toContain('create')
  expect(own.map(keyOf)).toContain('/registry/namespaces/kube-system')
})

test('[RBAC-038] with service account credentials each controller acts as its own account, bound to its own role', async () => {
  const audit = (name: string): string => join(place.root, 'tmp', `${name}.log`)
  const accounts = 'system:serviceaccount:kube-system:'
  const manager = 'system:kube-controller-manager'
  const start = async (name: string, flag: string, nodes: string): Promise<Cluster> => {
    const settings = [
      `api-server.audit-log-path=${audit(name)}`,
      `controller-manager.use-service-account-credentials=${flag}`,
    ]
    const words = settings.flatMap((one) => ['--set', one])
    const cluster = await place.up(name, ['--nodes', nodes, ...words])
    const { namespaces, serviceAccounts } = resourcesOf(cluster.client.dialect)
    await cluster.client.resource(namespaces).create({ metadata: { name: 'a' } })
    const key = { namespace: 'a', name: 'default' }
    await eventually(async () => await cluster.client.resource(serviceAccounts).get(key))
    return cluster
  }
  const maker = ({ verb, objectRef }: AuditEvent): boolean =>
    verb === 'create' && objectRef?.resource === 'serviceaccounts' && objectRef.namespace === 'a'

  const on = await start('on', 'true', '1')
  await makeTraffic(on)
  const { roles, clusterRoles, roleBindings, clusterRoleBindings } = resourcesOf(on.client.dialect)
  const named = async (resource: typeof roles): Promise<KubeObject[]> =>
    (await on.client.resource(resource).list()).items.filter(({ metadata }) =>
      metadata.name?.startsWith('system:controller:'),
    )
  const found = [...(await named(clusterRoles)), ...(await named(roles))]
  const bindings = [...(await named(clusterRoleBindings)), ...(await named(roleBindings))]
  await on.control.call('stop-component', { name: 'api-server' })
  const requests = requestsIn(audit('on'))
  const users = new Set(requests.map(({ user }) => user.username))
  const acting = [...users].filter((user) => user.startsWith(accounts))
  const busy = ['deployment', 'replicaset', 'namespace', 'service-account']
  for (const name of busy) expect(acting).toContain(`${accounts}${name}-controller`)
  expect(requests.find(maker)?.user.username).toBe(`${accounts}service-account-controller`)
  for (const user of acting) {
    const account = user.slice(accounts.length)
    const role = `system:controller:${account}`
    expect(found.map(({ metadata }) => metadata.name)).toContain(role)
    const binding = bindings.find(({ metadata }) => metadata.name === role) as ClusterRoleBinding
    expect(binding.roleRef.name).toBe(role)
    expect(binding.subjects).toContainEqual(
      expect.objectContaining({ kind: 'ServiceAccount', name: account, namespace: 'kube-system' }),
    )
  }
  // The manager itself leads, reports that by an Event, and gets tokens for its controllers.
  const own = requests.filter(({ user, verb }) => {
    return user.username === manager && !['get', 'list', 'watch'].includes(verb)
  })
  const kinds = new Set(own.map(({ objectRef }) => objectRef?.resource))
  expect([...kinds].toSorted()).toEqual(['events', 'leases', 'serviceaccounts'])

  const off = await start(withoutAccounts, 'false', '0')
  await off.control.call('stop-component', { name: 'api-server' })
  const without = requestsIn(audit(withoutAccounts))
  expect(without.find(maker)?.user.username).toBe(manager)
  expect(without.filter(({ user }) => user.username.startsWith(accounts))).toEqual([])
})
