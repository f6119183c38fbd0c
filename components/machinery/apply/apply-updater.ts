/**
 * The updater: field ownership after an update or an apply, and conflicts of applies (upstream: structured-merge-diff
 * merge/update.go). Objects are in the request's version. Sets of other versions are compared in their own version.
 */
import { compareFields, type Comparison } from './apply-compare.ts'
import { reconciledFields } from './apply-reconcile.ts'
import { fieldsOf, mergeFields, removeFields, withNamedFields } from './apply-merge.ts'
import type { StructShape } from './apply-shape.ts'
import { showPath } from './field-elements.ts'
import {
  differenceOf,
  emptySet,
  intersectionOf,
  isEmptySet,
  membersOf,
  setOf,
  unionOf,
  unionOfAll,
  type FieldSet,
} from './field-set.ts'
import { ownerId, type Owner, type Owners } from './managed-fields.ts'
import { deepEqual } from '../objects/object.ts'
import { goQuote } from '../values/go-syntax.ts'
import type { Steps } from '../values/steps.ts'
import { StatusError, type StatusCause } from '../objects/status-error.ts'
import { unownedMetadata } from './created-fields.ts'

/** One version of a kind. */
export interface Version {
  readonly apiVersion: string
  readonly shape: StructShape
}

/** The versions of a kind, and conversion between them. */
export interface Versions extends Version {
  /** The version of that name; undefined for an unknown one, whose owners are dropped. */
  find(apiVersion: string): Version | undefined
  /** An object in another version. */
  convert(object: unknown, from: Version, to: Version): Steps<unknown>
  /** The set without the fields that this kind of request resets and so never owns. Returns the same set if it has none. */
  owned(fields: FieldSet): FieldSet
}

/** The field manager of the request. */
export type Asker = Omit<Owner, 'fields'>

const unowned = setOf(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[...unownedMetadata].map((name) => ['f:metadata', `f:${name}`]),
)

/** The owners after `asker` changed `live` to `changed` by a request other than apply. Returns the same map if no owner changes. */
export function* ownersAfterUpdate(
  states: { live: unknown; changed: unknown; owners: Owners },
  asker: Asker,
  versions: Versions,
): Steps<Owners> {
  const { live, changed } = states
  const compare = comparisonsOf(versions, live, changed)
  const { stated, removed } = yield* compare(versions.apiVersion)
  const owners = yield* afterChange(knownOwners(states.owners, versions), compare)
  // An item that became repeated, or stopped being so, is both added and removed: it has no owner.
  const stays = differenceOf(stated, removed)
  yield
  const taken = differenceOf(stays, unowned)
  if (isEmptySet(taken)) return owners
  yield
  const id = ownerId(asker)
  const fields = unionOf(owners.get(id)?.fields ?? emptySet, taken)
  return new Map(owners).set(id, { ...asker, fields })
}

/** Conflicts of an apply: owners, each with its fields that the configuration changes. */
export type Conflicts = readonly Owner[]

export type ApplyOutcome =
  | {
      readonly ok: true
      /** The live state merged with the configuration: not decoded, without defaults. */
      readonly object: unknown
      readonly owners: Owners
      /** True when the configuration changes no value. */
      readonly isSame: boolean
    }
  | { readonly ok: false; readonly conflicts: Conflicts }

/** The state and the owners after an apply of `config`, which must be validated. */
export function* applyConfig(
  states: { live: unknown; config: unknown; owners: Owners },
  by: { asker: Asker; force: boolean },
  versions: Versions,
): Steps<ApplyOutcome> {
  const { live, config } = states
  const { shape } = versions
  const known = knownOwners(states.owners, versions)
  const id = ownerId(by.asker)
  const last = known.get(id)
  yield
  const fields = versions.owned(fieldsOf(shape, config))
  const owners = new Map(known).set(id, { ...by.asker, fields })
  yield
  const merged = mergeFields(shape, live, config)
  yield
  // An apply removes only fields that the applier applied before and now omits.
  const isDropping = last !== undefined && !isEmptySet(differenceOf(last.fields, fields))
  const object = isDropping ? yield* pruned(merged, { owners, last, versions }) : merged
  const compare = comparisonsOf(versions, live, object)
  const conflicts = by.force ? [] : yield* conflictsOf(owners, { compare, except: id })
  if (conflicts.length > 0) return { ok: false, conflicts }
  const after = new Map(yield* afterChange(owners, compare, id))
  yield
  const owned = differenceOf(fields, unowned)
  if (isEmptySet(owned)) after.delete(id)
  else after.set(id, { ...by.asker, fields: owned })
  yield
  const isSame = deepEqual(live, object)
  return { ok: true, object, owners: after, isSame }
}

interface Change extends Comparison {
  /** The fields that were added or modified. */
  readonly stated: FieldSet
}

/** Compares two states in any version, once per version. */
type Comparisons = (apiVersion: string) => Steps<Change>

function comparisonsOf(versions: Versions, live: unknown, changed: unknown): Comparisons {
  const made = new Map<string, Change>()
  return function* (apiVersion) {
    const known = made.get(apiVersion)
    if (known !== undefined) return known
    const version = versionOf(versions, apiVersion)
    const all = yield* compareFields(
      version.shape,
      yield* versions.convert(live, versions, version),
      yield* versions.convert(changed, versions, version),
    )
    yield
    const added = versions.owned(all.added)
    const modified = versions.owned(all.modified)
    const removed = versions.owned(all.removed)
    yield
    const change = { added, modified, removed, stated: unionOf(modified, added) }
    made.set(apiVersion, change)
    yield
    return change
  }
}

