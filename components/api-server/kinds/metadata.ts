/** metadata: what the server owns of an object's metadata, set or restored by the generic verbs (upstream: rest/meta.go). */
import { objectKindOf } from '../../api/object-kind.ts'
import { timestamp } from '../../component-base/clock.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { ObjectMetaRules } from '../../machinery/validation/object-meta-validation.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'

/** Characters of generated names: no vowels, no look-alikes (upstream: util/rand). */
const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5
/** generateName is cut so that the whole fits a DNS label (upstream: names/generate.go). */
const longestGenerateName = 63 - suffixLength

/** A random name that starts with `base`. */
export function generateName(base: string, random: () => number): string {
  let suffix = ''
  for (let at = 0; at < suffixLength; at += 1) {
    suffix += nameAlphabet[Math.floor(random() * nameAlphabet.length)] ?? ''
  }
  return base.slice(0, longestGenerateName) + suffix
}

/** Puts the request's namespace on the object and refuses another one in the body; takes any off a cluster-scoped one. */
export function ensureNamespace(object: KubeObject, namespace: string, namespaced: boolean): void {
  const { metadata } = object
  if (!namespaced) {
    delete metadata.namespace
    return
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  }
  metadata.namespace = namespace
}

const notForClients = [
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
] as const

/** Drops from a new object what a client may not set, before anyone owns it (upstream: rest.WipeObjectMetaSystemFields). */
export function wipeSystemMetadata({ metadata }: KubeObject): void {
  for (const field of notForClients) if (metadata[field] !== undefined) delete metadata[field]
}

/** Sets what a new object gets from the server. */
export function fillNewMetadata(
  object: KubeObject,
  by: { nowMs: number; uuid: string; hasGeneration: boolean },
): void {
  const { metadata } = object
  metadata.uid = by.uuid
  metadata.creationTimestamp = timestamp(by.nowMs)
  if (by.hasGeneration) metadata.generation = 1
}

/** Keeps each owner once, and warns of those given again (upstream: dedupOwnerReferencesAndAddWarning). */
export function withoutRepeatedOwners(
  { metadata }: KubeObject,
  { warnings, isAdmitted }: { warnings: string[]; isAdmitted: boolean },
): void {
  const owners = metadata.ownerReferences ?? []
  if (owners.length < 2) return
  const seen = new Set<string>()
  const repeated: string[] = []
  const kept = owners.filter((owner) => {
    const text = JSON.stringify(owner)
    const isFirst = !seen.has(text)
    if (isFirst) seen.add(text)
    else repeated.push(owner.uid)
    return isFirst
  })
  if (repeated.length === 0) return
  metadata.ownerReferences = kept
  const when = isAdmitted ? ' after mutating admission happens' : ''
  warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
  )
}

/** Restores what an update may not change. `object` has the old one's name and namespace already. */
export function keepMetadata(object: KubeObject, old: KubeObject): void {
  const now = object.metadata
  const before = old.metadata
  if (before.uid !== undefined) now.uid = before.uid
  if (before.creationTimestamp !== undefined) now.creationTimestamp = before.creationTimestamp
  for (const field of ['generation', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (before[field] === undefined) delete now[field]
    else Object.assign(now, { [field]: before[field] })
  }
  delete now.selfLink
}

/** Built-in kinds require finalizers with a domain; custom resources, their definitions and APIServices take any name. */
export function finalizerRules(resource: Resource): Pick<ObjectMetaRules, 'standardFinalizers'> {
  return objectKindOf(resource).takesAnyFinalizer ? { standardFinalizers: 'any' } : {}
}

/** True when something besides metadata and status (unless that counts) differs: what `metadata.generation` counts. */
export function specChanged(object: KubeObject, old: KubeObject, statusCounts = false): boolean {
  const names = new Set([...Object.keys(object), ...Object.keys(old)])
  for (const name of ['kind', 'apiVersion', 'metadata']) names.delete(name)
  if (!statusCounts) names.delete('status')
  for (const name of names) if (!deepEqual(object[name], old[name])) return true
  return false
}
