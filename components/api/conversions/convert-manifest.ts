/** Converting manifests without a server: from any version that ever had an endpoint to one that has one now. */
import { schemaOf } from '../schemas.ts'
import { decode } from '../../machinery/schema/decode.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import type { Dialect } from '../dialect.ts'
import { packageOfVersion, resourcesOf, type Resources } from '../resources.ts'
import { convertTo } from './conversions.ts'
import { olderKinds } from './older-kinds.ts'

/** A manifest that cannot be converted; the message is for its author. */
export class ConversionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConversionError'
  }
}

function isStoredForm({ package: own, storageVersion, virtual }: Resource): boolean {
  return !virtual && own === storageVersion.package
}

/** The object in the form that is stored, and the resource of that form. */
function storedForm(object: KubeObject, dialect: Dialect): [KubeObject, Resource] {
  const resources = resourcesOf(dialect)
  const { kind = '', apiVersion = '' } = object
  const unknown = new ConversionError(`no kind "${kind}" is registered for version "${apiVersion}"`)
  const from = packageOfVersion(apiVersion, resources)
  if (from === undefined) throw unknown
  const present = resources.all.find(
    (resource) => resource.package === from && resource.kind === kind,
  )
  if (present !== undefined) {
    const { storageVersion } = present
    const stored = resources.all.find(
      (other) => other.package === storageVersion.package && other.kind === kind,
    )
    if (stored === undefined) throw unknown
    if (stored === present) return [object, stored]
    const to = { ...storageVersion, kind }
    return [convertTo(object, from, to), stored]
  }
  const change = olderKinds[from]?.[kind]
  const [group] = from.split('/')
  const named = resources.all.filter((other) => other.kind === kind && isStoredForm(other))
  const successor = named.find((other) => other.package.startsWith(`${group}/`)) ?? named[0]
  if (change === undefined || successor === undefined) throw unknown
  const { storageVersion } = successor
  const schema = schemaOf(`${storageVersion.package}.${kind}`)
  const {
    kind: _,
    apiVersion: __,
    ...rest
  } = decode(change(object, dialect), schema, {
    mode: 'ignore',
  }).object
  return [{ kind, apiVersion: storageVersion.apiVersion, ...rest }, successor]
}

/** Versions of a kind that can be asked for, preferred first. */
function versionsOf(stored: Resource, resources: Resources): Resource[] {
  const same = resources.all.filter(
    ({ storagePrefix, kind }) => storagePrefix === stored.storagePrefix && kind === stored.kind,
  )
  const rank = (resource: Resource): number => {
    const group = resources.groups.find(({ name }) => name === resource.group)
    const at = group?.versions.findIndex(({ version }) => version === resource.version) ?? -1
    return at < 0 ? Number.MAX_SAFE_INTEGER : at
  }
  return same.toSorted((a, b) => rank(a) - rank(b))
}

/**
 * The object in `outputVersion`, or in the preferred version of its group when that version does not have its kind (or none
 * is named). Fields that the version does not know are left out. Throws ConversionError.
 */
export function convertManifest(
  object: KubeObject,
  outputVersion: string | undefined,
  dialect: Dialect,
): KubeObject {
  const [stored, resource] = storedForm(object, dialect)
  const versions = versionsOf(resource, resourcesOf(dialect))
  const target =
    versions.find((version) => apiVersionOf(version) === outputVersion) ??
    versions.find(({ group }) => group === resource.group) ??
    resource
  const { kind } = target
  const apiVersion = apiVersionOf(target)
  return convertTo(stored, resource.package, { package: target.package, kind, apiVersion })
}

/** Whether any kind is known in that version: `apps/v1`. */
export function isKnownVersion(apiVersion: string, dialect: Dialect): boolean {
  return resourcesOf(dialect).all.some((resource) => apiVersionOf(resource) === apiVersion)
}
