/**
 * Reading what an earlier release stored: bytes of a version that is not the one stored now become bytes of that one. They
 * are rewritten in the store by the next write, as upstream does it, even by one that changes nothing.
 */
import { schemaOf } from '../../api/schemas.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import { decode } from '../../machinery/schema/decode.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { encodeForStore } from '../watch-cache/object-bytes.ts'
import { convert } from '../../api/conversions/conversions.ts'
import { olderKinds } from '../../api/conversions/older-kinds.ts'

/** The bytes in the form that is stored now, or undefined when they have it already or cannot be read. */
export type StoredUpgrade = (storagePrefix: string, bytes: Buffer) => Buffer | undefined

interface StoredForm {
  /** How the bytes of the current form start. */
  readonly head: Buffer
  readonly resource: Resource
  /** Packages of the versions that are served beside it, by apiVersion. */
  readonly served: ReadonlyMap<string, string>
}

function storedForms(resources: Resources): Map<string, StoredForm> {
  const forms = new Map<string, StoredForm>()
  const stored = resources.all.filter(({ virtual }) => !virtual)
  for (const resource of stored) {
    const { storagePrefix, storageVersion } = resource
    if (resource.package !== storageVersion.package) continue
    const { kind } = resource
    const head = JSON.stringify({ kind, apiVersion: storageVersion.apiVersion }).slice(0, -1)
    const served = stored
      .filter((other) => other.storagePrefix === storagePrefix)
      .map((other) => [apiVersionOf(other), other.package] as const)
    forms.set(storagePrefix, { head: Buffer.from(`${head},`), resource, served: new Map(served) })
  }
  return forms
}

/** Group as written -> group of a package; the groups that are gone have no dialect. */
function groupPackages(resources: Resources): Map<string, string> {
  const packages = new Map([['extensions', 'extensions']])
  for (const { group, package: name } of resources.all) {
    packages.set(group, name.slice(0, name.indexOf('/')))
  }
  return packages
}

export function createStoredUpgrade(resources: Resources, dialect: Dialect): StoredUpgrade {
  const forms = storedForms(resources)
  const packages = groupPackages(resources)

  const conversionOf = (form: StoredForm, object: KubeObject) => {
    const { kind = '', apiVersion = '' } = object
    const target = form.resource.storageVersion.package
    const served = form.served.get(apiVersion)
    if (served !== undefined) return (from: KubeObject) => convert(from, served, target)
    const slash = apiVersion.indexOf('/')
    const group = packages.get(apiVersion.slice(0, Math.max(slash, 0)))
    return olderKinds[`${group ?? ''}/${apiVersion.slice(slash + 1)}`]?.[kind]
  }

  return (storagePrefix, bytes) => {
    const form = forms.get(storagePrefix)
    if (form === undefined || startsWith(bytes, form.head)) return undefined
    const object = parse(bytes)
    if (object?.kind !== form.resource.kind) return undefined
    const { kind, storageVersion } = form.resource
    const change = conversionOf(form, object)
    if (change === undefined) return undefined
    const schema = schemaOf(`${storageVersion.package}.${kind}`)
    const { object: made, problems } = decode(change(object, dialect), schema, { mode: 'ignore' })
    if (problems.fatal !== undefined) return undefined
    return encodeForStore({ ...made, kind, apiVersion: storageVersion.apiVersion })
  }
}

function startsWith(bytes: Buffer, head: Buffer): boolean {
  return bytes.length >= head.length && bytes.compare(head, 0, head.length, 0, head.length) === 0
}

function parse(bytes: Buffer): KubeObject | undefined {
  try {
    const value = JSON.parse(bytes.toString()) as KubeObject | null
    return typeof value?.metadata === 'object' ? value : undefined
  } catch {
    // Unreadable objects stay as they are: reads report them.
    return undefined
  }
}
