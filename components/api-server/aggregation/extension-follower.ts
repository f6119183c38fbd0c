/**
 * Follows the extension API servers: writes whether each is available, and keeps its documents, for as long as an APIService
 * names it (upstream: kube-aggregator's availability, discovery and OpenAPI controllers).
 */
import type { Resources } from '../../api/resources.ts'
import type { Dialect } from '../../api/dialect.ts'
import { runController, type Result } from '../../client/controller.ts'
import { createWorkQueue } from '../../client/work-queue.ts'
import { createBackoff, type Backoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { ApiServiceTable, RemoteApiService } from './api-service-table.ts'
import { availabilityOf, type Availability } from './availability.ts'
import { writeAvailability } from './availability-status.ts'
import type { ExtensionConnections } from './extension-connections.ts'
import { KnownDocuments, type ExtensionDocuments } from './extension-documents.ts'
import type { ExtensionReader } from './extension-reader.ts'

/** A server that answers is asked this often; one that does not, after growing delays up to the same. */
const lookEveryMs = 30_000
const retry = { initialMs: 50, maxMs: lookEveryMs }
/** Its documents are read this often. */
const readEveryMs = 60_000
/** Servers asked at once. One that does not answer takes some seconds, which the others must not wait for. */
const workers = 32

export interface FollowerOptions {
  readonly reader: ObjectReader
  readonly resources: Resources
  readonly dialect: Dialect
  readonly table: ApiServiceTable
  readonly connections: ExtensionConnections
  readonly extensions: ExtensionReader
  readonly clock: Clock
  readonly log: Log
  readonly onAvailability: (name: string, availability: Availability | undefined) => void
}

export interface ExtensionFollower {
  /** By `group/version`; another map after each change. */
  readonly documents: ReadonlyMap<string, ExtensionDocuments>
  /** Runs until `signal` aborts; `client` makes its writes. */
  run(client: LocalClient, signal: AbortSignal): Promise<void>
}

interface Followed {
  remote: RemoteApiService
  /** Ends the requests under way when the APIService goes. */
  readonly end: AbortController
  /** Aborts then, and when the server ends. */
  readonly signal: AbortSignal
  readonly waits: Backoff
  lastRead: { readonly atMs: number; readonly source: string } | undefined
}

interface Following extends FollowerOptions {
  readonly documents: KnownDocuments
  readonly client: LocalClient
}

async function readIfDue(groupVersion: string, one: Followed, by: Following): Promise<void> {
  const { documents, clock } = by
  const { remote, lastRead, signal } = one
  const isDue = lastRead === undefined || clock.now() - lastRead.atMs >= readEveryMs
  const isSame = lastRead?.source === remote.source
  if (!isDue && isSame && documents.isCurrent(groupVersion)) return
  await documents.read(groupVersion, remote, signal)
  one.lastRead = { atMs: clock.now(), source: remote.source }
}

/** Asks the server once, and says when to ask it again. Rejects with a StatusError when the outcome cannot be written. */
async function look(groupVersion: string, one: Followed, by: Following): Promise<Result | void> {
  const { documents, resources, onAvailability } = by
  const { apiServices, services, endpoints } = resources
  const { remote, signal, waits } = one
  const availability = await availabilityOf(remote, { ...by, services, endpoints }, signal)
  if (signal.aborted) return
  onAvailability(remote.name, availability)
  await writeAvailability(remote.name, availability, { ...by, apiServices })
  if (signal.aborted) return
  const isUp = availability.status === 'True'
  if (isUp) await readIfDue(groupVersion, one, by)
  else {
    documents.lose(groupVersion)
    one.lastRead = undefined
  }
  if (signal.aborted) return
  const isSettled = isUp && documents.isCurrent(groupVersion)
  if (isSettled) waits.reset()
  return { requeueAfterMs: isSettled ? lookEveryMs : waits.next() }
}

async function follow(by: Following, signal: AbortSignal): Promise<void> {
  const { reader, resources, table, connections, documents, clock, log, onAvailability } = by
  const queue = createWorkQueue({ clock, ...retry })
  const followed = new Map<string, Followed>()
  const begin = (groupVersion: string, remote: RemoteApiService): void => {
    const end = new AbortController()
    followed.set(groupVersion, {
      remote,
      end,
      signal: AbortSignal.any([signal, end.signal]),
      waits: createBackoff(retry, () => clock.random()),
      lastRead: undefined,
    })
    queue.add(groupVersion)
  }
  const change = (groupVersion: string, remote: RemoteApiService): void => {
    const one = followed.get(groupVersion)
    if (one === undefined) return begin(groupVersion, remote)
    // Its own write of the availability is no reason to ask again.
    if (one.remote.source !== remote.source) queue.add(groupVersion)
    one.remote = remote
  }
  const finish = (groupVersion: string): void => {
    const one = followed.get(groupVersion)
    if (one === undefined) return
    one.end.abort()
    followed.delete(groupVersion)
    onAvailability(one.remote.name, undefined)
    documents.forget(groupVersion)
  }
  const addUsersOf = ({ key }: { key: string }): void => {
    for (const [groupVersion, { service }] of table.remotes) {
      if (`${service.namespace}/${service.name}` === key) queue.add(groupVersion)
    }
  }
  const stops = [
    table.onRemote((groupVersion, remote) => {
      if (remote === undefined) finish(groupVersion)
      else change(groupVersion, remote)
      connections.keep(table.remotes.values())
    }),
    reader.onChange(resources.services, addUsersOf),
    reader.onChange(resources.endpoints, addUsersOf),
  ]
  for (const [groupVersion, remote] of table.remotes) begin(groupVersion, remote)
  const reconcile = async (groupVersion: string): Promise<Result | void> => {
    const one = followed.get(groupVersion)
    if (one !== undefined) return await look(groupVersion, one, by)
  }
  const controller = { name: 'aggregated-apis', informers: [], reconcile, workers }
  await runController({ ...controller, clock, log, queue }, signal)
  for (const stop of stops) stop()
  connections.keep([])
}

export function createExtensionFollower(options: FollowerOptions): ExtensionFollower {
  const documents = new KnownDocuments(options)
  return {
    get documents() {
      return documents.all
    },
    run: (client, signal) => follow({ ...options, documents, client }, signal),
  }
}
