/** object-place: the places of kinds and objects in the page's fragment, and their paths in the API. Pure. */

/** A served resource: group, version and plural. */
export interface KindPlace {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
}

export interface ObjectName {
  /** Absent for objects without a namespace. */
  readonly namespace?: string | undefined
  readonly name: string
}

/** Parts of a place cannot be empty. */
const coreGroup = 'core'
const noNamespace = '-'

/** Parts for `linkTo`: the list of a kind. */
export function listPlace({ group, version, plural }: KindPlace): string[] {
  return ['objects', group === '' ? coreGroup : group, version, plural]
}

/** Parts for `linkTo`: one object. */
export function objectPlace(kind: KindPlace, { namespace, name }: ObjectName): string[] {
  return [...listPlace(kind), namespace || noNamespace, name]
}

export interface ParsedPlace {
  readonly kind: KindPlace
  readonly object: ObjectName | undefined
}

/** Undefined when the parts name no kind. */
export function parseObjectPlace(parts: readonly string[]): ParsedPlace | undefined {
  const [, group, version, plural, namespace, name] = parts
  if (group === undefined || version === undefined || plural === undefined) return undefined
  const kind = { group: group === coreGroup ? '' : group, version, plural }
  if (namespace === undefined || name === undefined) return { kind, object: undefined }
  const object = { name, ...(namespace === noNamespace ? {} : { namespace }) }
  return { kind, object }
}

/** `/apis/apps/v1/namespaces/a/deployments/web/scale`; without a name the list. */
export function apiPath(
  { group, version, plural }: KindPlace,
  at: {
    readonly namespace?: string | undefined
    readonly name?: string
    readonly sub?: string
  } = {},
): string {
  const { namespace, name, sub } = at
  const root = group === '' ? ['api', version] : ['apis', group, version]
  const within = namespace ? ['namespaces', namespace] : []
  const parts = [...root, ...within, plural, ...(name ? [name] : []), ...(sub ? [sub] : [])]
  return `/${parts.map(encodeURIComponent).join('/')}`
}

/** `apps/v1` -> group and version; `v1` is of the core group. */
export function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  if (slash === -1) return { group: '', version: apiVersion }
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}
