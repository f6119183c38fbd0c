/** Importing: reads objects of a live cluster, brings them into the form and the order in which they can be created elsewhere. */
import type { Client } from '../../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'
import { importSteps, type ImportedObject } from './import-order.ts'
import { definitions, dialect, kindName } from './kind-name.ts'
import { importedForm } from './imported-form.ts'
import { kindsToImport, type WantedKinds } from './kinds.ts'
import { isMadeAnew, withOwners } from './owners.ts'
import { readObjects, type ReadObject, type Unread } from './read-objects.ts'

export interface ImportOptions extends WantedKinds {
  /** Empty: all but those of the system. */
  readonly namespaces: readonly string[]
  /** What the cluster serves that the objects are for; undefined: a file. */
  readonly target: ServerResources | undefined
  readonly signal: AbortSignal
  readonly onProgress: (objects: number) => void
}

export interface Imported {
  /** In the order in which they can be created. */
  readonly objects: readonly ImportedObject[]
  /** How many were read. */
  readonly read: number
  readonly unread: readonly Unread[]
}

const systemNamespaces = new Set<string>([
  dialect.systemNamespace,
  dialect.publicNamespace,
  dialect.nodeLeaseNamespace,
])

/** With namespaces, a kind without one is read when it was asked for, or when objects of the namespaces need it. */
function isRead(resource: Resource, { namespaces, kinds }: ImportOptions): boolean {
  if (resource.namespaced || namespaces.length === 0 || kinds.length > 0) return true
  return ['namespaces', definitions].includes(kindName(resource))
}

/** Whether the object is of the namespaces that are imported. */
function placeFilter({ namespaces }: ImportOptions): (read: ReadObject) => boolean {
  const isWanted = (name: string): boolean =>
    namespaces.length === 0 ? !systemNamespaces.has(name) : namespaces.includes(name)
  return ({ resource, object }) => {
    const { namespace, name = '' } = object.metadata
    if (qualifiedName(resource) === 'namespaces') return isWanted(name)
    return namespace === undefined || isWanted(namespace)
  }
}

interface DefinitionSpec {
  readonly group?: string
  readonly names?: { readonly plural?: string }
}

/** With namespaces, definitions come along only when something is defined by them. */
function neededDefinitions(read: readonly ReadObject[]): (read: ReadObject) => boolean {
  const used = new Set(
    read
      .filter(({ resource }) => resource.namespaced)
      .map(({ resource }) => qualifiedName(resource)),
  )
  return ({ resource, object }) => {
    if (kindName(resource) !== definitions) return true
    const { group = '', names } = (object['spec'] ?? {}) as DefinitionSpec
    return used.has(`${names?.plural ?? ''}.${group}`)
  }
}

/** The Namespaces of all objects: one that could not be read is made from its name. */
function missingNamespaces(
  objects: readonly ImportedObject[],
  namespaces: Resource | undefined,
): ImportedObject[] {
  if (namespaces === undefined) return []
  const there = new Set(
    objects
      .filter(({ resource }) => qualifiedName(resource) === 'namespaces')
      .map(({ object }) => object.metadata.name),
  )
  const used = new Set(objects.map(({ object }) => object.metadata.namespace))
  return [...used].flatMap((name) =>
    name === undefined || name === 'default' || there.has(name)
      ? []
      : [
          {
            resource: namespaces,
            uid: `namespace ${name}`,
            object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
          },
        ],
  )
}

/** Reads from `source`. Rejects with a ClusterError for unknown kinds, with a ConnectionError when it does not answer. */
export async function importObjects(source: Client, options: ImportOptions): Promise<Imported> {
  const { target, namespaces, signal, onProgress } = options
  const served = await createDiscovery(source)(signal)
  const resources = kindsToImport(served, target, options).filter((one) => isRead(one, options))
  const failed = served.failed.map((version) => ({
    kind: version,
    why: 'its server does not answer',
  }))
  const { objects: all, unread } = await readObjects(source, {
    resources,
    namespaces,
    signal,
    onProgress,
  })
  const placed = all.filter(placeFilter(options))
  const needed =
    namespaces.length === 0 || options.kinds.length > 0 ? () => true : neededDefinitions(placed)
  const readUids = new Set(all.map(({ object }) => object.metadata.uid ?? ''))
  const formed = placed.filter(needed).flatMap(({ resource, object }): ImportedObject[] => {
    const form = isMadeAnew(object, readUids) ? undefined : importedForm(object, resource)
    return form === undefined ? [] : [{ resource, uid: object.metadata.uid ?? '', object: form }]
  })
  const ofNamespaces = served.all.find((one) => qualifiedName(one) === 'namespaces')
  const whole = [...missingNamespaces(formed, ofNamespaces), ...formed]
  return {
    objects: importSteps(whole).flat(),
    read: all.length,
    unread: [...unread, ...failed],
  }
}

/** For a file: uids are made anew by whoever creates the objects, so no reference to an owner stays. */
export function manifestsOf(objects: readonly ImportedObject[]): readonly unknown[] {
  return objects.map(({ object }) => withOwners(object, () => undefined))
}
