/** The compact form in which each API group's file describes its kinds; `resources.ts` makes Resources of it. */
import type { Lifecycle, Verb } from '../machinery/objects/resource.ts'

/** A sub-resource before the dialect is known: `group` is a stem such as `authentication`. */
export interface SubresourceEntry {
  readonly name: string
  readonly verbs: readonly Verb[]
  /** The parent's kind when absent. */
  readonly kind?: string
  readonly group?: string
  readonly version?: string
}

/** One kind in one version. Everything absent has the value most kinds have. */
export interface KindEntry {
  readonly kind: string
  /** Default `v1`. */
  readonly version?: string
  /** Default: the entry's key in lower case. */
  readonly plural?: string
  /** Default true. */
  readonly namespaced?: boolean
  /** Default: all eight. */
  readonly verbs?: readonly Verb[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly SubresourceEntry[]
  readonly selectableFields?: readonly string[]
  /** Default false. */
  readonly createOnUpdate?: boolean
  /** Default false. */
  readonly virtual?: boolean
  /** The facts' package whose form is stored, when it is not the entry's own: `core/v1`. */
  readonly storedAs?: string
  readonly lifecycle: Lifecycle
}

export interface GroupTable<Key extends string = string> {
  /** Group name without the domain: `rbac.authorization`; '' is core. */
  readonly stem: string
  /** The facts' name of the group: `rbac`. */
  readonly package: string
  /** Order among groups in `/apis`, higher first (upstream: GroupPriorityMinimum of the APIService). */
  readonly priority: number
  /** Every version that can be served, preferred first, with the order number of its APIService. */
  readonly versions: Readonly<Record<string, number>>
  readonly kinds: Readonly<Record<Key, KindEntry>>
}

/** Checks a table's shape and keeps the literal type of its keys. */
export function groupTable<Key extends string>(table: GroupTable<Key>): GroupTable<Key> {
  return table
}

export const allVerbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]

const item: readonly Verb[] = ['get', 'patch', 'update']

export const status: SubresourceEntry = { name: 'status', verbs: item }

export const scale: SubresourceEntry = {
  name: 'scale',
  verbs: item,
  kind: 'Scale',
  group: 'autoscaling',
  version: 'v1',
}

/** A sub-resource of the parent's own kind that is read and changed like the status. */
export function part(name: string): SubresourceEntry {
  return { name, verbs: item }
}

/** A path that connects to something behind the object: all methods of a proxy, or GET and POST of a stream. */
export function connect(name: string, kind: string): SubresourceEntry {
  const verbs: readonly Verb[] =
    name === 'proxy' ? ['create', 'delete', 'get', 'patch', 'update'] : ['create', 'get']
  return { name, verbs, kind }
}

/** What a review type has instead of storage. */
export const postOnly = { verbs: ['create'], virtual: true } as const

/** A lifecycle of a version that is neither deprecated nor planned to go. */
export function since(introduced: string): Lifecycle {
  return { introduced }
}
