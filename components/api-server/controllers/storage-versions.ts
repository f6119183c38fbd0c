/**
 * Says for each built-in resource in which version this server stores it and which it can read (upstream: apiserver
 * pkg/storageversion, kube-aggregator's hook built-in-resources-storage-version-updater; KEP-2339).
 */
import type { Resources } from '../../api/resources.ts'
import {
  statusOf,
  type ServerStorageVersion,
  type StorageVersion,
} from '../../api/storage-version-status.ts'
import { backgroundOf, upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { messageOf, type Log } from '../../component-base/log.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'

const everyMs = 600_000
const retryMs = 1000

/** One resource as StorageVersions name it: resources of several groups that are stored in one place count once. */
export interface StoredResource {
  readonly group: string
  readonly plural: string
  readonly encodingVersion: string
  readonly decodableVersions: readonly string[]
  readonly servedVersions: readonly string[]
}

/** The resources of a server, by group and name. */
export function storedResources(
  { all }: Pick<Resources, 'all'>,
  served: readonly Resource[],
): StoredResource[] {
  const places = new Map<string, Resource[]>()
  for (const resource of all) {
    if (resource.virtual || !resource.verbs.includes('create')) continue
    const { storagePrefix } = resource
    places.set(storagePrefix, [...(places.get(storagePrefix) ?? []), resource])
  }
  const order = ({ group, plural }: { group: string; plural: string }) => `${group}/${plural}`
  const found = [...places.values()].flatMap((versions): StoredResource[] => {
    const servedHere = versions.filter((resource) => served.includes(resource))
    const [first] = servedHere.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
    if (first === undefined) return []
    const { group, plural, storageVersion } = first
    const ofGroup = servedHere.filter((resource) => resource.group === group)
    const decodable = new Set([storageVersion.apiVersion, ...versions.map(apiVersionOf)])
    return [
      {
        group,
        plural,
        encodingVersion: storageVersion.apiVersion,
        decodableVersions: [...decodable],
        servedVersions: ofGroup.map(apiVersionOf),
      },
    ]
  })
  return found.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
}

export interface StorageVersionsOptions {
  readonly client: LocalClient
  readonly resources: Resources
  readonly stored: readonly StoredResource[]
  /** Told of each resource whether its StorageVersion is written, or why it could not be. */
  readonly pending: { note(group: string, plural: string, error: string | undefined): void }
  /** As in the identity lease. */
  readonly identity: string
  readonly clock: Clock
  readonly log: Log
}

function withOwn(
  servers: readonly ServerStorageVersion[],
  own: ServerStorageVersion,
): readonly ServerStorageVersion[] {
  const isThere = servers.some(({ apiServerID }) => apiServerID === own.apiServerID)
  if (!isThere) return [...servers, own]
  return servers.map((one) => (one.apiServerID === own.apiServerID ? own : one))
}

async function publish(options: StorageVersionsOptions, stored: StoredResource): Promise<void> {
  const { client, resources, identity, clock } = options
  const { storageVersions } = resources
  const { group, plural, ...versions } = stored
  const name = `${group === '' ? 'core' : group}.${plural}`
  const find = () => client.get(storageVersions, '', name) as StorageVersion | undefined
  if (find() === undefined) {
    const { kind } = storageVersions
    const apiVersion = apiVersionOf(storageVersions)
    await client.create(storageVersions, '', { apiVersion, kind, metadata: { name }, spec: {} })
  }
  const found = find()
  if (found === undefined) return
  const own = { apiServerID: identity, ...versions }
  const servers = withOwn(found.status?.storageVersions ?? [], own)
  const status = statusOf(found, servers, clock.now())
  await client.updateStatus(storageVersions, '', { ...found, status })
}

/** Undefined when the resource's StorageVersion is written, else why not. */
async function tryPublish(
  options: StorageVersionsOptions,
  stored: StoredResource,
): Promise<string | undefined> {
  try {
    await publish(options, stored)
    return undefined
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // Another server was first: its entry is kept in the next attempt.
    if (!isStatusError(error, 'AlreadyExists', 'Conflict')) {
      options.log.warn('storage version not written', { resource: stored.plural, error })
    }
    return messageOf(error)
  }
}

/** Writes them all, together, so that the writes share commits. Resolves with whether all are written. */
export async function writeStorageVersions(options: StorageVersionsOptions): Promise<boolean> {
  const { stored, pending } = options
  const written = await Promise.all(
    stored.map(async (resource) => {
      const fault = await tryPublish(options, resource)
      pending.note(resource.group, resource.plural, fault)
      return fault === undefined
    }),
  )
  return !written.includes(false)
}

/** Writes them again after a failure, and anew every ten minutes, until `signal` aborts. */
export async function keepStorageVersions(
  options: StorageVersionsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options
  try {
    for (;;) {
      const isComplete = await writeStorageVersions(options)
      if (isComplete) await upkeepOf(clock).sleep(everyMs, signal)
      else await backgroundOf(clock).sleep(retryMs, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
