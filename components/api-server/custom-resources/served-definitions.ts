/**
 * ServedDefinitions: the kinds that custom resource definitions add to what is served, as of the newest commit. A definition
 * that changes or goes ends the watches of its kind (upstream: apiextensions-apiserver pkg/apiserver/customresource_handler.go).
 */
import type { CustomResourceDefinition } from '../../api/generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { Converters } from './conversion-webhook.ts'
import { resourcesOfDefinition } from './custom-version.ts'

export interface ServedDefinitions {
  /** By `group/version/plural`. */
  find(path: string): Resource | undefined
  /** What discovery shows; the same value as long as nothing changes. */
  readonly established: readonly Resource[]
}

export interface ServedDefinitionsOptions {
  readonly reader: ObjectReader
  readonly definitions: Resource
  /** Ends the watches of what is stored there. */
  readonly endWatches: (storagePrefix: string) => void
  readonly converters: Converters
}

interface Served {
  readonly definition: CustomResourceDefinition
  readonly resources: readonly Resource[]
  readonly isEstablished: boolean
}

/** Whether a definition's condition of that type is true. */
export function hasCondition({ status }: CustomResourceDefinition, type: string): boolean {
  return status?.conditions?.some((one) => one.type === type && one.status === 'True') === true
}

function isSameKind(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    deepEqual(a.spec, b.spec) &&
    deepEqual(a.status?.acceptedNames, b.status?.acceptedNames)
  )
}

/** Follows the definitions from now on, for as long as the reader lives. */
export function createServedDefinitions(options: ServedDefinitionsOptions): ServedDefinitions {
  const { reader, definitions, endWatches, converters } = options
  const served = new Map<string, Served>()
  const byPath = new Map<string, Resource>()
  let established: readonly Resource[] = []

  function remove(name: string): void {
    const before = served.get(name)
    if (before === undefined) return
    served.delete(name)
    for (const { group, version, plural } of before.resources) {
      byPath.delete(`${group}/${version}/${plural}`)
    }
    const [first] = before.resources
    if (first !== undefined) endWatches(first.storagePrefix)
  }

  function take(object: KubeObject): boolean {
    const definition = object as CustomResourceDefinition
    const name = definition.metadata.name ?? ''
    const before = served.get(name)
    const isEstablished = hasCondition(definition, 'Established')
    if (!isEstablished && !hasCondition(definition, 'NamesAccepted')) {
      remove(name)
      return before?.isEstablished === true
    }
    if (before !== undefined && isSameKind(before.definition, definition)) {
      served.set(name, { ...before, definition, isEstablished })
      return before.isEstablished !== isEstablished
    }
    remove(name)
    const isTerminating = (): boolean =>
      served.get(name)?.definition.metadata.deletionTimestamp !== undefined
    const remote = converters.of(definition)
    const resources = resourcesOfDefinition(definition, { remote, isTerminating })
    for (const resource of resources) {
      byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, resource)
    }
    served.set(name, { definition, resources, isEstablished })
    return isEstablished || before?.isEstablished === true
  }

  function show(): void {
    converters.keep([...served.values()].map(({ definition }) => definition))
    established = [...served.values()].flatMap((one) => (one.isEstablished ? one.resources : []))
  }

  for (const object of reader.list(definitions)) take(object)
  show()
  reader.onChange(definitions, ({ type, key, object }) => {
    if (type === 'DELETED') {
      remove(key)
      show()
    } else if (take(object())) show()
  })
  return {
    find: (path) => byPath.get(path),
    get established() {
      return established
    },
  }
}
