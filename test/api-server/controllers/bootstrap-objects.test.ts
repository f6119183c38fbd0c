import { beforeEach, describe, expect, test } from 'vitest'
import { ensureBootstrapObjects } from '../../../components/api-server/controllers/bootstrap-objects.ts'
import type { BootstrapOptions } from '../../../components/api-server/controllers/bootstrap-objects.ts'
import type { LocalClient } from '../../../components/api-server/registry/local-client.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { alreadyExists, conflict } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'

describe.each([dialects.kubernetes, dialects.svc])('at its start ($name)', (dialect) => {
  const resources = resourcesOf(dialect)
  let reader: FakeReader
  let writes: string[]

  beforeEach(() => {
    reader = new FakeReader()
    writes = []
  })

  function client(): LocalClient {
    return {
      get: (resource, namespace, name) => reader.get(resource, namespace, name),
      isReadable: () => true,
      create: async (resource, namespace, object) => {
        if (reader.get(resource, namespace, object.metadata.name ?? '')) {
          throw alreadyExists(resource, object.metadata.name ?? '')
        }
        writes.push(`create ${resource.plural} ${object.metadata.name}`)
        reader.put(resource, object)
      },
      update: async (resource, namespace, object) => {
        const name = object.metadata.name ?? ''
        const current = reader.get(resource, namespace, name)
        if (current?.metadata.resourceVersion !== object.metadata.resourceVersion) {
          throw conflict(resource, name, 'modified')
        }
        writes.push(`update ${resource.plural} ${name}`)
        reader.put(resource, object)
      },
      delete: () => Promise.reject(new Error('nothing of it is deleted')),
      updateStatus: () => Promise.reject(new Error('nothing of it has a status')),
    }
  }

  const start = (more: Partial<BootstrapOptions> = {}): Promise<void> =>
    ensureBootstrapObjects({
      client: client(),
      dialect,
      gates: defaultFeatureGates,
      withPolicy: true,
      apiServer: { serviceIp: '10.96.0.1', servicePort: 443, address: '192.0.2.7', port: 6443 },
      served: resources.all.filter((one) => one.servedByDefault),
      ...more,
    })

  const named = (resource: Resource, name: string, namespace = ''): KubeObject =>
    reader.get(resource, namespace, name) as KubeObject

  /** Replaces parts of a stored object. */
  function change(resource: Resource, name: string, parts: object, metadata: object = {}): void {
    const old = named(resource, name)
    reader.put(resource, { ...old, ...parts, metadata: { ...old.metadata, ...metadata } })
  }

  test('every group and version that is served has an APIService', async () => {
    await start()
    const { labels } = named(resources.apiServices, 'v1.').metadata
    expect(labels).toEqual({
      [labelKey(dialect, 'kube-aggregator', 'automanaged')]: 'onstart',
    })
    expect(named(resources.apiServices, 'v1.')['spec']).toEqual({
      version: 'v1',
      groupPriorityMinimum: 18_000,
      versionPriority: 1,
    })
    expect(named(resources.apiServices, 'v2.autoscaling')['spec']).toEqual({
      group: 'autoscaling',
      version: 'v2',
      groupPriorityMinimum: 17_500,
      versionPriority: 30,
    })
    expect(reader.get(resources.apiServices, '', 'v1beta1.policy')).toBeUndefined()
    expect(writes.filter((write) => write.startsWith('create apiservices'))).toHaveLength(20)
  })

  test('the roles admin, edit and view allow from the start what the controller would gather', async () => {
    await start()
    const rulesOf = (name: string): unknown[] => named(resources.clusterRoles, name)['rules']
    const gathered = (name: string): unknown[] => rulesOf(`system:aggregate-to-${name}`)
    expect(rulesOf('view')).toEqual(gathered('view'))
    expect(rulesOf('edit')).toEqual(
      expect.arrayContaining([...gathered('edit'), ...rulesOf('view')]),
    )
    expect(rulesOf('admin')).toEqual(
      expect.arrayContaining([...gathered('admin'), ...rulesOf('edit')]),
    )
  })

  test('an empty store gets namespaces, policy, classes and the Service', async () => {
    await start()
    for (const name of [
      dialect.systemNamespace,
      dialect.publicNamespace,
      dialect.nodeLeaseNamespace,
    ]) {
      expect(named(resources.namespaces, name)).toBeDefined()
    }
    expect(named(resources.priorityClasses, 'system-node-critical')['value']).toBe(2_000_001_000)
    const service = named(resources.services, dialect.apiServerService, 'default')
    expect(service['spec'].clusterIP).toBe('10.96.0.1')
    expect(named(resources.endpoints, dialect.apiServerService, 'default')['subsets']).toEqual([
      { addresses: [{ ip: '192.0.2.7' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ])
    expect(writes.slice(0, 4).every((write) => write.startsWith('create namespaces'))).toBe(true)
    expect(writes.length).toBeGreaterThan(130)
  })

  test('a second start writes nothing', async () => {
    await start()
    writes = []
    await start()
    expect(writes).toEqual([])
  })

  test('[RBAC-033] missing rules and subjects are put back, extra ones stay', async () => {
    await start()
    const extra = { apiGroups: ['x'], resources: ['y'], verbs: ['get'] }
    change(resources.clusterRoles, 'system:kube-dns', { rules: [extra] })
    const extraSubject = { kind: 'User', name: 'jane' }
    change(resources.clusterRoleBindings, 'cluster-admin', { subjects: [extraSubject] })
    writes = []
    await start()
    expect(writes.toSorted()).toEqual([
      'update clusterrolebindings cluster-admin',
      'update clusterroles system:kube-dns',
    ])
    expect(named(resources.clusterRoles, 'system:kube-dns')['rules']).toEqual([
      extra,
      { apiGroups: [''], resources: ['endpoints'], verbs: ['list', 'watch'] },
      { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
    ])
    expect(named(resources.clusterRoleBindings, 'cluster-admin')['subjects']).toEqual([
      extraSubject,
      expect.objectContaining({ kind: 'Group', name: 'system:masters' }),
    ])
    writes = []
    await start()
    expect(writes).toEqual([])
  })

  test('a rule that is covered in other words is not missing', async () => {
    await start()
    const wider = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    change(resources.clusterRoles, 'system:kube-dns', { rules: wider })
    writes = []
    await start()
    expect(writes).toEqual([])
  })

  test('[RBAC-034] autoupdate: "false" keeps an object as it is', async () => {
    await start()
    const annotations = { [`rbac.authorization.${dialect.labelDomain}/autoupdate`]: 'false' }
    change(resources.clusterRoles, 'system:kube-dns', { rules: [] }, { annotations })
    writes = []
    await start()
    expect(writes).toEqual([])
    expect(named(resources.clusterRoles, 'system:kube-dns')['rules']).toEqual([])
  })

  test('gathered rules of an aggregated role are left alone; a lost selector is put back', async () => {
    await start()
    const gathered = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    change(resources.clusterRoles, 'view', { rules: gathered })
    writes = []
    await start()
    expect(writes).toEqual([])
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    change(resources.clusterRoles, 'view', { aggregationRule })
    await start()
    expect(
      named(resources.clusterRoles, 'view')['aggregationRule'].clusterRoleSelectors,
    ).toHaveLength(2)
    expect(named(resources.clusterRoles, 'view')['rules']).toEqual(gathered)
  })

  test('a lost label or annotation is put back', async () => {
    await start()
    change(resources.clusterRoles, 'view', {}, { labels: { mine: 'x' }, annotations: {} })
    await start()
    const { labels, annotations } = named(resources.clusterRoles, 'view').metadata
    expect(labels).toMatchObject({
      mine: 'x',
      [`${dialect.labelDomain}/bootstrapping`]: 'rbac-defaults',
    })
    expect(Object.values(annotations ?? {})).toEqual(['true'])
  })

  test('two servers that start at once do not fail, and both addresses are published', async () => {
    const at = (address: string) => ({
      apiServer: { serviceIp: '10.96.0.1', servicePort: 443, address, port: 6443 },
    })
    const racing: LocalClient = {
      ...client(),
      create: async (resource, namespace, object) => {
        await new Promise((resolve) => setImmediate(resolve))
        await client().create(resource, namespace, object)
      },
      update: async (resource, namespace, object) => {
        await new Promise((resolve) => setImmediate(resolve))
        await client().update(resource, namespace, object)
      },
    }
    await Promise.all([
      start({ client: racing, ...at('192.0.2.8') }),
      start({ client: racing, ...at('192.0.2.7') }),
    ])
    const [subset] = named(resources.endpoints, dialect.apiServerService, 'default')['subsets']
    expect(subset.addresses).toEqual([{ ip: '192.0.2.7' }, { ip: '192.0.2.8' }])
  })

  test('after a start on another port or address the endpoints are where the server is', async () => {
    const startAt = (address: string, port: number): Promise<void> =>
      start({ apiServer: { serviceIp: '10.96.0.1', servicePort: 443, address, port } })
    const published = () => {
      const { apiServerService: name } = dialect
      const [subset] = named(resources.endpoints, name, 'default')['subsets']
      const slice = named(resources.endpointSlices, name, 'default')
      const [servicePort] = named(resources.services, name, 'default')['spec'].ports
      const addresses = (slice['endpoints'] as { addresses: string[] }[]).flatMap(
        (endpoint) => endpoint.addresses,
      )
      expect(subset.addresses.map(({ ip }: { ip: string }) => ip)).toEqual(addresses)
      return { addresses, ports: [subset, slice].map((one) => one['ports'][0].port), servicePort }
    }
    await startAt('127.0.0.1', 6443)
    expect(published()).toMatchObject({ addresses: ['127.0.0.1'], ports: [6443, 6443] })
    await startAt('127.0.0.1', 7443)
    expect(published()).toMatchObject({
      addresses: ['127.0.0.1'],
      ports: [7443, 7443],
      servicePort: { port: 443, targetPort: 7443 },
    })
    await startAt('192.0.2.7', 7443)
    expect(published().addresses).toEqual(['192.0.2.7'])
  })

  test('what delegating servers need is published and follows the flags', async () => {
    await start({ authentication: { clientCaPem: 'one' } })
    await start({ authentication: { clientCaPem: 'two' } })
    const map = named(
      resources.configMaps,
      'extension-apiserver-authentication',
      dialect.systemNamespace,
    )
    expect(map['data']).toEqual({ 'client-ca-file': 'two' })
  })

  test('without RBAC there is no policy', async () => {
    await start({ withPolicy: false })
    expect(reader.list(resources.clusterRoles)).toEqual([])
  })
})
