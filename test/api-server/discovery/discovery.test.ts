import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compareVersions } from '../../../components/api-server/discovery/compare-versions.ts'
import {
  createDiscovery,
  discoveryForm,
  storageVersionHash,
} from '../../../components/api-server/discovery/discovery.ts'
import type { DiscoveryForm } from '../../../components/api-server/discovery/discovery.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { Dialect } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { servedResources } from '../../../components/api/runtime-config.ts'

function discoveryOf(dialect: Dialect, runtimeConfig = '') {
  const resources = resourcesOf(dialect)
  return createDiscovery({
    dialect,
    resources: servedResources(resources, runtimeConfig).served,
    groups: resources.groups,
    serverAddress: '10.0.0.1:6443',
  })
}

// oxlint-disable-next-line typescript/no-explicit-any -- documents are read as a client reads them
function parsed(document: ReturnType<ReturnType<typeof discoveryOf>['document']>): any {
  return document === undefined ? undefined : JSON.parse(document.body.toString())
}

const kubernetes = discoveryOf(dialects.kubernetes)
const get = (path: string, form?: DiscoveryForm) => parsed(kubernetes.document(path, form))

describe('plain discovery', () => {
  it('[DISC-002][VER-010] /api lists version v1 of the core group', () => {
    expect(get('/api')).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:6443' }],
    })
  })

  it("[DISC-003] /apis lists every served named group in upstream's order, with stable versions only", () => {
    const groups = get('/apis').groups as { name: string; versions: { version: string }[] }[]
    expect(groups.map(({ name }) => name)).toEqual([
      'apiregistration.k8s.io',
      'apps',
      'events.k8s.io',
      'authentication.k8s.io',
      'authorization.k8s.io',
      'autoscaling',
      'batch',
      'certificates.k8s.io',
      'networking.k8s.io',
      'policy',
      'rbac.authorization.k8s.io',
      'storage.k8s.io',
      'admissionregistration.k8s.io',
      'apiextensions.k8s.io',
      'scheduling.k8s.io',
      'coordination.k8s.io',
      'node.k8s.io',
      'discovery.k8s.io',
      'flowcontrol.apiserver.k8s.io',
    ])
    for (const { versions } of groups) {
      for (const { version } of versions) expect(version).toMatch(/^v\d+$/)
    }
  })

  it('a group has its preferred version first', () => {
    expect(get('/apis/autoscaling')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    })
  })

  it('a resource has the fields of upstream, its sub-resources follow it', () => {
    const list = get('/apis/apps/v1')
    expect(list).toMatchObject({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'apps/v1',
    })
    const deployments = list.resources.filter((r: { name: string }) =>
      r.name.startsWith('deployments'),
    )
    expect(deployments).toEqual([
      {
        name: 'deployments',
        singularName: 'deployment',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        shortNames: ['deploy'],
        categories: ['all'],
        storageVersionHash: '8aSe+NMegvE=',
      },
      {
        name: 'deployments/scale',
        singularName: '',
        namespaced: true,
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
        verbs: ['get', 'patch', 'update'],
      },
      {
        name: 'deployments/status',
        singularName: '',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['get', 'patch', 'update'],
      },
    ])
  })

  it("storage version hashes are upstream's", () => {
    const { pods, events, eventsV1 } = resourcesOf(dialects.kubernetes)
    expect(storageVersionHash(pods)).toBe('xPOwRZ+Yhw8=')
    expect(storageVersionHash(events)).toBe('r2yiGXH7wu8=')
    expect(storageVersionHash(eventsV1)).toBe('r2yiGXH7wu8=')
  })

  it('agrees with release 1.20 where nothing has changed since', () => {
    const changed = new Set([
      // Deletable as a collection since 1.23.
      '/api/v1 services',
      // policy/v1 since 1.22.
      '/api/v1 pods/eviction',
    ])
    const lines = readFileSync('test/cases/discovery/release-1.20.txt', 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    let compared = 0
    for (const line of lines) {
      const [path = '', name, kind, scope, verbs, shortNames, categories, other] = line.split(' ')
      if (changed.has(`${path} ${name}`) || get(path) === undefined) continue
      const found = get(path).resources.find((r: { name: string }) => r.name === name)
      const recorded = [
        found?.kind,
        found?.namespaced ? 'namespaced' : 'cluster',
        found?.verbs.length === 8 ? 'all' : found?.verbs.join(','),
        found?.shortNames?.join(',') ?? '-',
        found?.categories?.join(',') ?? '-',
        found?.group === undefined ? '-' : `${found.group}/${found.version}`,
      ]
      expect(recorded, `${path} ${name}`).toEqual([
        kind,
        scope,
        verbs,
        shortNames,
        categories,
        other,
      ])
      compared++
    }
    expect(compared).toBeGreaterThan(80)
  })

  it('paths that nothing is served at have no document', () => {
    expect(get('/apis/flowcontrol.apiserver.k8s.io/v1beta3')).toBeUndefined()
    expect(get('/apis/batch/v1beta1')).toBeUndefined()
    expect(get('/apis/policy/v1beta1')).toBeUndefined()
    expect(get('/apis/extensions')).toBeUndefined()
    expect(get('/apis/nobody.example.com')).toBeUndefined()
    expect(get('/api/v2')).toBeUndefined()
    expect(get('/apis/apps/v1/deployments')).toBeUndefined()
  })

  it('[DISC-007] shows exactly what the runtime configuration switches on', () => {
    const discovery = discoveryOf(
      dialects.kubernetes,
      'batch/v1=false,storage.k8s.io/v1alpha1=true,storage.k8s.io/v1/csidrivers=false',
    )
    const names = (path: string) =>
      parsed(discovery.document(path))?.resources.map((r: { name: string }) => r.name)
    expect(discovery.document('/apis/batch')).toBeUndefined()
    expect(discovery.document('/apis/batch/v1')).toBeUndefined()
    expect(names('/apis/storage.k8s.io/v1alpha1')).toEqual(['volumeattributesclasses'])
    expect(names('/apis/storage.k8s.io/v1')).not.toContain('csidrivers')
    expect(parsed(discovery.document('/apis/storage.k8s.io')).preferredVersion.version).toBe('v1')
  })

  it("uses the dialect's names throughout", () => {
    const discovery = discoveryOf(dialects.svc)
    const all = [
      '/api',
      '/apis',
      '/api/v1',
      ...parsed(discovery.document('/apis')).groups.map((g: { name: string }) => `/apis/${g.name}`),
      '/apis/rbac.authorization.svc.io/v1',
    ].map((path) => discovery.document(path)?.body.toString() ?? 'missing')
    const forms = (['v2', 'v2beta1'] as const).flatMap((form) => [
      discovery.document('/apis', form)?.body.toString(),
      discovery.document('/api', form)?.body.toString(),
    ])
    for (const text of [...all, ...forms]) {
      expect(text).not.toContain('k8s.io')
      expect(text).not.toBe('missing')
    }
    expect(parsed(discovery.document('/api/v1')).resources).toContainEqual(
      expect.objectContaining({ name: 'serviceaccounts/token', group: 'authentication.svc.io' }),
    )
  })
})

