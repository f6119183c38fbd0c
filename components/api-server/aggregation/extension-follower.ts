/**
 * Follows the extension API servers: writes whether each is available, and keeps what it says of itself, for as long as there
 * is an APIService for it (upstream: kube-aggregator's availability, discovery and OpenAPI controllers).
 */
import type { APIService } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Dialect } from '../../api/dialect.ts'
import { createBackoff } from '../../component-base/backoff.ts'
import { timestamp, type Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ServedElsewhere } from '../discovery/discovery.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { ExtensionOpenApi } from '../openapi/merged-v2.ts'
import type { ApiServiceTable, RemoteApiService } from './api-service-table.ts'
import { availabilityOf, type Availability } from './availability.ts'
import type { ExtensionConnections } from './extension-connections.ts'
import { discoverExtension } from './extension-discovery.ts'
import { readSwagger, readV3Address } from './extension-openapi.ts'
import type { ExtensionReader } from './extension-reader.ts'

/** A server that answers is looked at this often; one that does not, after growing waits up to the same. */
const lookEveryMs = 30_000
const retry = { initialMs: 50, maxMs: lookEveryMs }
/** What it says of itself is read this often. */
const readEveryMs = 60_000

/** What is known of a group version that is served elsewhere. */
export interface ExtensionDocuments extends ServedElsewhere, ExtensionOpenApi {
  readonly swaggerEtag: string | undefined
}

const nothing: ExtensionDocuments = {
  resources: [],
  freshness: 'Stale',
  v3Address: undefined,
  swagger: undefined,
  swaggerEtag: undefined,
}

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
  readonly stop: AbortController
  readonly done: Promise<void>
  /** Has it looked at once. */
  poke(): void
}

/** The status with this condition. A time of its own it gets only when it changes. */
function withAvailability(
  { status }: APIService,
  availability: Availability,
  nowMs: number,
): APIService['status'] {
  const conditions = status?.conditions ?? []
  const held = conditions.find(({ type }) => type === 'Available')
  const isSame = held?.status === availability.status
  const lastTransitionTime = (isSame ? held?.lastTransitionTime : undefined) ?? timestamp(nowMs)
  const condition = { ...held, type: 'Available', ...availability, lastTransitionTime }
  const at = conditions.findIndex(({ type }) => type === 'Available')
  return {
    ...status,
    conditions: conditions.toSpliced(at < 0 ? conditions.length : at, at < 0 ? 0 : 1, condition),
  }
}

