/** Finds the resource of a kind: a built-in one at once, others by discovery. */
import { resourcesOf } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import { createDiscovery } from '../client/server-resources.ts'
import { apiVersionOf } from '../machinery/objects/resource.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import type { KindRef } from './stage.ts'

/** Undefined for a kind that the cluster does not serve. Rejects if discovery fails. */
export type FindKind = (ref: KindRef) => Promise<Resource | undefined>

export function createFindKind(client: Client): FindKind {
  const builtIn = resourcesOf(client.dialect).all
  const discover = createDiscovery(client)
  return async ({ apiVersion, kind }) => {
    const isWanted = (resource: Resource): boolean =>
      resource.kind === kind && apiVersionOf(resource) === apiVersion
    return builtIn.find(isWanted) ?? (await discover()).all.find(isWanted)
  }
}
