/** DeferredClient: a client for admission plugins and allocators, which the server's own client needs to exist first. */
import type { OwnClient } from '../admission/own-client.ts'
import type { AddressWriter } from '../kinds/core/address-records.ts'
import { internalError } from '../../machinery/objects/status-error.ts'

type EarlyClient = OwnClient & AddressWriter

export interface DeferredClient {
  /** Rejects with an InternalError until there is a client to use. */
  readonly client: EarlyClient
  use(client: EarlyClient): void
}

export function createDeferredClient(): DeferredClient {
  let used: EarlyClient | undefined
  const ready = (): EarlyClient => {
    if (used === undefined) throw internalError('the server is not ready to write objects')
    return used
  }
  return {
    client: {
      create: async (resource, namespace, object) =>
        await ready().create(resource, namespace, object),
      delete: async (resource, namespace, name) => await ready().delete(resource, namespace, name),
      updateStatus: async (resource, namespace, object) =>
        await ready().updateStatus(resource, namespace, object),
    },
    use: (client) => {
      used = client
    },
  }
}
