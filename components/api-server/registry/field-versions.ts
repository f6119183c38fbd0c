/** Field versions: a kind as ownership of its fields sees it: its versions, and the fields that each kind of request resets. */
import { remembered } from '../../machinery/values/remembered.ts'
import {
  apiVersionOf,
  type ObjectVersion,
  type Resource,
} from '../../machinery/objects/resource.ts'
import { applyShapeOf, type StructShape } from '../../machinery/apply/apply-shape.ts'
import type { Version, Versions } from '../../machinery/apply/apply-updater.ts'
import { deepDifferenceOf, partOf, setOf, type FieldSet } from '../../machinery/apply/field-set.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { objectKindOf } from '../../api/object-kind.ts'

interface KindVersion extends Version, ObjectVersion {}

/** What a request may own: all but some fields, or (by patterns of elements) nothing but some. */
type Ownable = { readonly reset: FieldSet } | { readonly only: readonly (readonly string[])[] }

function paths(...dotted: string[]): FieldSet {
  return setOf(...dotted.map((path) => path.split('.').map((name) => `f:${name}`)))
}

const resizable = ['resources', 'resizePolicy'].flatMap((field) =>
  ['containers', 'initContainers'].map((list) => ['f:spec', `f:${list}`, '*', `f:${field}`]),
)

/** By stored version, kind and sub-resource, where it is not just that a status is reset by plain writes and everything else by those of it. */
const ownable: Readonly<Record<string, Ownable>> = {
  'certificates/v1.CertificateSigningRequest/': { reset: paths('spec', 'status') },
  'certificates/v1.CertificateSigningRequest/status': { reset: paths('spec', 'status.conditions') },
  'certificates/v1.CertificateSigningRequest/approval': {
    reset: paths('spec', 'status.certificate'),
  },
  'apps/v1.Deployment/status': { reset: paths('spec', 'metadata.labels') },
  'core/v1.Pod/status': {
    reset: paths('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'),
  },
  'core/v1.Pod/ephemeralcontainers': { only: [['f:spec', 'f:ephemeralContainers']] },
  'core/v1.Pod/resize': { only: resizable },
  'apiregistration/v1.APIService/status': { reset: paths('spec', 'metadata') },
  'apiextensions/v1.CustomResourceDefinition/status': { reset: paths('spec', 'metadata') },
  'storage/v1.VolumeAttachment/status': { reset: paths('spec', 'metadata') },
  'autoscaling/v1.Scale/scale': { only: [['f:spec', 'f:replicas']] },
  'core/v1.Namespace/finalize': { reset: paths('status') },
}

const status = paths('status')
const spec = paths('spec')
const nothing = paths()

function ownableBy(resource: Resource, subresource: string): Ownable {
  const special = ownable[`${resource.storageVersion.package}.${resource.kind}/${subresource}`]
  if (special !== undefined) return special
  if (subresource === 'status') return { reset: spec }
  const hasStatus = resource.subresources.some(({ name }) => name === 'status')
  return { reset: hasStatus ? status : nothing }
}

/** The top-level fields that creates of the resource reset; the same value each time. */
export const resetOnCreate = remembered((resource: Resource): readonly string[] => {
  const what = ownableBy(resource, '')
  return 'reset' in what ? Object.keys(what.reset).map((element) => element.slice(2)) : []
})

function kindVersion(resource: Resource): KindVersion {
  let shape: StructShape | undefined
  return {
    apiVersion: apiVersionOf(resource),
    package: resource.package,
    get shape() {
      return (shape ??= applyShapeOf(objectKindOf(resource).schema))
    },
  }
}

/** The same versions for one computation, which asks once for each conversion. */
export function convertingOnce(versions: Versions): Versions {
  const made = new Map<string, unknown>()
  return {
    ...versions,
    *convert(object, from, to) {
      const key = `${from.apiVersion} ${to.apiVersion} ${JSON.stringify(object)}`
      if (!made.has(key)) made.set(key, yield* versions.convert(object, from, to))
      return made.get(key)
    },
  }
}

/** The resource's version of its kind, and the others that are stored in the same place; `all` is every resource there is. */
export function fieldVersionsOf(
  resource: Resource,
  subresource: string,
  all: readonly Resource[],
): Versions {
  const known = new Map<string, KindVersion>()
  const kind = objectKindOf(resource)
  for (const other of kind.versions(all)) {
    if (other.kind !== resource.kind) continue
    const version = kindVersion(other)
    known.set(version.apiVersion, version)
  }
  const own = known.get(apiVersionOf(resource)) ?? kindVersion(resource)
  known.set(own.apiVersion, own)
  const what = ownableBy(resource, subresource)
  return {
    apiVersion: own.apiVersion,
    get shape() {
      return own.shape
    },
    find: (apiVersion) => known.get(apiVersion),
    *convert(object, from, to) {
      const source = known.get(from.apiVersion) ?? own
      const target = known.get(to.apiVersion) ?? own
      const converted = kind.convert(object as KubeObject, source, target)
      return converted instanceof Promise ? yield converted : converted
    },
    owned: (fields) =>
      'only' in what ? partOf(fields, what.only) : deepDifferenceOf(fields, what.reset),
  }
}
