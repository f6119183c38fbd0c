/**
 * Apply: one server-side apply to one state of an object, in the request's version (upstream: apimachinery util/managedfields,
 * the chain of managers around structured merge). What kubectl applied from the client's side counts as the applier's own.
 */
import { objectKindOf } from '../../api/object-kind.ts'
import { compareFields } from '../../machinery/apply/apply-compare.ts'
import { fieldsOf } from '../../machinery/apply/apply-merge.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import {
  applyConfig,
  conflictError,
  conflictsWithout,
  ownersAfterUpdate,
  type ApplyOutcome,
  type Conflicts,
  type Versions,
} from '../../machinery/apply/apply-updater.ts'
import { configFault } from '../../machinery/apply/apply-validation.ts'
import { differenceOf, isEmptySet, type FieldSet } from '../../machinery/apply/field-set.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { capped, entriesOf, ownersOf, type Owners } from '../../machinery/apply/managed-fields.ts'
import type { KubeObject, ManagedFieldsEntry } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'
import type { Steps } from '../../machinery/values/steps.ts'
import type { FieldTracking, TrackedWrite } from './field-tracking.ts'

export interface ApplyRequest extends TrackedWrite {
  readonly force: boolean
  /** The sent configuration, as parsed: not decoded. */
  readonly config: Record<string, unknown>
  /** The annotation in which kubectl keeps what it applied from the client's side. */
  readonly lastAppliedKey: string
}

export interface AppliedObject {
  /** Not decoded; undefined when no value changes. */
  readonly object: Record<string, unknown> | undefined
  readonly managedFields: ManagedFieldsEntry[]
}

/** The manager of all fields that were set before field ownership was tracked. */
const beforeFirstApply = 'before-first-apply'
/** The manager whose applies take over from client-side apply. */
const kubectl = 'kubectl'

function kindText(apiVersion: unknown, kind: unknown): string {
  const text = typeof apiVersion === 'string' ? apiVersion : ''
  return `${text.includes('/') ? text : `/${text}`}, Kind=${typeof kind === 'string' ? kind : ''}`
}

/** Throws a 400 for a configuration that no state could be made of. */
export function checkConfig(request: ApplyRequest): void {
  const { config, resource } = request
  const { kind, apiVersion } = config
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) {
    throw badRequest(`invalid object type: ${kindText(apiVersion, kind)}`)
  }
  const metadata = isRecord(config['metadata']) ? config['metadata'] : {}
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null) {
    throw badRequest('metadata.managedFields must be nil')
  }
  const fault = configFault(objectKindOf(resource).schema, config)
  if (fault === undefined) return
  const { namespace = '', name = '' } = metadata as Record<string, string>
  throw badRequest(
    `failed to create typed patch object (${namespace}/${name}; ${kindText(apiVersion, kind)}): ${fault}`,
  )
}

/**
 * The outcome of applying a checked configuration to `live`, an object in the request's version, or the empty one to make a
 * new object. Throws a Conflict that names every field whose owner stands against it.
 */
export function* applyTo(
  live: KubeObject,
  request: ApplyRequest,
  by: { tracking: FieldTracking; empty: KubeObject },
): Steps<AppliedObject> {
  const { config, resource, subresource, manager, lastAppliedKey } = request
  const versions = by.tracking.versions(resource, subresource)
  const { managedFields = [], ...metadata } = live.metadata
  const state = { ...live, metadata }
  let owners: Owners = ownersOf(managedFields, { isOurs: true }) ?? new Map()
  if (owners.size === 0) {
    const asker = by.tracking.asker({ ...request, manager: beforeFirstApply }, 'Update')
    owners = yield* ownersAfterUpdate({ live: by.empty, changed: state, owners }, asker, versions)
    owners = capped(owners)
  }
  const asker = by.tracking.asker(request, 'Apply')
  const attempt = (force: boolean): Steps<ApplyOutcome> =>
    applyConfig({ live: state, config, owners }, { asker, force }, versions)
  let outcome = yield* attempt(request.force)
  if (!outcome.ok && manager === kubectl) {
    const left = yield* notLastApplied(outcome.conflicts, { live: state, versions, lastAppliedKey })
    if (left.length > 0) throw conflictError(left)
    outcome = yield* attempt(true)
  }
  if (!outcome.ok) throw conflictError(outcome.conflicts)
  yield
  const entries = entriesOf(outcome.owners)
  if (manager !== kubectl) return applied(outcome.isSame, outcome.object, entries)
  const object = withLastApplied(outcome.object, config, lastAppliedKey)
  return applied(outcome.isSame && object === outcome.object, object, entries)
}

function applied(
  isSame: boolean,
  object: unknown,
  managedFields: ManagedFieldsEntry[],
): AppliedObject {
  return { object: isSame ? undefined : (object as Record<string, unknown>), managedFields }
}

/** The conflicts about other fields than those which client-side apply set to what they still are. */
function* notLastApplied(
  conflicts: Conflicts,
  at: { live: KubeObject; versions: Versions; lastAppliedKey: string },
): Steps<Conflicts> {
  const fields = yield* lastAppliedFields(at)
  return fields === undefined ? conflicts : conflictsWithout(conflicts, fields)
}

function* lastAppliedFields(at: {
  live: KubeObject
  versions: Versions
  lastAppliedKey: string
}): Steps<FieldSet | undefined> {
  const { live, versions, lastAppliedKey } = at
  const last = parsed(live.metadata.annotations?.[lastAppliedKey])
  if (last?.['apiVersion'] !== versions.apiVersion) return undefined
  const { added, modified, removed } = yield* compareFields(versions.shape, last, live)
  const same = differenceOf(differenceOf(fieldsOf(versions.shape, last), modified), added)
  const fields = differenceOf(same, removed)
  return isEmptySet(fields) ? undefined : fields
}

function parsed(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined || text === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    // What users write into the annotation themselves is no reason to refuse an apply.
    return undefined
  }
}

/** The object with the annotation of client-side apply, where it has one, brought up to the applied configuration. */
function withLastApplied(
  object: unknown,
  config: Record<string, unknown>,
  lastAppliedKey: string,
): unknown {
  const { metadata } = object as KubeObject
  const before = metadata.annotations?.[lastAppliedKey]
  if (before === undefined || before === '') return object
  const text = lastAppliedText(config, lastAppliedKey)
  if (text === before) return object
  const annotations = { ...metadata.annotations, [lastAppliedKey]: text }
  if (!isWithinSize(annotations)) delete annotations[lastAppliedKey]
  return { ...(object as KubeObject), metadata: { ...metadata, annotations } }
}

/** All of an object's annotations, keys and values, may hold this much. */
const mostAnnotationBytes = 256 * 1024

function isWithinSize(annotations: Readonly<Record<string, string>>): boolean {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  return bytes <= mostAnnotationBytes
}

function lastAppliedText(config: Record<string, unknown>, lastAppliedKey: string): string {
  const copy = copyJson(config) as unknown as KubeObject
  if (isRecord(copy.metadata?.annotations)) delete copy.metadata.annotations[lastAppliedKey]
  return `${JSON.stringify(sorted(copy))}\n`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  const names = Object.keys(value).toSorted()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]))
}
