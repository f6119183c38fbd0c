/**
 * Managed fields: converts `metadata.managedFields` to owners of field sets and back, and limits their number (upstream:
 * apimachinery util/managedfields).
 */
import { emptySet, readFieldSet, unionOfAll, type FieldSet } from './field-set.ts'
import type { ManagedFieldsEntry } from '../objects/object.ts'
import { RawJson } from '../values/raw-json.ts'

/** A field manager with its fields in one version of the kind. */
export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  /** The last change of its fields; absent if the client gave no time. */
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** By identity (ownerId), in no particular order. */
export type Owners = ReadonlyMap<string, Owner>

/** The identity of an owner. It omits an applier's version, so that an applier can change the version. */
export function ownerId(owner: Omit<Owner, 'time' | 'fields'>): string {
  const { manager, operation, apiVersion, subresource } = owner
  return JSON.stringify({
    manager,
    operation,
    apiVersion: operation === 'Apply' ? '' : apiVersion,
    subresource,
  })
}

/**
 * The owners of the entries; undefined if they are invalid, as for upstream. Does not validate sets of entries that this file
 * made (`isOurs`).
 */
export function ownersOf(
  entries: readonly ManagedFieldsEntry[],
  { isOurs = false } = {},
): Owners | undefined {
  const owners = new Map<string, Owner>()
  for (const entry of entries) {
    const { manager = '', operation, apiVersion = '', fieldsType, subresource = '' } = entry
    if (operation !== 'Apply' && operation !== 'Update') return undefined
    if (apiVersion === '' || fieldsType !== 'FieldsV1') return undefined
    const sent = entry.fieldsV1 ?? emptySet
    const fields = isOurs ? (sent as FieldSet) : readFieldSet(sent)
    if (fields === undefined) return undefined
    const owner = { manager, operation, apiVersion, subresource, time: entry.time, fields }
    owners.set(ownerId(owner), owner)
  }
  return owners
}

/** True for a list that resets field ownership: an empty list, or a single empty entry. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (entries === undefined) return false
  if (entries.length === 0) return true
  const [first] = entries
  return entries.length === 1 && first !== undefined && Object.keys(first).length === 0
}

/** The entries of owners: appliers first, then by time, manager, version and sub-resource. */
export function entriesOf(owners: Owners): ManagedFieldsEntry[] {
  return [...owners.values()].sort(compareOwners).map(entryOf)
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareTexts(a.operation, b.operation) ||
    compareTexts(a.time ?? '', b.time ?? '') ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  )
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function entryOf(owner: Owner): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource, time, fields } = owner
  return {
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields as Record<string, unknown>,
    ...(subresource === '' ? {} : { subresource }),
  }
}

/** The only owner of a new object. */
export interface Creator extends Omit<Owner, 'fields'> {
  /** JSON text. */
  readonly fields: string
}

/** The entries of an object whose only owner is its creator. */
export function creatorEntries({ fields, ...creator }: Creator): ManagedFieldsEntry[] {
  const fieldsV1 = new RawJson(fields) as unknown as Record<string, unknown>
  return [entryOf({ ...creator, fields: fieldsV1 as FieldSet })]
}

/** The same as JSON text, in parts. */
export function creatorEntriesTexts(creator: Creator): readonly string[] {
  const { manager, operation, apiVersion, subresource, time, fields } = creator
  const head = JSON.stringify({ manager, operation, apiVersion, time, fieldsType: 'FieldsV1' })
  const tail = subresource === '' ? '' : `,"subresource":${JSON.stringify(subresource)}`
  return [`[${head.slice(0, -1)},"fieldsV1":`, fields, `${tail}}]`]
}

/** The most owners by update; older ones are merged into one entry per version. */
const mostUpdaters = 10
const ancientChanges = 'ancient-changes'

/** Merges the oldest updaters so that at most ten remain. Returns the same map if it has no more. */
export function capped(owners: Owners): Owners {
  const updaters = [...owners].filter(([, { operation }]) => operation === 'Update')
  if (updaters.length <= mostUpdaters) return owners
  updaters.sort(
    ([aId, a], [bId, b]) => compareTexts(a.time ?? '', b.time ?? '') || compareTexts(aId, bId),
  )
  const kept = new Map(owners)
  const firstOfVersion = new Map<string, string>()
  const buckets = new Map<string, { parts: FieldSet[]; owner: Omit<Owner, 'fields'> }>()
  let count = updaters.length
  for (const [id, owner] of updaters) {
    if (count <= mostUpdaters) break
    const { apiVersion, time } = owner
    const first = firstOfVersion.get(apiVersion)
    if (first === undefined) {
      firstOfVersion.set(apiVersion, id)
      continue
    }
    const bucket = { manager: ancientChanges, operation: 'Update', apiVersion } as const
    const of = { ...bucket, subresource: '', time }
    const bucketId = ownerId(of)
    let parts = buckets.get(bucketId)?.parts
    if (parts !== undefined && id === bucketId) continue
    if (parts === undefined) {
      // Into the version's existing bucket, or its first updater becomes the bucket.
      const from = id !== bucketId && kept.has(bucketId) ? bucketId : first
      parts = [kept.get(from)?.fields ?? emptySet]
      kept.delete(from)
    }
    parts.push(owner.fields)
    kept.delete(id)
    buckets.set(bucketId, { parts, owner: of })
    count -= 1
  }
  for (const [id, { parts, owner }] of buckets) {
    kept.set(id, { ...owner, fields: unionOfAll(parts) })
  }
  return kept
}
