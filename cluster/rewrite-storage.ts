/**
 * Rewriting what is stored: every object is read and put back unchanged through the API, which stores what lies there in an
 * older form anew: after a key was rotated, or encryption turned on or off (upstream's docs do it with get and replace).
 */
import type { Client } from '../components/client/client.ts'
import { createDiscovery } from '../components/client/server-resources.ts'
import { keyOf, type KubeObject } from '../components/machinery/objects/object.ts'
import { qualifiedName, type Resource } from '../components/machinery/objects/resource.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { ClusterError } from './cluster-error.ts'

const pageSize = 250
/** Writes at a time; they share commits. */
const atOnce = 16

/** What became of one resource's objects. Those that another client wrote or deleted meanwhile need nothing more. */
export interface RewrittenResource {
  /** `secrets`, `deployments.apps`. */
  readonly resource: string
  /** All there were. */
  objects: number
  /** Stored anew, by this or by another writer meanwhile. */
  rewritten: number
  /** Stored in the newest form already. */
  unchanged: number
  readonly failed: { readonly name: string; readonly message: string }[]
}

type Progress = (resource: string, done: number, total: number) => void

/** The resources to rewrite: those named, or all that are stored; each store only once. */
async function resourcesFor(client: Client, names: readonly string[]): Promise<Resource[]> {
  const { preferred } = await createDiscovery(client)()
  const able = preferred.filter(
    ({ verbs, virtual }) => !virtual && verbs.includes('list') && verbs.includes('update'),
  )
  const byStore = new Map<string, Resource>()
  for (const resource of able) {
    if (!byStore.has(resource.storagePrefix)) byStore.set(resource.storagePrefix, resource)
  }
  if (names.length === 0) return [...byStore.values()]
  const wanted = names.map((name) => {
    const found = able.find(
      (resource) =>
        [qualifiedName(resource), resource.plural, resource.singular].includes(name) ||
        resource.shortNames.includes(name),
    )
    if (found !== undefined) return byStore.get(found.storagePrefix) ?? found
    throw new ClusterError('usage', `the API server stores no resource "${name}"`, {
      hint: 'see: kubectl api-resources --verbs=list,update',
    })
  })
  return [...new Set(wanted)]
}

async function rewriteObject(
  client: Client,
  resource: Resource,
  at: { object: KubeObject; result: RewrittenResource },
): Promise<void> {
  const { object, result } = at
  try {
    const after = await client.resource(resource).update(object)
    const isSame = after.metadata.resourceVersion === object.metadata.resourceVersion
    if (isSame) result.unchanged += 1
    else result.rewritten += 1
  } catch (error) {
    // Another client wrote or deleted it since it was read: nothing old is left of it.
    if (isStatusError(error, 'Conflict', 'NotFound')) result.rewritten += 1
    else if (isStatusError(error)) {
      result.failed.push({ name: keyOf(object), message: error.message })
    } else throw error
  }
}

async function rewriteResource(
  client: Client,
  resource: Resource,
  progress: Progress,
): Promise<RewrittenResource> {
  const name = qualifiedName(resource)
  const result: RewrittenResource = {
    resource: name,
    objects: 0,
    rewritten: 0,
    unchanged: 0,
    failed: [],
  }
  let token: string | undefined
  do {
    const page = await client.resource(resource).list({
      limit: pageSize,
      ...(token === undefined ? {} : { continue: token }),
    })
    const { remainingItemCount = 0 } = page.metadata
    const total = result.objects + page.items.length + remainingItemCount
    for (let start = 0; start < page.items.length; start += atOnce) {
      const batch = page.items.slice(start, start + atOnce)
      await Promise.all(batch.map((object) => rewriteObject(client, resource, { object, result })))
      result.objects += batch.length
      progress(name, result.objects, total)
    }
    token = page.metadata.continue
  } while (token !== undefined && token !== '')
  return result
}

/**
 * Rewrites the named resources (plural, `plural.group`, singular or short name), or all. The result lists objects and
 * lists that fail; the others go on. Rejects when the server cannot be reached or a name is unknown.
 */
export async function rewriteStorage(
  client: Client,
  options: { names: readonly string[]; progress: Progress },
): Promise<RewrittenResource[]> {
  const results: RewrittenResource[] = []
  for (const resource of await resourcesFor(client, options.names)) {
    try {
      results.push(await rewriteResource(client, resource, options.progress))
    } catch (error) {
      if (!isStatusError(error)) throw error
      const failed = [{ name: '', message: error.message }]
      const resourceName = qualifiedName(resource)
      results.push({ resource: resourceName, objects: 0, rewritten: 0, unchanged: 0, failed })
    }
  }
  return results
}
