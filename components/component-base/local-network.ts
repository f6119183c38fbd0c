/** LocalNetwork: servers of this process that clients in the same process call without a connection, as an embedded cluster's do. */
import type { RequestHandler } from './answering.ts'
import type { Clock } from './clock.ts'
import type { Routes } from './routes.ts'

export interface LocalNetwork {
  /** From now on requests to `origin` (`https://host:port`) go to the handler. Returns what ends that. */
  serve(origin: string, handler: RequestHandler): () => void
  find(origin: string): RequestHandler | undefined
  /** For its timers, where these do not follow real time. */
  readonly clock?: Clock
  /** Other ways for connections; undefined: there are none. */
  readonly routes?: Routes
}

export function createLocalNetwork(): LocalNetwork {
  const servers = new Map<string, RequestHandler>()
  return {
    serve: (origin, handler) => {
      servers.set(origin, handler)
      return () => {
        if (servers.get(origin) === handler) servers.delete(origin)
      }
    },
    find: (origin) => servers.get(origin),
  }
}
