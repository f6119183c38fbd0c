/**
 * Removes what API servers that are gone said about storage versions (upstream: pkg/controller/storageversiongc; KEP-2339): an
 * entry whose identity lease does not exist, and a StorageVersion without entries.
 */
import { isIdentityLease } from '../../api/server-identity.ts'
import { statusOf, type StorageVersion } from '../../api/storage-version-status.ts'
import type { Lease } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'

const name = 'storageversion-garbage-collector-controller'

/** Runs until `signal` aborts. */
async function runStorageVersionGc(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues } = context
  const versions = informers.informer<StorageVersion>(resources.storageVersions)
  const leases = informers.informer<Lease>(resources.leases)
  const versionClient = client.resource<StorageVersion>(resources.storageVersions)
  const leaseClient = client.resource<Lease>(resources.leases)
  const namespace = dialect.systemNamespace
  const mayExist = (id: string): boolean =>
    isIdentityLease(leases.get(`${namespace}/${id}`), dialect)
  /** The server has the last word: the cache may not show a lease yet. */
  const exists = async (id: string): Promise<boolean> => {
    if (mayExist(id)) return true
    try {
      return isIdentityLease(await leaseClient.get({ namespace, name: id }, { signal }), dialect)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return false
      throw error
    }
  }
  const settle = async (key: string): Promise<void> => {
    const found = versions.get(key)
    if (found === undefined) return
    const entries = found.status?.storageVersions ?? []
    const left = []
    for (const entry of entries) if (await exists(entry.apiServerID)) left.push(entry)
    if (left.length === entries.length) return
    if (left.length > 0) {
      await versionClient.updateStatus({ ...found, status: statusOf(found, left, clock.now()) })
      return
    }
    const { uid = '', resourceVersion = '' } = found.metadata
    await versionClient.delete({ name: key }, { preconditions: { uid, resourceVersion } })
  }
  /** The versions that name a lease's server; of a lease that exists there is nothing to remove. */
  const naming = (lease: Lease): string[] => {
    const id = lease.metadata.name ?? ''
    if (!isIdentityLease(lease, dialect) || mayExist(id)) return []
    return versions
      .list()
      .filter(({ status }) => status?.storageVersions?.some((one) => one.apiServerID === id))
      .map(({ metadata }) => metadata.name ?? '')
  }
  await runController(
    {
      name,
      informers: [source(versions), source(leases, naming)],
      reconcile: settle,
      clock,
      log,
      queue: queues('storage_version_garbage_collector_storageversions'),
    },
    signal,
  )
}

export const storageVersionGarbageCollector: ControllerEntry = {
  name,
  aliases: ['storage-version-gc'],
  defaultOn: true,
  gates: ['APIServerIdentity', 'StorageVersionAPI'],
  start: runStorageVersionGc,
}
