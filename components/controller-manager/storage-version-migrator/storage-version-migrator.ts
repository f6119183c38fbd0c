/**
 * Rewrites all objects of a resource, so that they are stored in the newest version and with the newest key (upstream:
 * pkg/controller/storageversionmigrator; KEP-4192). An apply without fields rewrites an object that is stored otherwise, and
 * leaves the others alone.
 *
 * Upstream takes the objects from the garbage collector's cache and fails at the first error. Here they are listed page by page,
 * and a migration starts anew when the server is away or overloaded.
 */
import { createDiscovery, type Discover } from '../../client/server-resources.ts'
import { ConnectionError } from '../../client/connection-error.ts'
import { runController, source } from '../../client/controller.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites, type OwnWrites } from '../own-writes.ts'
import { isEnded, withCondition, type StorageVersionMigration } from './migration-status.ts'

const name = 'storage-version-migrator-controller'
const pageSize = 500

interface Tools extends ControllerContext {
  readonly discover: Discover
  readonly ownWrites: OwnWrites
}

/** Writes the status, unless it is the same object, and resolves with what is stored then. */
async function write(
  { client, resources, ownWrites }: Tools,
  before: StorageVersionMigration,
  next: StorageVersionMigration,
): Promise<StorageVersionMigration> {
  if (next === before) return before
  const written = await client
    .resource<StorageVersionMigration>(resources.storageVersionMigrations)
    .updateStatus(next)
  ownWrites.wrote(keyOf(next), written)
  return written
}

async function fail(
  tools: Tools,
  migration: StorageVersionMigration,
  message: string,
): Promise<void> {
  const failed = withCondition(migration, { type: 'Failed', message }, tools.clock.now())
  await write(tools, migration, failed)
}

/** The resource that the migration names, if the server has it and its objects can be listed and patched. */
async function resourceOf(
  { discover }: Tools,
  { spec }: StorageVersionMigration,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const { group = '', version = '', resource = '' } = spec?.resource ?? {}
  const { all } = await discover(signal)
  return all.find(
    (one) =>
      one.group === group &&
      one.version === version &&
      one.plural === resource &&
      one.verbs.includes('list') &&
      one.verbs.includes('patch'),
  )
}

/** Which version of which object, without the rest of the metadata: of many objects, that is much. */
interface Version {
  readonly namespace: string | undefined
  readonly name: string
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

/** An object that changed, or is gone, needs no rewrite: whoever changed it has rewritten it. */
async function rewrite(
  { client }: Tools,
  resource: Resource,
  { uid, resourceVersion, namespace, name: objectName }: Version,
  signal: AbortSignal,
): Promise<void> {
  const patch = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { uid, resourceVersion },
  }
  try {
    await client
      .resource(resource)
      .patch({ namespace, name: objectName }, patch, { type: 'apply', fieldManager: name, signal })
  } catch (error) {
    if (!isStatusError(error, 'Conflict', 'NotFound')) throw error
  }
}

/** What a rewrite needs of all objects. They are listed before the first is rewritten: a list is there for some minutes only. */
async function objectsOf(
  { client }: Tools,
  resource: Resource,
  signal: AbortSignal,
): Promise<Version[]> {
  const found: Version[] = []
  let next = ''
  do {
    const page = await client
      .resource(resource)
      .list({ limit: pageSize, continue: next, metadataOnly: true }, signal)
    for (const { metadata } of page.items) {
      const { namespace, name: objectName = '', uid, resourceVersion } = metadata
      found.push({ namespace, name: objectName, uid, resourceVersion })
    }
    next = page.metadata.continue ?? ''
  } while (next !== '')
  return found
}

async function rewriteAll(tools: Tools, resource: Resource, signal: AbortSignal): Promise<void> {
  const objects = await objectsOf(tools, resource, signal)
  for (const metadata of objects) await rewrite(tools, resource, metadata, signal)
}

/** Errors that end by themselves: the migration starts anew after a while. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return isStatusError(error, 'TooManyRequests', 'ServiceUnavailable', 'Timeout', 'Expired')
}

async function migrate(
  tools: Tools,
  migration: StorageVersionMigration,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = tools
  if (isEnded(migration)) return
  const resource = await resourceOf(tools, migration, signal)
  if (resource === undefined) {
    await fail(tools, migration, 'resource does not exist in discovery')
    return
  }
  if (!migration.status?.resourceVersion) {
    const { metadata } = await client
      .resource(resource)
      .list({ limit: 1, metadataOnly: true }, signal)
    const { resourceVersion = '' } = metadata
    await write(tools, migration, {
      ...migration,
      status: { ...migration.status, resourceVersion },
    })
    return
  }
  const nowMs = (): number => clock.now()
  const wanted = withCondition(migration, { type: 'Running', message: '' }, nowMs())
  const running = await write(tools, migration, wanted)
  try {
    await rewriteAll(tools, resource, signal)
  } catch (error) {
    if (signal.aborted || isPassing(error)) throw error
    log.warn('migration failed', { migration: running.metadata.name, why: messageOf(error) })
    await fail(tools, running, 'migration encountered unhandled error')
    return
  }
  await write(tools, running, withCondition(running, { type: 'Succeeded', message: '' }, nowMs()))
}

/** Runs until `signal` aborts. */
export async function runStorageVersionMigrator(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { informers, resources, clock, log, queues } = context
  const migrations = informers.informer<StorageVersionMigration>(resources.storageVersionMigrations)
  const ownWrites = createOwnWrites(migrations, clock)
  const tools = { ...context, discover, ownWrites }
  await runController(
    {
      name,
      informers: [source(migrations)],
      reconcile: async (key) => {
        const pendingMs = ownWrites.pendingMs(key)
        if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
        const migration = migrations.get(key)
        if (migration !== undefined) await migrate(tools, migration, signal)
        return undefined
      },
      workers: 5,
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const storageVersionMigrator: ControllerEntry = {
  name,
  aliases: ['svm'],
  defaultOn: true,
  gates: ['StorageVersionMigrator'],
  start: (context, signal) =>
    runStorageVersionMigrator(createDiscovery(context.client), context, signal),
}
