/**
 * Field tracking: `metadata.managedFields` of everything that is written (upstream: apimachinery util/managedfields). Objects
 * come and go in storage form; fields are owned as of the version of the request.
 */
import { objectKindOf } from '../../api/object-kind.ts'
import type { Resources } from '../../api/resources.ts'
import { timestamp } from '../../component-base/clock.ts'
import { inTurns } from '../../component-base/next-turn.ts'
import {
  ownersAfterUpdate,
  type Asker,
  type Versions,
} from '../../machinery/apply/apply-updater.ts'
import { createdFields } from '../../machinery/apply/created-fields.ts'
import {
  capped,
  entriesOf,
  isReset,
  ownersOf,
  type Creator,
  type Owners,
} from '../../machinery/apply/managed-fields.ts'
import { finished, type Steps } from '../../machinery/values/steps.ts'
import {
  deepEqual,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { convertingOnce, fieldVersionsOf, resetOnCreate } from './field-versions.ts'

/** One write, as far as ownership of fields goes. */
export interface TrackedWrite {
  readonly resource: Resource
  readonly subresource: string
  /** The field manager that owns the fields it changes. */
  readonly manager: string
  readonly nowMs: number
}

const noOwners: Owners = new Map()
const longestManager = 128
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** The field manager of a request: the one it names, or else its User-Agent up to the first slash. */
export function managerOf(fieldManager: string, userAgent: string | undefined): string {
  if (fieldManager !== '') return fieldManager
  const product = (userAgent ?? '').split('/', 1)[0] ?? ''
  let name = ''
  let bytes = 0
  for (const rune of product.replaceAll(unprintable, '')) {
    bytes += Buffer.byteLength(rune)
    if (bytes > longestManager) break
    name += rune
  }
  return name
}

export class FieldTracking {
  readonly #resources: Resources
  readonly #versions = new WeakMap<Resource, Map<string, Versions>>()

  constructor(resources: Resources) {
    this.#resources = resources
  }

  /** The versions of a resource's kind, for one request to one of its sub-resources ('' for none). */
  versions(resource: Resource, subresource: string): Versions {
    const versions = this.#versionsOf(resource, subresource)
    return objectKindOf(resource).isConverted ? convertingOnce(versions) : versions
  }

  #versionsOf(resource: Resource, subresource: string): Versions {
    const known = this.#versions.get(resource) ?? new Map<string, Versions>()
    this.#versions.set(resource, known)
    const found = known.get(subresource)
    if (found !== undefined) return found
    const versions = fieldVersionsOf(resource, subresource, this.#resources.all)
    known.set(subresource, versions)
    return versions
  }

  /**
   * Runs a computation on fields of the resource's objects. A large one takes several turns of the event loop; one that may ask
   * a service to convert waits for it.
   */
  run<T>(resource: Resource, steps: Steps<T>, { isLarge }: { isLarge: boolean }): T | Promise<T> {
    const waits = isLarge || objectKindOf(resource).isConverted
    return waits ? inTurns(steps) : finished(steps)
  }

  asker(write: TrackedWrite, operation: 'Apply' | 'Update'): Asker {
    return {
      manager: write.manager === '' ? 'unknown' : write.manager,
      operation,
      apiVersion: apiVersionOf(write.resource),
      subresource: write.subresource,
      time: timestamp(write.nowMs),
    }
  }

  /**
   * The owner of a new object, before hooks change it; undefined for none. Owners that the object came with are put on it
   * instead, with its creator among them.
   */
  *created(object: KubeObject, write: TrackedWrite): Steps<Creator | undefined> {
    const { resource } = write
    const kind = objectKindOf(resource)
    const { managedFields } = object.metadata
    if (managedFields !== undefined) {
      const owners = isReset(managedFields) ? undefined : ownersOf(managedFields)
      yield
      if (owners !== undefined && owners.size > 0) {
        const changed = kind.fromWorking(withoutOwners(object))
        const states = { live: kind.empty(), changed, owners }
        setManagedFields(object, entriesOf(yield* this.#after(states, write)))
        return undefined
      }
      delete object.metadata.managedFields
    }
    if (!kind.isOwnedBySchema) {
      const states = { live: kind.empty(), changed: object, owners: noOwners }
      setManagedFields(object, entriesOf(yield* this.#after(states, write)))
      return undefined
    }
    const fields = createdFields(kind.schema, kind.fromWorking(object), resetOnCreate(resource))
    if (fields === undefined) return undefined
    return { ...this.asker(write, 'Update'), fields }
  }

  /**
   * Puts the owners on the draft of an update, before anything is restored from the old state. A draft without readable
   * owners keeps the old ones; a draft that resets them, and an object that has none, stays without.
   */
  *updated(object: KubeObject, old: KubeObject, write: TrackedWrite): Steps<void> {
    const before = old.metadata.managedFields ?? []
    const sent = object.metadata.managedFields
    const { owners, isSent } = this.#startingOwners(sent, before, write)
    if (owners.size === 0) {
      delete object.metadata.managedFields
      return
    }
    yield
    const kind = objectKindOf(write.resource)
    const live = kind.fromWorking(withoutOwners(old))
    const states = { live, changed: kind.fromWorking(withoutOwners(object)), owners }
    const after = yield* this.#after(states, write)
    const isAsBefore = after === owners && !isSent
    setManagedFields(object, isAsBefore ? old.metadata.managedFields : entriesOf(after))
  }

  /** The owners to start with, and whether they are other than those of the old state. */
  #startingOwners(
    sent: ManagedFieldsEntry[] | undefined,
    before: readonly ManagedFieldsEntry[],
    { subresource }: TrackedWrite,
  ): { owners: Owners; isSent: boolean } {
    // Only plain writes may set field managers.
    if (subresource === '' && sent !== undefined) {
      if (isReset(sent)) return { owners: noOwners, isSent: true }
      const owners = deepEqual(sent, before) ? undefined : ownersOf(sent)
      if (owners !== undefined && owners.size > 0) return { owners, isSent: true }
    }
    return { owners: ownersOf(before, { isOurs: true }) ?? noOwners, isSent: false }
  }

  /** `live` and `changed` are in the version of the request. */
  *#after(
    states: { live: KubeObject; changed: KubeObject; owners: Owners },
    write: TrackedWrite,
  ): Steps<Owners> {
    const { resource, subresource } = write
    const versions = this.versions(resource, subresource)
    const after = yield* ownersAfterUpdate(states, this.asker(write, 'Update'), versions)
    yield
    return capped(after)
  }
}

function withoutOwners(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** Sets the entries; an empty list removes them. */
export function setManagedFields(
  object: KubeObject,
  entries: ManagedFieldsEntry[] | undefined,
): void {
  if (entries !== undefined && entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

/** Whether both have the same field managers and fields, whatever their times. */
export function isSameOwners(
  a: readonly ManagedFieldsEntry[] = [],
  b: readonly ManagedFieldsEntry[] = [],
): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  return a.every((entry, index) => deepEqual({ ...entry, time: b[index]?.time }, b[index]))
}
