/** Discovery: served resources -> the documents below `/api` and `/apis`, plain and aggregated, built once and kept as bytes. */
import { createHash } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import type { ResourceGroup } from '../../api/resources.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import type { Resource, Subresource } from '../../machinery/objects/resource.ts'
import { compareVersions } from './compare-versions.ts'

/** `plain` is a document per group and version; the others are one document for all groups (KEP-3352). */
export type DiscoveryForm = 'plain' | 'v2' | 'v2beta1'

export interface DiscoveryDocument {
  readonly body: Buffer
  readonly contentType: string
  /** Quoted, as the header has it; equal as long as the bytes are. */
  readonly etag: string
}

/** A group as the APIServices list it. */
export interface ListedGroup {
  readonly name: string
  /** Preferred first; never empty. */
  readonly versions: readonly string[]
}

export interface DiscoveryInput {
  readonly dialect: Dialect
  /** Every resource that is served. */
  readonly resources: readonly Resource[]
  /** Order of groups and versions; groups that are not here come last, by name. */
  readonly groups: readonly ResourceGroup[]
  /** `host:port` at which clients of any network reach the server. */
  readonly serverAddress: string
  /** The order of groups and versions from the APIServices. Those without an APIService keep their default place. */
  readonly listed?: readonly ListedGroup[]
  /** What other servers serve, by `group/version`. */
  readonly extensions?: ReadonlyMap<string, ServedElsewhere>
}

/** A group version of an extension API server, in the words of aggregated discovery. */
export interface ServedElsewhere {
  readonly resources: readonly unknown[]
  /** `Stale`: its server did not answer lately. */
  readonly freshness: 'Current' | 'Stale'
}

export interface Discovery {
  /**
   * The document at a path without its trailing slash: `/api`, `/api/v1`, `/apis`, `/apis/apps`, `/apis/apps/v1`. Undefined if
   * it does not exist. Only `/api` and `/apis` have aggregated forms; other paths return the plain one for any `form`.
   */
  document(path: string, form?: DiscoveryForm): DiscoveryDocument | undefined
  /** The paths of all named groups and their versions. */
  readonly groupPaths: readonly string[]
}

/** Builds documents when first asked for and keeps them; make a new Discovery when what is served changes. */
export function createDiscovery(input: DiscoveryInput): Discovery {
  const served = servedGroups(input)
  const named = served.filter((group) => group.name !== '')
  const core = served.filter((group) => group.name === '')
  const summaries = groupSummaries(input, named)
  const documents = new Map<string, DiscoveryDocument | undefined>()

  function build(path: string, form: DiscoveryForm): DiscoveryDocument | undefined {
    const [, root = '', group, version, ...more] = path.split('/')
    if (more.length > 0) return undefined
    if (root === 'api' && version === undefined) {
      if (group === undefined) {
        return form === 'plain'
          ? plain(legacyVersions(core, input.serverAddress))
          : aggregated(core, form, input.dialect)
      }
      const found = core[0]?.versions.find((candidate) => candidate.version === group)
      return found && plain(resourceList(found))
    }
    if (root !== 'apis') return undefined
    if (group === undefined) {
      return form === 'plain' ? plain(groupList(summaries)) : aggregated(named, form, input.dialect)
    }
    const found = named.find((candidate) => candidate.name === group)
    if (version === undefined) {
      const summary =
        summaries.find((candidate) => candidate.name === group) ??
        (found === undefined ? undefined : summaryOf(found))
      return summary && plain({ kind: 'APIGroup', apiVersion: 'v1', ...summary })
    }
    const foundVersion = found?.versions.find((candidate) => candidate.version === version)
    return foundVersion && plain(resourceList(foundVersion))
  }

  return {
    document: (path, form = 'plain') => {
      const isRoot = path === '/api' || path === '/apis'
      const key = `${isRoot ? form : 'plain'} ${path}`
      if (!documents.has(key)) {
        const document = build(path, isRoot ? form : 'plain')
        // Unknown paths are the client's to choose, so they are not kept.
        if (document === undefined) return undefined
        documents.set(key, document)
      }
      return documents.get(key)
    },
    groupPaths: summaries.flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    ]),
  }
}

