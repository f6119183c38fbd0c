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

/** A version's names: the facts' package, and what objects say. */
export interface ObjectVersion {
  readonly package: string
  readonly apiVersion: string
}

/** By which fields clients may select objects, besides those that the resource names. */
export interface FieldSelectorRules {
  /** Earlier names of fields that are still accepted. */
  readonly formerNames: Readonly<Record<string, string>>
  /** Only the name and namespace may be named: the kind has no rules of its own (upstream: DefaultMetaV1FieldSelectorConversion). */
  readonly isGeneric: boolean
}

/**
 * What one version of a kind does with its objects. `objectKindOf` in `api/object-kind.ts` finds it: that of built-in kinds comes
 * from tables, a custom resource brings its own.
 *
 * Writes work in one version: the stored one for built-in kinds, the request's for custom resources.
 */
export interface ObjectKind {
  /** Names what wire forms depend on: the version, and for a custom resource the state of its definition. */
  readonly formName: string
  /** How server-side apply sees the objects. */
  readonly schema: StructSchema
  /** Where the objects keep what their Scale shows; undefined for built-in kinds, and without a sub-resource `scale`. */
  readonly scale: ScalePlaces | undefined
  readonly workingVersion: ObjectVersion
  /** Whether a service converts between versions: then metadata differs by version, and reading takes time. */
  readonly isConverted: boolean
  /** Whether stored bytes of this version are what clients see; otherwise objects are read by the current schema. */
  readonly isShownAsStored: boolean
  /** Whether objects have a protobuf form; their metadata always has one. */
  readonly hasProtobuf: boolean
  /** Whether a body must name its kind and version. */
  readonly mustNameKind: boolean
  /** Whether strict decoding reports faults in the order of the text; otherwise repeated fields come before unknown ones. */
  readonly reportsInTextOrder: boolean
  /** The schema that strategic merge patches follow; undefined if the kind does not take any. */
  readonly patchSchema: string | undefined
  /** Whether `schema` alone tells which fields of an object may be owned. */
  readonly isOwnedBySchema: boolean
  /** Whether a finalizer may have a name without a domain. */
  readonly takesAnyFinalizer: boolean
  readonly fieldSelectors: FieldSelectorRules
  /** Whether OpenAPI lists the deprecated paths below `/watch/`. */
  readonly hasWatchPaths: boolean
  /** A `Warning` header for clients that use the version; undefined without one. */
  readonly deprecationWarning: string | undefined
  printer(subresource?: string): TablePrinter
  /** Checks metadata, drops unknown fields, fills in defaults of the schema. `mayReuse`: the value is given away. */
  decode(
    value: unknown,
    options: { readonly report: boolean; readonly mayReuse?: boolean },
  ): Decoded<KubeObject>
  /** The object without any field set, in this version. */
  empty(): KubeObject
  /** All versions of the kind, this one included; `served` is every resource that is served. */
  versions(served: readonly Resource[]): readonly Resource[]
  /**
   * Makes ready what `fromStored` is to be asked for, all in one call of the service; undefined when nothing is to be done.
   * Rejects with a StatusError.
   */
  prepare(objects: readonly KubeObject[]): Promise<void> | undefined
  /** A stored object, prepared, in this version; the input is not changed. */
  fromStored(object: KubeObject): KubeObject
  /** A stored object, prepared, in the working version; the input is not changed, and may be the answer. */
  working(stored: KubeObject): KubeObject
  /** From this version to the working one, and back. */
  toWorking(object: KubeObject): KubeObject
  fromWorking(object: KubeObject): KubeObject
  /** An object of the working version in the form that is stored. Rejects with a StatusError. */
  toStored(object: KubeObject): KubeObject | Promise<KubeObject>
  /** An object in another version of its kind; the same one when they are equal. Rejects with a StatusError. */
  convert(
    object: KubeObject,
    from: ObjectVersion,
    to: ObjectVersion,
  ): KubeObject | Promise<KubeObject>
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
  /** Undefined for built-in kinds. `objectKindOf` spares most readers the question. */
  readonly custom?: ObjectKind | undefined
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
