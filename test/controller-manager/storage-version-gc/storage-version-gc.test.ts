import { afterEach, describe, expect, it } from 'vitest'
import type { StorageVersion } from '../../../components/api/storage-version-status.ts'
import { storageVersionGarbageCollector } from '../../../components/controller-manager/storage-version-gc/storage-version-gc.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

function lease(name: string, namespace = 'kube-system', component = 'kube-apiserver'): KubeObject {
  const labels = { 'apiserver.kubernetes.io/identity': component }
  return { metadata: { name, namespace, labels }, spec: { holderIdentity: name } }
}

/** `server=version` each. */
function version(name: string, ...servers: string[]): KubeObject {
  const storageVersions = servers.map((text) => {
    const [apiServerID = '', encodingVersion = ''] = text.split('=')
    return { apiServerID, encodingVersion, decodableVersions: [encodingVersion] }
  })
  return { metadata: { name }, spec: {}, status: { storageVersions } }
}

async function startWith(
  leases: readonly KubeObject[],
  versions: readonly KubeObject[],
): Promise<void> {
  harness = createReconcilerHarness({ gates: { StorageVersionAPI: true } })
  const { cluster, resources } = harness
  for (const one of leases) cluster.seed(resources.leases, one)
  for (const one of versions) cluster.seed(resources.storageVersions, one)
  await harness.start(storageVersionGarbageCollector)
}

function now(name: string): StorageVersion | undefined {
  return harness.cluster.peek<StorageVersion>(harness.resources.storageVersions, name)
}

function serversOf(name: string): string[] | undefined {
  return now(name)?.status?.storageVersions?.map(({ apiServerID }) => apiServerID)
}

describe('an entry of a StorageVersion', () => {
  it.each<[string, KubeObject[], string[] | undefined]>([
    ['stays while its server has a lease', [lease('a'), lease('b')], ['a', 'b']],
    ['goes without a lease', [lease('b')], ['b']],
    [
      'goes with a lease of another component',
      [lease('a', 'kube-system', 'other'), lease('b')],
      ['b'],
    ],
    ['goes with a lease in another namespace', [lease('a', 'default'), lease('b')], ['b']],
    ['goes, and the last takes the object with it', [], undefined],
  ])('%s', async (_, leases, servers) => {
    await startWith(leases, [version('apps.deployments', 'a=apps/v1', 'b=apps/v1')])
    expect(serversOf('apps.deployments')).toEqual(servers)
  })

  it('goes when its lease does; the others agree then', async () => {
    await startWith(
      [lease('a'), lease('b')],
      [version('apps.deployments', 'a=apps/v1', 'b=apps/v2')],
    )
    expect(harness.cluster.writes).toEqual([])
    harness.cluster.remove(harness.resources.leases, 'kube-system/b')
    await harness.step()
    expect(now('apps.deployments')?.status).toMatchObject({
      storageVersions: [{ apiServerID: 'a' }],
      commonEncodingVersion: 'apps/v1',
      conditions: [
        {
          type: 'AllEncodingVersionsEqual',
          status: 'True',
          reason: 'CommonEncodingVersionSet',
          lastTransitionTime: '2025-01-01T00:00:00Z',
        },
      ],
    })
    const { length } = harness.cluster.writes
    await harness.step(600_000)
    expect(harness.cluster.writes).toHaveLength(length)
  })

  it('stays for a lease that only the server has so far', async () => {
    harness = createReconcilerHarness({ gates: { StorageVersionAPI: true } })
    const { cluster, resources } = harness
    cluster.react('get', 'leases', () => lease('a'))
    cluster.seed(resources.storageVersions, version('apps.deployments', 'a=apps/v1'))
    await harness.start(storageVersionGarbageCollector)
    expect(serversOf('apps.deployments')).toEqual(['a'])
  })

  it('stays while leases cannot be read', async () => {
    harness = createReconcilerHarness({ gates: { StorageVersionAPI: true } })
    const { cluster, resources } = harness
    let isAway = true
    cluster.react('get', 'leases', () => {
      if (isAway) throw new Error('the server is away')
      return undefined
    })
    cluster.seed(resources.storageVersions, version('apps.deployments', 'a=apps/v1'))
    await harness.start(storageVersionGarbageCollector)
    expect(serversOf('apps.deployments')).toEqual(['a'])
    isAway = false
    await harness.step(1000)
    expect(now('apps.deployments')).toBeUndefined()
  })
})
