/** Resource: the constant that describes one kind of one served group version, and its URL paths. */
import type { Decoded } from '../schema/decode.ts'
import type { KubeObject } from './object.ts'
import type { TablePrinter } from './table-printer.ts'
import type { StructSchema } from '../schema/schema.ts'

export type Verb =
  'create' | 'get' | 'list' | 'watch' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** A path below an item, with the verbs it answers and the kind it speaks (discovery shows all of it). */
export interface Subresource {
  readonly name: string
  readonly verbs: readonly Verb[]
  readonly kind: string
  /** Set when the sub-resource's kind lives in another group version (Scale, Eviction, TokenRequest). */
  readonly group?: string
  readonly version?: string
}

/** When a group version of a kind came, was deprecated and goes; releases are `major.minor`. */
export interface Lifecycle {
  readonly introduced: string
  readonly deprecated?: string
  readonly removed?: string
  readonly replacement?: string
}

/** Paths of the fields that a Scale shows (upstream: apiextensions CustomResourceSubresourceScale). */
export interface ScalePlaces {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** Holds a selector as text. */
  readonly selector: readonly string[] | undefined
}

/** What the version of a kind that was defined in the cluster has, and others have in tables. */
export interface CustomKind {
  /** Another one for each state of a definition: what was made by one schema is not what another makes. */
  readonly id: number
  /** How server-side apply sees its objects. */
  readonly schema: StructSchema
  /** How its objects show in a Table. */
  readonly printer: TablePrinter
  /** Undefined without a sub-resource `scale`. */
  readonly scale: ScalePlaces | undefined
  /** All served versions of the kind, this one included. */
  readonly versions: () => readonly Resource[]
  /** As `decode` for others: checks metadata, prunes what the schema does not know, fills in defaults. */
  readonly decode: (value: unknown, options: { report: boolean }) => Decoded<KubeObject>
  /** Whether a service converts between versions: then metadata differs by version, and reading takes time. */
  readonly isConverted: boolean
  /**
   * Makes ready what `fromStored` is to be asked for, all in one call of the service; undefined when nothing is to be done.
   * Rejects with a StatusError.
   */
  readonly prepare: (objects: readonly KubeObject[]) => Promise<void> | undefined
  /** A stored object, prepared, in this version; the input is not changed. */
  readonly fromStored: (object: KubeObject) => KubeObject
  /** What clients that use the version are told; undefined unless it is deprecated. */
  readonly deprecationWarning: string | undefined
  /** An object of this version in the form that is stored. Rejects with a StatusError. */
  readonly toStored: (object: KubeObject) => KubeObject | Promise<KubeObject>
  /** An object of this version in another one. Rejects with a StatusError. */
  readonly inVersion: (object: KubeObject, version: string) => KubeObject | Promise<KubeObject>
}

export interface Resource {
  /** Served group name in the cluster's dialect; '' is the core group. */
  readonly group: string
  /** The facts' package, dialect-free: `core/v1`, `rbac/v1`. Schema names are `${package}.${kind}`. */
  readonly package: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly namespaced: boolean
  readonly verbs: readonly Verb[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly Subresource[]
  /** Dotted paths a field selector may name, besides metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[]
  /** PUT on a missing name creates (UPD-002: a property of the type). */
  readonly createOnUpdate: boolean
  /** True for types of which nothing is stored: a POST (or a read of component statuses) is answered on the spot. */
  readonly virtual: boolean
  /** Where it is stored: `${storage.group}/${storage.plural}`; two versions of a kind name the same place. */
  readonly storagePrefix: string
  /** The version whose form is stored; equal to `version` for nearly all. */
  readonly storageVersion: { readonly package: string; readonly apiVersion: string }
  readonly lifecycle: Lifecycle
  /** False for alpha and beta versions, which only `--runtime-config` switches on. */
  readonly servedByDefault: boolean
  /** Undefined for built-in kinds. */
  readonly custom?: CustomKind | undefined
}

/** `v1` for the core group, else `group/version`. */
export function apiVersionOf(resource: { group: string; version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}

/** `configmaps`, `deployments.apps`: how messages and Status details name a resource. */
export function qualifiedName(resource: { group: string; plural: string }): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

/** The URL path of a collection, an item or a sub-resource. An empty namespace means all namespaces. */
export function resourcePath(
  resource: Resource,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const root =
    resource.group === ''
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`
  const scope =
    resource.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : ''
  const item = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`
  const sub = at.subresource === undefined ? '' : `/${at.subresource}`
  return `${root}${scope}/${resource.plural}${item}${sub}`
}
