/** kinds: what the server's discovery lists, as the page offers it (upstream: apidiscovery/v2). Pure. */
import type { KindPlace } from '../../../app/object-place.ts'

export interface Kind extends KindPlace {
  readonly kind: string
  readonly isNamespaced: boolean
  readonly shortNames: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly string[]
}

/** The part of an APIGroupDiscoveryList that is read. */
export interface DiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly resources?: readonly DiscoveredResource[]
    }[]
  }[]
}

interface DiscoveredResource {
  readonly resource: string
  readonly responseKind?: { readonly kind?: string }
  readonly scope: string
  readonly shortNames?: readonly string[]
  readonly verbs?: readonly string[]
  readonly subresources?: readonly { readonly subresource: string }[]
}

function kindOf(place: KindPlace, resource: DiscoveredResource): Kind {
  const { responseKind, scope, shortNames = [], verbs = [], subresources = [] } = resource
  return {
    ...place,
    kind: responseKind?.kind ?? place.plural,
    isNamespaced: scope === 'Namespaced',
    shortNames,
    verbs,
    subresources: subresources.map(({ subresource }) => subresource),
  }
}

/** Every kind in every served version; the preferred version of a group comes first. */
export function kindsOf(lists: readonly DiscoveryList[]): Kind[] {
  return lists.flatMap(({ items = [] }) =>
    items.flatMap(({ metadata, versions = [] }) =>
      versions.flatMap(({ version, resources = [] }) =>
        resources.map((resource) =>
          kindOf({ group: metadata?.name ?? '', version, plural: resource.resource }, resource),
        ),
      ),
    ),
  )
}

/** Each kind that can be listed once, in its preferred version. */
export function listedKinds(kinds: readonly Kind[]): Kind[] {
  const known = new Map<string, Kind>()
  for (const kind of kinds) {
    const name = qualifiedName(kind)
    if (kind.verbs.includes('list') && !known.has(name)) known.set(name, kind)
  }
  return [...known.values()]
}

/** `deployments.apps`, as CustomResourceDefinitions are named too. */
export function qualifiedName({ group, plural }: KindPlace): string {
  return group === '' ? plural : `${plural}.${group}`
}

export function findKind(kinds: readonly Kind[], wanted: KindPlace): Kind | undefined {
  return kinds.find(
    ({ group, version, plural }) =>
      group === wanted.group && version === wanted.version && plural === wanted.plural,
  )
}

/** The kind that an object or an owner reference names. */
export function kindNamed(
  kinds: readonly Kind[],
  named: { readonly group: string; readonly version: string; readonly kind: string },
): Kind | undefined {
  const ofKind = kinds.filter(({ group, kind }) => group === named.group && kind === named.kind)
  return ofKind.find(({ version }) => version === named.version) ?? ofKind[0]
}