/** The owners of existing versions, for their current schema. Returns the same map if nothing changes. */
function knownOwners(owners: Owners, versions: Versions): Owners {
  let isSame = true
  const known = new Map<string, Owner>()
  for (const [id, owner] of owners) {
    const version = versions.find(owner.apiVersion)
    const fields = version === undefined ? emptySet : reconciledFields(version.shape, owner.fields)
    if (version === undefined || fields !== owner.fields) isSame = false
    if (version !== undefined) known.set(id, fields === owner.fields ? owner : { ...owner, fields })
  }
  return isSame ? owners : known
}

function versionOf(versions: Versions, apiVersion: string): Version {
  if (apiVersion === versions.apiVersion) return versions
  const version = versions.find(apiVersion)
  if (version === undefined) throw new Error(`no version ${apiVersion}`)
  return version
}

function* conflictsOf(
  owners: Owners,
  { compare, except }: { compare: Comparisons; except: string },
): Steps<Conflicts> {
  const conflicts: Owner[] = []
  for (const [id, owner] of owners) {
    if (id === except) continue
    const fields = intersectionOf(owner.fields, (yield* compare(owner.apiVersion)).stated)
    yield
    if (!isEmptySet(fields)) conflicts.push({ ...owner, fields })
  }
  return conflicts
}

/** Removes changed, added and removed fields from all owners but one. Drops owners without fields. */
function* afterChange(owners: Owners, compare: Comparisons, except?: string): Steps<Owners> {
  let isChanged = false
  const after = new Map<string, Owner>()
  for (const [id, owner] of owners) {
    if (id === except) {
      after.set(id, owner)
      continue
    }
    const { added, modified, removed } = yield* compare(owner.apiVersion)
    yield
    const left = differenceOf(differenceOf(owner.fields, modified), added)
    yield
    const fields = differenceOf(left, removed)
    if (fields !== owner.fields) isChanged = true
    if (!isEmptySet(fields)) after.set(id, fields === owner.fields ? owner : { ...owner, fields })
  }
  return isChanged || after.size !== owners.size ? after : owners
}

interface Pruning {
  readonly owners: Owners
  /** The applier before this apply. */
  readonly last: Owner
  readonly versions: Versions
}

/**
 * Prunes the merged state: removes the fields that only the applier owned and that it no longer applies. It removes all fields
 * that the applier owned, restores other owners' fields version by version, and last restores fields that the applier did not own.
 */
function* pruned(merged: unknown, { owners, last, versions }: Pruning): Steps<unknown> {
  const lastVersion = versionOf(versions, last.apiVersion)
  const named = ({ shape }: Version, set: FieldSet): FieldSet => withNamedFields(shape, set)
  const allOf = function* (version: Version, object: unknown): Steps<FieldSet> {
    const fields = fieldsOf(version.shape, object)
    yield
    return named(version, fields)
  }
  const whole = yield* versions.convert(merged, versions, lastVersion)
  yield
  const lastFields = named(lastVersion, last.fields)
  yield
  let rest = removeFields(lastVersion.shape, whole, lastFields) ?? {}
  yield

  const ownedBy = new Map<string, FieldSet>([[last.apiVersion, emptySet]])
  for (const [apiVersion, of] of Map.groupBy(owners.values(), (owner) => owner.apiVersion)) {
    ownedBy.set(apiVersion, unionOfAll(of.map(({ fields }) => fields)))
    yield
  }
  // Once per version: a field of one owner can lie inside a field that a later version restores.
  for (const [apiVersion, owned] of [...ownedBy.keys()].flatMap(() => [...ownedBy])) {
    const version = versionOf(versions, apiVersion)
    const all = yield* versions.convert(whole, lastVersion, version)
    const kept = yield* allOf(version, yield* versions.convert(rest, lastVersion, version))
    yield
    const others = named(version, owned)
    yield
    const staying = unionOf(kept, others)
    yield
    const before = yield* allOf(version, all)
    yield
    const gone = differenceOf(before, staying)
    yield
    const back = removeFields(version.shape, all, gone) ?? {}
    rest = (yield* versions.convert(back, version, lastVersion)) as object
    yield
  }
  const all = yield* allOf(lastVersion, whole)
  yield
  const left = yield* allOf(lastVersion, rest)
  yield
  const lost = differenceOf(all, left)
  yield
  const dropped = intersectionOf(lost, lastFields)
  yield
  const pruned = removeFields(lastVersion.shape, whole, dropped) ?? {}
  return yield* versions.convert(pruned, lastVersion, versions)
}

/** Conflicts without the fields of `allowed`. Drops owners without conflicts. */
export function conflictsWithout(conflicts: Conflicts, allowed: FieldSet): Conflicts {
  return conflicts
    .map((owner) => ({ ...owner, fields: differenceOf(owner.fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields))
}

function shownOwner({ manager, operation, apiVersion, subresource }: Owner): string {
  const name = goQuote(manager)
  const place = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`
  return `${name}${place}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}

/** The 409 that names every conflicting field and its owner, in upstream's words. */
export function conflictError(conflicts: Conflicts): StatusError {
  const found = [...conflicts]
    .sort((a, b) => (ownerId(a) < ownerId(b) ? -1 : 1))
    .map((owner) => ({ name: shownOwner(owner), paths: membersOf(owner.fields).map(showPath) }))
  const causes: StatusCause[] = found.flatMap(({ name, paths }) =>
    paths.map((field) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${name}`,
      field,
    })),
  )
  const [first] = found
  const list =
    causes.length === 1 && first !== undefined
      ? `1 conflict: conflict with ${first.name}: ${first.paths[0] ?? ''}`
      : `${causes.length} conflicts: ${found
          .map(({ name, paths }) =>
            [`conflicts with ${name}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
          )
          .join('\n')}`
  return new StatusError('Conflict', `Apply failed with ${list}`, { details: { causes } })
}
