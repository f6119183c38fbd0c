/**
 * extension-discovery: the resources of an extension API server, from its aggregated discovery or from the list of the group
 * version (upstream: handler_discovery.go).
 */
import type { Dialect } from '../../api/dialect.ts'
import type { RemoteApiService } from './api-service-table.ts'
import { discoveryPath } from './availability.ts'
import type { ExtensionReader } from './extension-reader.ts'

/** An entry of `resources` in an APIGroupDiscoveryList. */
export type DiscoveredResource = Readonly<Record<string, unknown>>

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** The group version's resources in an aggregated document; undefined when it names no such version. */
function inAggregated(
  document: unknown,
  { group, version }: RemoteApiService,
): readonly Json[] | undefined {
  const items = isObject(document) ? listOf(document['items']) : []
  const found = items.find(({ metadata }) => isObject(metadata) && metadata['name'] === group)
  const versions = listOf(found?.['versions'])
  const entry = versions.find((one) => one['version'] === version)
  return entry && listOf(entry['resources']).filter(isNamed('resource')).map(completed)
}

const noKind = { group: '', version: '', kind: '' }

/** The resource with every field that readers of discovery require. */
function completed(resource: Json): Json {
  const { responseKind, verbs, subresources } = resource
  return {
    ...resource,
    responseKind: isObject(responseKind) ? responseKind : noKind,
    verbs: Array.isArray(verbs) ? (verbs as unknown) : [],
    ...(subresources === undefined
      ? {}
      : { subresources: listOf(subresources).filter(isNamed('subresource')).map(completed) }),
  }
}

const isNamed =
  (field: string) =>
  (one: Json): boolean =>
    typeof one[field] === 'string'

/** Converts the list of a group version (upstream: ConvertGroupVersionIntoToDiscovery). */
function fromPlain(document: unknown, remote: RemoteApiService): Json[] {
  const resources = isObject(document) ? listOf(document['resources']) : []
  const kindOf = ({ group, version, kind }: Json): Json => ({
    group: group || remote.group,
    version: version || remote.version,
    kind: kind ?? '',
  })
  const byName = new Map<string, Record<string, unknown> & { subresources?: Json[] }>()
  for (const one of resources) {
    const { name, namespaced, singularName, shortNames, categories, verbs } = one
    const [plural = '', subresource] = String(name).split('/', 2)
    if (subresource === undefined) {
      byName.set(plural, {
        ...byName.get(plural),
        resource: plural,
        responseKind: kindOf(one),
        scope: namespaced === true ? 'Namespaced' : 'Cluster',
        singularResource: singularName ?? '',
        verbs: verbs ?? [],
        ...(shortNames === undefined ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
      })
      continue
    }
    const parent = byName.get(plural) ?? {
      resource: plural,
      responseKind: { group: remote.group, version: remote.version, kind: '' },
      scope: namespaced === true ? 'Namespaced' : 'Cluster',
      singularResource: '',
      verbs: [],
    }
    const sub = { subresource, responseKind: kindOf(one), verbs: verbs ?? [] }
    byName.set(plural, { ...parent, subresources: [...(parent.subresources ?? []), sub] })
  }
  return [...byName.values()]
}

/** The resources of the group version. Rejects with an Error when the server does not give them. */
export async function discoverExtension(
  remote: RemoteApiService,
  options: { extensions: ExtensionReader; dialect: Dialect; signal: AbortSignal },
): Promise<readonly DiscoveredResource[]> {
  const { extensions, dialect, signal } = options
  const group = `apidiscovery.${dialect.apiDomain}`
  const accept = ['v2', 'v2beta1']
    .map((version) => `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`)
    .join(',')
  const root = remote.group === '' ? '/api' : '/apis'
  const answer = await extensions.get(remote, { path: root, accept, signal })
  const isAggregated = /;\s*as=APIGroupDiscoveryList/i.test(answer.contentType)
  if (answer.status === 200 && isAggregated) {
    const found = inAggregated(JSON.parse(answer.body.toString()), remote)
    if (found !== undefined) return found
    throw new Error(`${remote.name} is not in the discovery of its server`)
  }
  if (answer.status === 503) throw new Error('service unavailable')
  const path = discoveryPath(remote)
  const plain = await extensions.get(remote, { path, accept: 'application/json', signal })
  if (plain.status !== 200)
    throw new Error(`failed to download discovery for ${path}: ${plain.status}`)
  return fromPlain(JSON.parse(plain.body.toString()), remote)
}
