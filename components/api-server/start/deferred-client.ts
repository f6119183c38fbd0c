/** DeferredClient: a client for admission plugins, which the server's own client needs to exist first. */
import type { OwnClient } from '../admission/own-client.ts'
import { internalError } from '../../machinery/objects/status-error.ts'

export interface DeferredClient {
  /** Rejects with an InternalError until there is a client to use. */
  readonly client: OwnClient
  use(client: OwnClient): void
}

export function createDeferredClient(): DeferredClient {
  let used: OwnClient | undefined
  const ready = (): OwnClient => {
    if (used === undefined) throw internalError('the server is not ready to write objects')
    return used
  }
  return {
    client: {
      create: async (resource, namespace, object) =>
        await ready().create(resource, namespace, object),
      updateStatus: async (resource, namespace, object) =>
        await ready().updateStatus(resource, namespace, object),
    },
    use: (client) => {
      used = client
    },
  }
}