/** The Discovery of what is served now: made anew when custom resources, APIServices or extensions are another value than before. */
export function createCurrentDiscovery(
  now: () => DiscoveryInput & { readonly custom: readonly Resource[] },
): () => Discovery {
  let made: { from: readonly unknown[]; discovery: Discovery } | undefined
  return () => {
    const { custom, ...input } = now()
    const from = [custom, input.listed, input.extensions]
    if (made === undefined || from.some((value, i) => value !== made?.from[i])) {
      const resources = [...input.resources, ...custom]
      made = { from, discovery: createDiscovery({ ...input, resources }) }
    }
    return made.discovery
  }
}

/** Which form a client asks for in its Accept header: the first it names that is known. */
export function discoveryForm(
  accept: string | string[] | undefined,
  dialect: Dialect,
): DiscoveryForm {
  for (const clause of [accept ?? ''].flat().join(',').split(',')) {
    const [type, ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase())
    if (type !== 'application/json') continue
    const asked = new Map(parameters.map((text) => text.split('=', 2) as [string, string]))
    if (asked.get('as') === undefined) return 'plain'
    const version = asked.get('v')
    const isAggregated =
      asked.get('as') === 'apigroupdiscoverylist' &&
      asked.get('g') === `apidiscovery.${dialect.apiDomain}`
    if (isAggregated && (version === 'v2' || version === 'v2beta1')) return version
  }
  return 'plain'
}

interface ServedVersion {
  readonly version: string
  readonly groupVersion: string
  /** By plural. */
  readonly resources: readonly Resource[]
  /** In place of the resources. */
  readonly elsewhere?: ServedElsewhere
}

interface ServedGroup {
  readonly name: string
  /** Preferred first; never empty. */
  readonly versions: readonly ServedVersion[]
}

const noExtensions: ReadonlyMap<string, ServedElsewhere> = new Map()

function servedGroups(input: DiscoveryInput): ServedGroup[] {
  const { resources, groups, listed = [], extensions: elsewhere = noExtensions } = input
  const byGroup = Map.groupBy(resources, (resource) => resource.group)
  const known = groups.map((group) => group.name)
  const extended = Array.from(elsewhere.keys(), (groupVersion) => groupVersion.split('/')[0] ?? '')
  const others = [...new Set([...byGroup.keys(), ...extended])]
    .filter((name) => !known.includes(name))
    .sort()
  const served = [...known, ...others].flatMap((name) => {
    const byVersion = Map.groupBy(byGroup.get(name) ?? [], (resource) => resource.version)
    const added = [...elsewhere.keys()].flatMap((groupVersion) => {
      const [group, version = ''] = groupVersion.split('/')
      return group === name && !byVersion.has(version) ? version : []
    })
    const order = groups.find((group) => group.name === name)?.versions.map((v) => v.version)
    const own = (order ?? [...byVersion.keys()].sort(compareVersions)).filter((version) =>
      byVersion.has(version),
    )
    const versions = [...own, ...added].map((version) => {
      const found = elsewhere.get(`${name}/${version}`)
      return {
        version,
        groupVersion: apiVersionOf({ group: name, version }),
        resources: (byVersion.get(version) ?? []).toSorted((a, b) =>
          a.plural < b.plural ? -1 : 1,
        ),
        ...(found === undefined ? {} : { elsewhere: found }),
      }
    })
    const listing = listed.find((group) => group.name === name)?.versions
    return versions.length === 0
      ? []
      : { name, versions: inListedOrder(versions, listing, ({ version }) => version) }
  })
  // The group of the APIServices has none itself, and leads.
  const [first, ...rest] = served
  if (first === undefined) return []
  const names = listed.map(({ name }) => name)
  return [first, ...inListedOrder(rest, names, ({ name }) => name)]
}

/** What is listed first, in that order; then the others as they were. */
function inListedOrder<T>(
  all: readonly T[],
  listing: readonly string[] | undefined,
  nameOf: (one: T) => string,
): readonly T[] {
  if (listing === undefined || listing.length === 0) return all
  const place = (one: T): number => {
    const at = listing.indexOf(nameOf(one))
    return at < 0 ? listing.length : at
  }
  return all.toSorted((a, b) => place(a) - place(b))
}

