/** Discovery: served resources -> the documents below `/api` and `/apis`, plain and aggregated, built once and kept as bytes. */
import { createHash } from 'node:crypto'
import type { Dialect } from '../api/dialect.ts'
import type { ResourceGroup } from '../api/resources.ts'
import { apiVersionOf } from '../machinery/resource.ts'
import type { Resource, Subresource } from '../machinery/resource.ts'

/** `plain` is a document per group and version; the others are one document for all groups (KEP-3352). */
export type DiscoveryForm = 'plain' | 'v2' | 'v2beta1'

export interface DiscoveryDocument {
  readonly body: Buffer
  readonly contentType: string
  /** Quoted, as the header has it; equal as long as the bytes are. */
  readonly etag: string
}

export interface DiscoveryInput {
  readonly dialect: Dialect
  /** Every resource that is served, custom ones too. */
  readonly resources: readonly Resource[]
  /** Order of groups and versions; groups that are not here come last, by name. */
  readonly groups: readonly ResourceGroup[]
  /** `host:port` at which clients of any network reach the server. */
  readonly serverAddress: string
}

export interface Discovery {
  /**
   * The document at a path without its trailing slash: `/api`, `/api/v1`, `/apis`, `/apis/apps`, `/apis/apps/v1`. Undefined when
   * there is none. Only `/api` and `/apis` have aggregated forms; elsewhere the plain one is given whatever was asked.
   */
  document(path: string, form?: DiscoveryForm): DiscoveryDocument | undefined
}

/** Builds documents when first asked for and keeps them; make a new Discovery when what is served changes. */
export function createDiscovery(input: DiscoveryInput): Discovery {
  const served = servedGroups(input)
  const named = served.filter((group) => group.name !== '')
  const core = served.filter((group) => group.name === '')
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
      return form === 'plain' ? plain(groupList(named)) : aggregated(named, form, input.dialect)
    }
    const found = named.find((candidate) => candidate.name === group)
    if (found === undefined) return undefined
    if (version === undefined) {
      return plain({ kind: 'APIGroup', apiVersion: 'v1', ...groupSummary(found) })
    }
    const foundVersion = found.versions.find((candidate) => candidate.version === version)
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
}

interface ServedGroup {
  readonly name: string
  /** Preferred first; never empty. */
  readonly versions: readonly ServedVersion[]
}

function servedGroups({ resources, groups }: DiscoveryInput): ServedGroup[] {
  const byGroup = Map.groupBy(resources, (resource) => resource.group)
  const known = groups.map((group) => group.name)
  const others = [...byGroup.keys()].filter((name) => !known.includes(name)).sort()
  return [...known, ...others].flatMap((name) => {
    const members = byGroup.get(name)
    if (members === undefined) return []
    const byVersion = Map.groupBy(members, (resource) => resource.version)
    const order = groups.find((group) => group.name === name)?.versions.map((v) => v.version)
    const versions = (order ?? [...byVersion.keys()].sort(compareVersions)).flatMap((version) => {
      const found = byVersion.get(version)
      if (found === undefined) return []
      return {
        version,
        groupVersion: apiVersionOf({ group: name, version }),
        resources: found.toSorted((a, b) => (a.plural < b.plural ? -1 : 1)),
      }
    })
    return versions.length === 0 ? [] : { name, versions }
  })
}

/** Stable before beta before alpha, newer before older, other names last by name (upstream: version.CompareKubeAwareVersionStrings). */
export function compareVersions(a: string, b: string): number {
  const left = rank(a)
  const right = rank(b)
  if (left === undefined || right === undefined) {
    if (left === right) return a < b ? -1 : a > b ? 1 : 0
    return left === undefined ? 1 : -1
  }
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor
}

function rank(version: string): { stage: number; major: number; minor: number } | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version)
  if (match === null) return undefined
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0
  return { stage, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}

function legacyVersions(core: readonly ServedGroup[], serverAddress: string): unknown {
  return {
    kind: 'APIVersions',
    versions: core.flatMap((group) => group.versions.map(({ version }) => version)),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

function groupSummary({ name, versions }: ServedGroup) {
  const pairs = versions.map(({ groupVersion, version }) => ({ groupVersion, version }))
  return { name, versions: pairs, preferredVersion: pairs[0] }
}

function groupList(groups: readonly ServedGroup[]): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupSummary) }
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
      versions: versions.map(({ version, resources }) => ({
        version,
        resources: resources.map(aggregatedResource),
        freshness: 'Current',
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
