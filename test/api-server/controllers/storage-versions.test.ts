/** StorageVersions of a server (the gates APIServerIdentity and StorageVersionAPI). */
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { serverIdentity } from '../../../components/api-server/controllers/identity-lease.ts'
import { storedResources } from '../../../components/api-server/controllers/storage-versions.ts'
import { storageVersionPrecondition } from '../../../components/api-server/filters/storage-version-precondition.ts'
import { createPendingStorageVersions } from '../../../components/api-server/request/pending-storage-versions.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import { startApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

const at = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions'
const flags = [
  '--feature-gates=StorageVersionAPI=true',
  '--runtime-config=internal.apiserver.k8s.io/v1alpha1=true',
]

it('a server says for each resource in which version it stores it and which it reads', async () => {
  await using server = await startApiServer({ flags })
  const found = await eventually(async () => {
    const { items } = await server.ok('GET', at)
    const byName = new Map(
      (items as { metadata: { name: string }; status: object }[]).map((one) => [
        one.metadata.name,
        one.status,
      ]),
    )
    expect(byName.get('storage.k8s.io.volumeattachments')).toHaveProperty('storageVersions')
    return byName
  })
  expect(found.get('autoscaling.horizontalpodautoscalers')).toEqual({
    storageVersions: [
      {
        apiServerID: serverIdentity(hostname()),
        encodingVersion: 'autoscaling/v2',
        decodableVersions: expect.arrayContaining(['autoscaling/v1', 'autoscaling/v2']) as unknown,
        servedVersions: expect.arrayContaining(['autoscaling/v1', 'autoscaling/v2']) as unknown,
      },
    ],
    commonEncodingVersion: 'autoscaling/v2',
    conditions: [
      {
        type: 'AllEncodingVersionsEqual',
        status: 'True',
        reason: 'CommonEncodingVersionSet',
        message: 'Common encoding version set',
        lastTransitionTime: expect.any(String) as unknown,
      },
    ],
  })
  expect([...found.keys()]).toContain('core.pods')
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c' },
  }
  await server.namespace('shop')
  await server.ok('POST', '/api/v1/namespaces/shop/configmaps', { body })
})

it('without its API the gate keeps the server from starting', async () => {
  await expect(startApiServer({ flags: flags.slice(0, 1) })).rejects.toThrow(
    'the feature gate StorageVersionAPI needs the API internal.apiserver.k8s.io/v1alpha1',
  )
})

it('resources of two groups that are stored in one place are named once', () => {
  const resources = resourcesOf(dialects.kubernetes)
  const stored = storedResources(resources, resources.all)
  const events = stored.filter(({ plural }) => plural === 'events')
  expect(events).toEqual([
    {
      group: '',
      plural: 'events',
      encodingVersion: 'v1',
      decodableVersions: ['v1', 'events.k8s.io/v1'],
      servedVersions: ['v1'],
    },
  ])
  expect(stored.map(({ plural }) => plural)).not.toContain('tokenreviews')
})

describe('until a StorageVersion is written', () => {
  const pending = createPendingStorageVersions([
    { group: 'apps', plural: 'deployments' },
    { group: 'coordination.k8s.io', plural: 'leases' },
  ])
  const filter = storageVersionPrecondition(pending)
  const ask = async (verb: string, group: string, plural: string, namespace = 'default') => {
    const info = { isResourceRequest: true, verb, group, plural, namespace }
    const context = { info, dialect: dialects.kubernetes } as unknown as RequestContext
    return (
      await filter(context, async () => ({ status: 200, headers: {}, body: Buffer.alloc(0) }))
    ).status
  }

  it.each([
    ['get', 'apps', 'deployments', 'default'],
    ['create', 'apps', 'replicasets', 'default'],
    ['update', 'coordination.k8s.io', 'leases', 'kube-system'],
    ['update', 'internal.apiserver.k8s.io', 'storageversions', ''],
  ])('%s of %s %s in %s passes', async (verb, group, plural, namespace) => {
    expect(await ask(verb, group, plural, namespace)).toBe(200)
  })

  it('writes of the resource are asked to wait, with the last error', async () => {
    await expect(ask('create', 'apps', 'deployments')).rejects.toThrow(
      'wait for storage version registration to complete for resource: deployments.apps, last seen error: <nil>',
    )
    await expect(ask('update', 'coordination.k8s.io', 'leases')).rejects.toThrow('leases')
    pending.note('apps', 'deployments', 'the store is full')
    await expect(ask('patch', 'apps', 'deployments')).rejects.toThrow('error: the store is full')
    pending.note('apps', 'deployments', undefined)
    expect(await ask('create', 'apps', 'deployments')).toBe(200)
  })
})

describe('validation of a StorageVersion', () => {
  const runs = strategyRuns('storageVersions')
  const server = { apiServerID: 'a', encodingVersion: 'apps/v1', decodableVersions: ['apps/v1'] }
  const old = runs.created({ metadata: { name: 'apps.deployments' }, spec: {} })
  const faults = (status: object) => runs.updateFaults(old, { ...old, status }, 'status')

  it.each([
    ['apps.deployments', []],
    ['deployments', ['name must be in the form of <group>.<resource>']],
    ['Apps.deployments', ['the group segment a lowercase RFC 1123 subdomain']],
    ['apps.1', ['the resource segment a DNS-1035 label']],
  ])('of the name %s', (name, wanted) => {
    const found = runs.createFaults({ metadata: { name }, spec: {} })
    expect(found).toEqual(wanted.map((text) => expect.stringContaining(text) as unknown))
  })

  it.each<[object, string[]]>([
    [{ storageVersions: [server], commonEncodingVersion: 'apps/v1' }, []],
    [
      { storageVersions: [server] },
      [
        'status.commonEncodingVersion: Invalid value: "null": the common encoding version is apps/v1',
      ],
    ],
    [
      { storageVersions: [server], commonEncodingVersion: 'apps/v2' },
      [
        'status.commonEncodingVersion: Invalid value: "apps/v2": the actual common encoding version is apps/v1',
      ],
    ],
    [
      {
        storageVersions: [{ ...server, servedVersions: ['apps/v2'] }],
        commonEncodingVersion: 'apps/v1',
      },
      [
        'status.storageVersions[0].servedVersions[0]: Invalid value: "apps/v2": individual served version : apps/v2 must be included in decodableVersions : [apps/v1]',
      ],
    ],
    [
      { conditions: [{ type: 'T', status: 'True', reason: '', message: 'm' }] },
      ['status[0].reason: Required value: reason cannot be empty'],
    ],
  ])('of the status %j', (status, wanted) => {
    expect(faults(status)).toEqual(wanted)
  })
})
