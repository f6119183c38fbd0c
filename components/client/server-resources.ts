/** The resources of a server, by aggregated discovery: two requests for any number of groups. */
import { apiGroup } from '../api/dialect.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Resource, Verb } from '../machinery/objects/resource.ts'
import type { Client } from './client.ts'

export interface ServerResources {
  /** Of every served version. A built-in resource is the very constant of `resourcesOf`. */
  readonly all: readonly Resource[]
  /** Each resource once, in the version its group prefers. */
  readonly preferred: readonly Resource[]
  /** Group versions that are known to exist and whose resources could not be learned: `stats.example.com/v1`. */
  readonly failed: readonly string[]
}

interface DiscoveredResource {
  readonly resource: string
  readonly responseKind: { readonly kind: string }
  readonly scope: string
  readonly singularResource: string
  readonly verbs: readonly Verb[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly {
    readonly subresource: string
    readonly responseKind: { readonly kind: string }
    readonly verbs: readonly Verb[]
  }[]
}

interface DiscoveryList {
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources: readonly DiscoveredResource[]
      readonly freshness?: string
    }[]
  }[]
}

/** A resource that is not built in, as far as discovery describes it. */
function customResource(group: string, version: string, found: DiscoveredResource): Resource {
  const { resource: plural, responseKind, singularResource, verbs } = found
  const apiVersion = group === '' ? version : `${group}/${version}`
  return {
    group,
    package: `${group}/${version}`,
    version,
    plural,
    singular: singularResource,
    kind: responseKind.kind,
    listKind: `${responseKind.kind}List`,
    namespaced: found.scope === 'Namespaced',
    verbs,
    shortNames: found.shortNames ?? [],
    categories: found.categories ?? [],
    subresources: (found.subresources ?? []).map((sub) => ({
      name: sub.subresource,
      verbs: sub.verbs,
      kind: sub.responseKind.kind,
    })),
    selectableFields: [],
    createOnUpdate: false,
    virtual: false,
    storagePrefix: `${group}/${plural}`,
    storageVersion: { package: `${group}/${version}`, apiVersion },
    lifecycle: { introduced: '' },
    servedByDefault: true,
  }
}

/** Discovers anew. Rejects if the server cannot be reached; the result lists single groups that failed. */
export type Discover = (signal?: AbortSignal) => Promise<ServerResources>

/** A resource that did not change is the same constant in every answer. */
export function createDiscovery(client: Client): Discover {
  const known = new Map<string, { readonly text: string; readonly resource: Resource }>()
  const custom = (group: string, version: string, found: DiscoveredResource): Resource => {
    const id = `${group}/${version}/${found.resource}`
    const text = JSON.stringify(found)
    const before = known.get(id)
    if (before?.text === text) return before.resource
    const resource = customResource(group, version, found)
    known.set(id, { text, resource })
    return resource
  }
  return (signal) => discover(client, { custom, ...(signal === undefined ? {} : { signal }) })
}

async function discover(
  client: Client,
  options: { readonly custom: typeof customResource; readonly signal?: AbortSignal },
): Promise<ServerResources> {
  const { dialect, rest } = client
  const { custom, signal } = options
  const builtIn = new Map(
    resourcesOf(dialect).all.map((resource) => [
      `${resource.group}/${resource.version}/${resource.plural}`,
      resource,
    ]),
  )
  const accept = `application/json;g=${apiGroup(dialect, 'apidiscovery')};v=v2;as=APIGroupDiscoveryList`
  const ask = async (path: string): Promise<DiscoveryList> =>
    (await rest.json({
      method: 'GET',
      path,
      headers: { accept },
      ...(signal === undefined ? {} : { signal }),
    })) as DiscoveryList
  const [core, groups] = await Promise.all([ask('/api'), ask('/apis')])
  const all: Resource[] = []
  const preferred = new Map<string, Resource>()
  const failed: string[] = []
  for (const { metadata, versions } of [...core.items, ...groups.items]) {
    const group = metadata.name ?? ''
    for (const { version, resources, freshness } of versions) {
      if (freshness === 'Stale') {
        failed.push(group === '' ? version : `${group}/${version}`)
        continue
      }
      for (const found of resources) {
        const known = builtIn.get(`${group}/${version}/${found.resource}`)
        const resource = known ?? custom(group, version, found)
        all.push(resource)
        const id = `${group}/${found.resource}`
        if (!preferred.has(id)) preferred.set(id, resource)
      }
    }
  }
  return { all, preferred: [...preferred.values()], failed }
}
