/** Client: one server, one identity, and the typed verbs of every resource on it. */
import { apiGroup } from '../api/dialect.ts'
import type { Dialect } from '../api/dialect.ts'
import { systemClock } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import { silentLog } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { createResourceClient } from './resource-client.ts'
import type { ResourceClient } from './resource-client.ts'
import { createRestClient } from './rest-client.ts'
import type { RestClient, RestClientOptions } from './rest-client.ts'

export interface Client {
  /** The verbs of one resource; the same value for the same resource. */
  resource<T extends KubeObject = KubeObject>(resource: Resource): ResourceClient<T>
  readonly rest: RestClient
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
  /** Ends the connection; what is under way fails. */
  close(): void
}

export interface ClientOptions extends RestClientOptions {
  readonly dialect: Dialect
  readonly clock?: Clock
  readonly log?: Log
}

/** A client over a rest client that exists already; closing it closes that one. */
export function createClientOver(
  rest: RestClient,
  { dialect, clock, log }: { dialect: Dialect; clock: Clock; log: Log },
): Client {
  // Custom resources come and go.
  const clients = new WeakMap<Resource, ResourceClient>()
  return {
    resource: <T extends KubeObject>(resource: Resource) => {
      const known =
        clients.get(resource) ?? createResourceClient(rest, resource, apiGroup(dialect, 'meta'))
      clients.set(resource, known)
      return known as unknown as ResourceClient<T>
    },
    rest,
    // Not all of what was given: a whole client would bring the connection that `rest` takes the place of.
    dialect,
    clock,
    log,
    close: () => rest.close(),
  }
}

/** A client that opens no connection until its first request. */
export function createClient(options: ClientOptions): Client {
  const { dialect, clock = systemClock, log = silentLog, ...rest } = options
  return createClientOver(createRestClient(rest), { dialect, clock, log })
}