describe('aggregated discovery', () => {
  it('has the core group at /api without a name', () => {
    const list = get('/api', 'v2')
    expect(list).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    })
    expect(list.items).toHaveLength(1)
    expect(list.items[0].metadata).toEqual({ creationTimestamp: null })
    const pods = list.items[0].versions[0].resources.find(
      (r: { resource: string }) => r.resource === 'pods',
    )
    expect(pods).toMatchObject({
      resource: 'pods',
      responseKind: { group: '', version: 'v1', kind: 'Pod' },
      scope: 'Namespaced',
      singularResource: 'pod',
      shortNames: ['po'],
      categories: ['all'],
    })
    expect(pods.subresources).toContainEqual({
      subresource: 'eviction',
      responseKind: { group: 'policy', version: 'v1', kind: 'Eviction' },
      verbs: ['create'],
    })
  })

  it('has all named groups at /apis with every resource of the plain lists', () => {
    const list = get('/apis', 'v2')
    const plainGroups = get('/apis').groups as { name: string }[]
    expect(list.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(
      plainGroups.map(({ name }) => name),
    )
    for (const item of list.items) {
      for (const { version, resources, freshness } of item.versions) {
        expect(freshness).toBe('Current')
        const plain = get(`/apis/${item.metadata.name}/${version}`).resources
        const names = resources.flatMap(
          (r: { resource: string; subresources?: { subresource: string }[] }) => [
            r.resource,
            ...(r.subresources ?? []).map((sub) => `${r.resource}/${sub.subresource}`),
          ],
        )
        expect(names).toEqual(plain.map((r: { name: string }) => r.name))
      }
    }
  })

  it('says its form in the content type and its bytes in the ETag', () => {
    const v2 = kubernetes.document('/apis', 'v2')
    const v2beta1 = kubernetes.document('/apis', 'v2beta1')
    expect(v2?.contentType).toBe(
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    )
    expect(v2?.etag).toMatch(/^"[0-9A-F]{64}"$/)
    expect(v2?.etag).not.toBe(v2beta1?.etag)
    expect(kubernetes.document('/apis', 'v2')).toBe(v2)
    expect(discoveryOf(dialects.kubernetes).document('/apis', 'v2')?.etag).toBe(v2?.etag)
    expect(kubernetes.document('/apis')?.contentType).toBe('application/json')
  })

  it.each([
    [undefined, 'plain'],
    ['*/*', 'plain'],
    ['application/json', 'plain'],
    [
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json',
      'v2',
    ],
    ['application/json; as=APIGroupDiscoveryList; v=v2beta1; g=apidiscovery.k8s.io', 'v2beta1'],
    [
      'application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json',
      'plain',
    ],
    ['application/json;g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList', 'plain'],
  ])('Accept %s asks for the form %s', (accept, form) => {
    expect(discoveryForm(accept, dialects.kubernetes)).toBe(form)
  })
})

it('orders versions as the API convention has it', () => {
  const versions = [
    'foo10',
    'v1',
    'v11alpha2',
    'v3beta1',
    'v10',
    'v12alpha1',
    'foo1',
    'v2',
    'v10beta3',
    'v11beta2',
  ]
  expect(versions.toSorted(compareVersions)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ])
})
