/** Reads the objects of a tree whole, for their states: a few by name, many of one kind as a list. What has no status is not read. */
import type { Client } from '../../components/client/client.ts'
import type { ServerResources } from '../../components/client/server-resources.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import {
  apiVersionOf,
  qualifiedName,
  type Resource,
} from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

/** From so many objects of a kind and namespace on, one list is cheaper than single reads. */
const fewObjects = 16
const pageSize = 500
const mostPages = 40
const sideBySide = 8

export interface WholeObjects {
  readonly byUid: ReadonlyMap<string, KubeObject>
  readonly notRead: readonly string[]
}

interface Group {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly objects: KubeObject[]
}

/** Secrets, ConfigMaps and the like have no status, and some of them hold what need not travel. */
function hasStatus({ subresources, group }: Resource, isBuiltIn: boolean): boolean {
  return subresources.some(({ name }) => name === 'status') || (!isBuiltIn && group !== '')
}

function groupsOf({ all }: ServerResources, objects: readonly KubeObject[]): Group[] {
  const resources = new Map(all.map((one) => [`${apiVersionOf(one)} ${one.kind}`, one]))
  const groups = new Map<string, Group>()
  for (const object of objects) {
    const resource = resources.get(`${object.apiVersion} ${object.kind}`)
    // `introduced` is known of built-in kinds alone.
    if (resource === undefined || !hasStatus(resource, resource.lifecycle.introduced !== ''))
      continue
    const { namespace } = object.metadata
    const id = `${resource.storagePrefix} ${namespace ?? ''}`
    const group = groups.get(id) ?? { resource, namespace, objects: [] }
    group.objects.push(object)
    groups.set(id, group)
  }
  return [...groups.values()]
}

async function readEach(client: Client, { resource, objects }: Group): Promise<KubeObject[]> {
  const verbs = client.resource(resource)
  const read = objects.map(async ({ metadata }) => {
    try {
      const { namespace, name = '' } = metadata
      return [await verbs.get({ namespace, name })]
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return []
      throw error
    }
  })
  return (await Promise.all(read)).flat()
}

async function readList(
  client: Client,
  { resource, namespace, objects }: Group,
): Promise<KubeObject[]> {
  const wanted = new Set(objects.map(({ metadata }) => metadata.uid))
  const found: KubeObject[] = []
  let next: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const { items, metadata } = await client.resource(resource).list({
      limit: pageSize,
      ...(namespace === undefined ? {} : { namespace }),
      ...(next === undefined ? {} : { continue: next }),
    })
    found.push(...items.filter((one) => wanted.has(one.metadata.uid)))
    next = metadata.continue
    if (!next || found.length === wanted.size) break
  }
  return found
}

/** Never rejects: the tree is worth showing without states. Managed fields are dropped. */
export async function readWhole(
  client: Client,
  resources: ServerResources,
  objects: readonly KubeObject[],
): Promise<WholeObjects> {
  const groups = groupsOf(resources, objects)
  const byUid = new Map<string, KubeObject>()
  const notRead: string[] = []
  const read = async (group: Group): Promise<void> => {
    const { resource } = group
    try {
      const isFew = group.objects.length <= fewObjects
      for (const object of await (isFew ? readEach : readList)(client, group)) {
        const { managedFields: _, ...metadata } = object.metadata
        const { kind } = resource
        const whole = { ...object, apiVersion: apiVersionOf(resource), kind, metadata }
        byUid.set(metadata.uid ?? '', whole)
      }
    } catch (error) {
      notRead.push(`the state of ${qualifiedName(resource)}: ${messageOf(error)}`)
    }
  }
  for (let at = 0; at < groups.length; at += sideBySide) {
    await Promise.all(groups.slice(at, at + sideBySide).map(read))
  }
  return { byUid, notRead }
}
