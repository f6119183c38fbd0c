/** Reads objects of a live cluster, in pages. What the user may not read is noted, and the rest goes on. */
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

const pageSize = 500
/** How often a list begins anew whose pages the server has forgotten. */
const mostTries = 3

export interface ReadObject {
  readonly resource: Resource
  readonly object: KubeObject
}

/** What could not be read. */
export interface Unread {
  readonly kind: string
  readonly namespace?: string
  readonly why: string
}

export interface ReadOptions {
  readonly resources: readonly Resource[]
  /** Empty: all of them. */
  readonly namespaces: readonly string[]
  readonly signal: AbortSignal
  readonly onProgress: (objects: number) => void
}

async function listAll(
  client: Client,
  resource: Resource,
  at: { namespace: string | undefined; signal: AbortSignal },
): Promise<KubeObject[]> {
  const { namespace, signal } = at
  for (let tries = 1; ; tries += 1) {
    const items: KubeObject[] = []
    let token: string | undefined
    try {
      do {
        const page = await client.resource(resource).list(
          {
            limit: pageSize,
            ...(namespace === undefined ? {} : { namespace }),
            ...(token === undefined ? {} : { continue: token }),
          },
          signal,
        )
        items.push(...page.items)
        token = page.metadata.continue
      } while (token)
      return items
    } catch (error) {
      if (!isStatusError(error, 'Expired', 'Gone') || tries === mostTries) throw error
    }
  }
}

/** Rejects with a ConnectionError when the server does not answer. */
export async function readObjects(
  client: Client,
  { resources, namespaces, signal, onProgress }: ReadOptions,
): Promise<{ readonly objects: ReadObject[]; readonly unread: Unread[] }> {
  const objects: ReadObject[] = []
  const unread: Unread[] = []
  for (const resource of resources) {
    const places = resource.namespaced && namespaces.length > 0 ? namespaces : [undefined]
    for (const namespace of places) {
      try {
        const items = await listAll(client, resource, { namespace, signal })
        objects.push(...items.map((object) => ({ resource, object })))
        onProgress(objects.length)
      } catch (error) {
        if (!isStatusError(error)) throw error
        const where = namespace === undefined ? {} : { namespace }
        unread.push({ kind: qualifiedName(resource), ...where, why: error.message })
      }
    }
  }
  return { objects, unread }
}
