/** Reads the metadata of objects of every kind: what is in a namespace, and what depends on an object. Bounded, and never rejects for one kind. */
import type { Client } from '../../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

/** Objects of one kind that are shown of a namespace. */
const mostContents = 100
/** Objects of one kind among which dependents are looked for, in pages. */
const pageSize = 500
const mostPages = 10
/** Kinds that are listed at the same time. */
const sideBySide = 10

export interface Found {
  readonly objects: readonly KubeObject[]
  /** One line for each thing that could not be read. */
  readonly notRead: readonly string[]
}

interface Extent {
  /** '' for all of them, and for kinds without namespaces. */
  readonly namespace: string
  /** Objects in a page. */
  readonly limit: number
  /** Pages that are read of a kind at most. */
  readonly pages: number
  readonly keeps: (object: KubeObject) => boolean
}

export function whatText(
  resource: Resource,
  { namespace, name }: { readonly namespace?: string; readonly name?: string },
): string {
  const one = name === undefined ? qualifiedName(resource) : `${qualifiedName(resource)} ${name}`
  return namespace ? `${one} in namespace ${namespace}` : one
}

async function readKind(client: Client, resource: Resource, extent: Extent): Promise<Found> {
  const { namespace, limit, pages, keeps } = extent
  const what = whatText(resource, { namespace })
  const objects: KubeObject[] = []
  let next: string | undefined
  try {
    for (let page = 0; page < pages; page += 1) {
      const { items, metadata } = await client.resource(resource).list({
        limit,
        metadataOnly: true,
        ...(namespace === '' ? {} : { namespace }),
        ...(next === undefined ? {} : { continue: next }),
      })
      objects.push(...items.filter(keeps))
      next = metadata.continue
      if (!next) return { objects, notRead: [] }
    }
    return { objects, notRead: [`${what}: only the first ${limit * pages} were read`] }
  } catch (error) {
    // The kind went away, or cannot be listed after all.
    if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return { objects, notRead: [] }
    return { objects, notRead: [`${what}: ${messageOf(error)}`] }
  }
}

/** The metadata of all kinds that can be listed, once each, page by page. Events are left out: they own nothing and hold up nothing. */
export async function readKinds(
  client: Client,
  { preferred, failed }: ServerResources,
  of: Extent & { readonly isAsked: (resource: Resource) => boolean },
): Promise<Found> {
  const kinds = preferred.filter(
    (resource) =>
      resource.verbs.includes('list') &&
      !resource.virtual &&
      resource.kind !== 'Event' &&
      of.isAsked(resource),
  )
  const objects: KubeObject[] = []
  const notRead = failed.map((groupVersion) => `${groupVersion}: its kinds cannot be discovered`)
  for (let at = 0; at < kinds.length; at += sideBySide) {
    const found = await Promise.all(
      kinds.slice(at, at + sideBySide).map((kind) => readKind(client, kind, of)),
    )
    objects.push(...found.flatMap((one) => one.objects))
    notRead.push(...found.flatMap((one) => one.notRead))
  }
  return { objects, notRead }
}

/** What is in the namespace. */
export async function readContents(client: Client, namespace: string): Promise<Found> {
  return await readKinds(client, await createDiscovery(client)(), {
    namespace,
    limit: mostContents,
    pages: 1,
    keeps: () => true,
    isAsked: ({ namespaced }) => namespaced,
  })
}

/** What names the uid as an owner. The dependents of an object in a namespace are in the same one, those of others anywhere. */
export async function readDependents(
  client: Client,
  { uid, namespace }: { readonly uid: string; readonly namespace: string },
): Promise<Found> {
  return await readKinds(client, await createDiscovery(client)(), {
    namespace,
    limit: pageSize,
    pages: mostPages,
    keeps: ({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true,
    isAsked: ({ namespaced }) => namespaced || namespace === '',
  })
}
