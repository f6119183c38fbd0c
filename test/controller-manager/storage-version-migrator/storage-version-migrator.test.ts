import { afterEach, describe, expect, it } from 'vitest'
import { runStorageVersionMigrator } from '../../../components/controller-manager/storage-version-migrator/storage-version-migrator.ts'
import type { StorageVersionMigration } from '../../../components/controller-manager/storage-version-migrator/migration-status.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

function migration(resource: string, status: StorageVersionMigration['status'] = {}) {
  return {
    metadata: { name: 'm' },
    spec: { resource: { group: '', version: 'v1', resource } },
    status,
  }
}

/** A migration of the ConfigMaps `a`, `b` and `c`. */
function prepare(resource = 'configmaps', status: StorageVersionMigration['status'] = {}): void {
  harness = createReconcilerHarness({ gates: { StorageVersionMigrator: true } })
  const { cluster, resources } = harness
  for (const name of ['a', 'b', 'c']) {
    cluster.seed(resources.configMaps, { metadata: { name, namespace: 'default' } })
  }
  cluster.seed(resources.storageVersionMigrations, migration(resource, status))
}

async function start(): Promise<void> {
  const { resources } = harness
  const served: readonly Resource[] = [resources.configMaps, resources.tokenReviews]
  const discover = async () => ({ all: served, preferred: served, failed: [] })
  await harness.start({
    name: 'storage-version-migrator-controller',
    start: (context, signal) => runStorageVersionMigrator(discover, context, signal),
  })
}

function now(): StorageVersionMigration | undefined {
  return harness.cluster.peek(harness.resources.storageVersionMigrations, 'm')
}

function conditions(): string[] {
  return (now()?.status?.conditions ?? []).map(({ type, status, reason, message }) =>
    `${type}=${status} ${reason} ${message}`.trim(),
  )
}

function patches(): string[] {
  return harness.cluster.writes.filter((write) => write.startsWith('patch configmaps'))
}

describe('a migration', () => {
  it('notes the version, rewrites every object once, and has succeeded then', async () => {
    prepare()
    await start()
    expect(now()?.status?.resourceVersion).toMatch(/^\d+$/)
    expect(patches()).toEqual([
      'patch configmaps default/a',
      'patch configmaps default/b',
      'patch configmaps default/c',
    ])
    expect(conditions()).toEqual([
      'Running=False StorageVersionMigrationInProgress',
      'Succeeded=True StorageVersionMigrationSucceeded',
    ])
    await harness.step(600_000)
    expect(patches()).toHaveLength(3)
  })

  it.each([
    ['that the server does not have', 'widgets'],
    ['whose objects cannot be listed', 'tokenreviews'],
  ])('of a resource %s has failed', async (_, resource) => {
    prepare(resource)
    await start()
    expect(conditions()).toEqual([
      'Failed=True StorageVersionMigrationFailed resource does not exist in discovery',
    ])
  })

  it.each(['Succeeded', 'Failed'] as const)('that has %s is left alone', async (type) => {
    prepare('configmaps', { conditions: [{ type, status: 'True', reason: 'r' }] })
    await start()
    expect(harness.cluster.writes).toEqual([])
  })

  it.each(['Conflict', 'NotFound'] as const)(
    'goes on past an object whose write is a %s: it was written or is gone',
    async (reason) => {
      prepare()
      harness.cluster.react('patch', 'configmaps', ({ key }) => {
        if (key === 'default/b') throw new StatusError(reason, 'lost')
        return undefined
      })
      await start()
      expect(conditions()).toContain('Succeeded=True StorageVersionMigrationSucceeded')
    },
  )

  it('fails at an object that cannot be written', async () => {
    prepare()
    harness.cluster.react('patch', 'configmaps', () => {
      throw new StatusError('Invalid', 'a rule of today rejects it')
    })
    await start()
    expect(conditions()).toEqual([
      'Running=False StorageVersionMigrationInProgress',
      'Failed=True StorageVersionMigrationFailed migration encountered unhandled error',
    ])
  })

  it('starts anew when the server is overloaded, however long that lasts', async () => {
    prepare()
    let isBusy = true
    harness.cluster.react('patch', 'configmaps', ({ key }) => {
      if (isBusy && key === 'default/c') throw new StatusError('TooManyRequests', 'later')
      return undefined
    })
    await start()
    for (let minute = 0; minute < 5; minute += 1) await harness.step(60_000)
    expect(conditions()).toEqual(['Running=True StorageVersionMigrationInProgress'])
    isBusy = false
    await harness.step(1_000_000)
    expect(conditions()).toContain('Succeeded=True StorageVersionMigrationSucceeded')
  })

  it('ends although a list is gone before the last object is rewritten', async () => {
    prepare('configmaps', { resourceVersion: '1' })
    const { cluster, resources } = harness
    let pages = 0
    cluster.react('list', 'configmaps', () => {
      if (patches().length > 0)
        throw new StatusError('Expired', 'the continue parameter is too old')
      const [first, ...others] = cluster.all(resources.configMaps)
      pages += 1
      return pages === 1
        ? { metadata: { continue: 'others' }, items: [first] }
        : { metadata: {}, items: others }
    })
    await start()
    await harness.step(60_000)
    expect(patches()).toHaveLength(3)
    expect(conditions()).toContain('Succeeded=True StorageVersionMigrationSucceeded')
  })

  it('that has succeeded is not made again before the cache shows that', async () => {
    prepare()
    const { cluster } = harness
    cluster.react('update', 'storageversionmigrations/status', ({ object }) => {
      const next = object as StorageVersionMigration
      if (!next.status?.conditions?.some(({ type }) => type === 'Succeeded')) return undefined
      return { ...next, metadata: { ...next.metadata, resourceVersion: '9999' } }
    })
    await start()
    await harness.step(30_000)
    expect(patches()).toHaveLength(3)
  })

  it('goes on after a restart of the controller manager', async () => {
    const running = [{ type: 'Running', status: 'True', reason: 'r', message: '' }] as const
    prepare('configmaps', { conditions: running, resourceVersion: '1' })
    await start()
    expect(patches()).toHaveLength(3)
    expect(conditions()).toContain('Succeeded=True StorageVersionMigrationSucceeded')
  })
})