export function createExtensionFollower(options: FollowerOptions): ExtensionFollower {
  const { reader, resources, table, connections, clock, log, onAvailability } = options
  const { apiServices, services, endpoints } = resources
  const followed = new Map<string, Followed>()
  let documents: ReadonlyMap<string, ExtensionDocuments> = new Map()

  function put(groupVersion: string, next: ExtensionDocuments | undefined): void {
    if (next === documents.get(groupVersion)) return
    const changed = new Map(documents)
    if (next === undefined) changed.delete(groupVersion)
    else changed.set(groupVersion, next)
    documents = changed
  }

  async function writeStatus(
    client: LocalClient,
    name: string,
    availability: Availability,
  ): Promise<void> {
    const object = reader.get(apiServices, '', name) as APIService | undefined
    if (object === undefined) return
    const status = withAvailability(object, availability, clock.now())
    if (deepEqual(status, object.status)) return
    log.info('aggregated API', { apiService: name, ...availability })
    try {
      await client.updateStatus(apiServices, '', { ...object, status })
    } catch (error) {
      // Another write was first, or it is gone: its event has it looked at again.
      if (!isStatusError(error, 'Conflict', 'NotFound')) throw error
    }
  }

  /** What the server says now; what cannot be read stays as it was, and is stale. */
  async function read(remote: RemoteApiService, signal: AbortSignal): Promise<ExtensionDocuments> {
    const before = documents.get(`${remote.group}/${remote.version}`) ?? nothing
    const ask = { ...options, signal }
    const logged =
      <T>(otherwise: T) =>
      (error: unknown): T => {
        if (!signal.aborted) log.info('not read', { apiService: remote.name, error })
        return otherwise
      }
    const [found, v3Address, swagger] = await Promise.all([
      discoverExtension(remote, ask).catch(logged(undefined)),
      readV3Address(remote, ask).catch(logged(before.v3Address)),
      readSwagger(remote, { ...ask, etag: before.swaggerEtag }).catch(logged('same' as const)),
    ])
    const next: ExtensionDocuments = {
      resources: found ?? before.resources,
      freshness: found === undefined ? 'Stale' : 'Current',
      v3Address,
      swagger: swagger === 'same' ? before.swagger : swagger?.swagger,
      swaggerEtag: swagger === 'same' ? before.swaggerEtag : swagger?.etag,
    }
    return deepEqual(next, before) ? before : next
  }

  async function follow(
    groupVersion: string,
    { own, client, nextPoke }: { own: AbortSignal; client: LocalClient; nextPoke(): Promise<void> },
  ): Promise<void> {
    const waits = createBackoff(retry, () => clock.random())
    let readAtMs: number | undefined
    let readFor: string | undefined
    while (!own.aborted) {
      const poked = nextPoke()
      const remote = table.remotes.get(groupVersion)
      if (remote === undefined) return
      const availability = await availabilityOf(remote, { ...options, services, endpoints }, own)
      if (own.aborted) return
      onAvailability(remote.name, availability)
      await writeStatus(client, remote.name, availability)
      const isUp = availability.status === 'True'
      const isDue = readAtMs === undefined || clock.now() - readAtMs >= readEveryMs
      const isOther = readFor !== remote.source
      const before = documents.get(groupVersion) ?? nothing
      if (!isUp) {
        if (before.freshness !== 'Stale' || before === nothing) {
          put(groupVersion, before === nothing ? { ...nothing } : { ...before, freshness: 'Stale' })
        }
        readAtMs = undefined
      } else if (isDue || isOther || before.freshness === 'Stale') {
        const next = await read(remote, own)
        if (own.aborted) return
        put(groupVersion, next)
        readAtMs = clock.now()
        readFor = remote.source
      }
      const isSettled = isUp && documents.get(groupVersion)?.freshness === 'Current'
      if (isSettled) waits.reset()
      const rest = new AbortController()
      const wait = clock.sleep(
        isSettled ? lookEveryMs : waits.next(),
        AbortSignal.any([own, rest.signal]),
      )
      await Promise.race([poked, wait])
      rest.abort()
    }
  }

  function start(groupVersion: string, client: LocalClient, signal: AbortSignal): Followed {
    const stop = new AbortController()
    const own = AbortSignal.any([signal, stop.signal])
    let poke = (): void => {}
    const nextPoke = () => new Promise<void>((resolve) => (poke = resolve))
    const done = (async () => {
      while (!own.aborted) {
        try {
          await follow(groupVersion, { own, client, nextPoke })
          return
        } catch (error) {
          if (own.aborted) return
          log.warn('an aggregated API could not be looked at', { groupVersion, error })
          await clock.sleep(lookEveryMs, own).catch(() => {
            // The server ends.
          })
        }
      }
    })()
    return { stop, done, poke: () => poke() }
  }

  return {
    get documents() {
      return documents
    },
    async run(client, signal) {
      const before = new Map(table.remotes)
      const ended = new Set<Promise<void>>()
      const followOne = (groupVersion: string): void => {
        const one = start(groupVersion, client, signal)
        followed.set(groupVersion, one)
        const done = one.done.finally(() => ended.delete(done))
        ended.add(done)
      }
      const pokeUsersOf = (key: string): void => {
        for (const [groupVersion, { service }] of table.remotes) {
          if (`${service.namespace}/${service.name}` === key) followed.get(groupVersion)?.poke()
        }
      }
      const stops = [
        table.onRemote((groupVersion, remote) => {
          const known = before.get(groupVersion)
          if (remote === undefined) {
            before.delete(groupVersion)
            followed.get(groupVersion)?.stop.abort()
            followed.delete(groupVersion)
            if (known !== undefined) onAvailability(known.name, undefined)
            put(groupVersion, undefined)
          } else {
            before.set(groupVersion, remote)
            if (!followed.has(groupVersion)) followOne(groupVersion)
            // The availability that it wrote itself is no reason to look again.
            else if (known?.source !== remote.source) followed.get(groupVersion)?.poke()
          }
          connections.keep(table.remotes.values())
        }),
        reader.onChange(services, ({ key }) => pokeUsersOf(key)),
        reader.onChange(endpoints, ({ key }) => pokeUsersOf(key)),
      ]
      for (const groupVersion of table.remotes.keys()) followOne(groupVersion)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      for (const stop of stops) stop()
      await Promise.allSettled(ended)
      connections.keep([])
    },
  }
}