function legacyVersions(core: readonly ServedGroup[], serverAddress: string): unknown {
  return {
    kind: 'APIVersions',
    versions: core.flatMap((group) => group.versions.map(({ version }) => version)),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

interface GroupSummary {
  readonly name: string
  readonly versions: readonly { readonly groupVersion: string; readonly version: string }[]
}

function summaryOf({ name, versions }: ServedGroup | ListedGroup): GroupSummary {
  const pairs = versions.map((one) => {
    const version = typeof one === 'string' ? one : one.version
    return { groupVersion: apiVersionOf({ group: name, version }), version }
  })
  return Object.assign({ name, versions: pairs }, { preferredVersion: pairs[0] })
}

/** As the APIServices list them, behind their own group, which has none (upstream: handler_apis.go); else as they are served. */
function groupSummaries(
  { listed = [] }: DiscoveryInput,
  named: readonly ServedGroup[],
): GroupSummary[] {
  const groups = listed.filter(({ name }) => name !== '')
  if (groups.length === 0) return named.map(summaryOf)
  const own = named.slice(0, 1).filter(({ name }) => !groups.some((one) => one.name === name))
  return [...own, ...groups].map(summaryOf)
}

function groupList(groups: readonly GroupSummary[]): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

function resourceList({ groupVersion, resources }: ServedVersion): unknown {
  return {
    kind: 'APIResourceList',
    // The core group's list was there before lists had versions, and still carries none.
    ...(groupVersion === 'v1' ? {} : { apiVersion: 'v1' }),
    groupVersion,
    resources: resources.flatMap((resource) => [
      {
        name: resource.plural,
        singularName: resource.singular,
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs: resource.verbs,
        ...names(resource),
        ...(resource.virtual ? {} : { storageVersionHash: storageVersionHash(resource) }),
      },
      ...resource.subresources.map((sub) => ({
        name: `${resource.plural}/${sub.name}`,
        singularName: '',
        namespaced: resource.namespaced,
        ...(sub.group === undefined ? {} : { group: sub.group }),
        ...(sub.version === undefined ? {} : { version: sub.version }),
        kind: sub.kind,
        verbs: sub.verbs,
      })),
    ]),
  }
}

function names({ shortNames, categories }: Resource) {
  return {
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  }
}

/** Changes exactly when the stored version or kind does (upstream: discovery.StorageVersionHash). */
export function storageVersionHash(resource: Pick<Resource, 'storageVersion' | 'kind'>): string {
  const { apiVersion } = resource.storageVersion
  const groupVersion = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  const digest = createHash('sha256').update(`${groupVersion}/${resource.kind}`).digest()
  return digest.subarray(0, 8).toString('base64')
}

function aggregated(
  groups: readonly ServedGroup[],
  form: 'v2' | 'v2beta1',
  dialect: Dialect,
): DiscoveryDocument {
  const group = `apidiscovery.${dialect.apiDomain}`
  const list = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `${group}/${form}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
      versions: versions.map(({ version, resources, elsewhere }) => ({
        version,
        resources: elsewhere?.resources ?? resources.map(aggregatedResource),
        freshness: elsewhere?.freshness ?? 'Current',
      })),
    })),
  }
  return document(list, `application/json;g=${group};v=${form};as=APIGroupDiscoveryList`)
}

function aggregatedResource(resource: Resource): unknown {
  const { group, version, kind } = resource
  return {
    resource: resource.plural,
    responseKind: { group, version, kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...names(resource),
    ...(resource.subresources.length === 0
      ? {}
      : {
          subresources: resource.subresources.map((sub: Subresource) => ({
            subresource: sub.name,
            responseKind: {
              group: sub.group ?? group,
              version: sub.version ?? version,
              kind: sub.kind,
            },
            verbs: sub.verbs,
          })),
        }),
  }
}

function plain(value: unknown): DiscoveryDocument {
  return document(value, 'application/json')
}

function document(value: unknown, contentType: string): DiscoveryDocument {
  const body = Buffer.from(`${JSON.stringify(value)}\n`)
  const digest = createHash('sha256').update(body).digest('hex').toUpperCase()
  return { body, contentType, etag: `"${digest}"` }
}
