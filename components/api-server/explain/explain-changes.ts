/**
 * explain-changes: what happened in a namespace, from the history that watches resume from. Nothing is recorded for it: it costs
 * what it reads, when it is asked. Upstream has no counterpart.
 */
import type {
  ChangedField,
  ChangesExplanation,
  EventText,
  NamespaceChange,
} from '../../api/explanations.ts'
import {
  brief,
  childPath,
  differences,
  type Difference,
  type ValuePath,
} from '../../machinery/objects/differences.ts'
import {
  deepEqual,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../../machinery/objects/object.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import type { CacheEvent, Entry } from '../watch-cache/entry.ts'

const longestValue = 120
const mostFields = 12
/** About a tenth of a second's work. */
const mostDecoded = 5000
/** Fields that say nothing about what a client wanted: they change with others, or as a sign of life. */
const noise =
  /^metadata\.(?:resourceVersion|generation|managedFields|annotations\['kubectl\.[^']*\/last-applied-configuration'\])|^spec\.renewTime$/

const noObject: KubeObject = { metadata: {} }
/** Field manager of the server's own writes. */
const ownManager = 'kube-apiserver'

/** Where the changes are read from. */
export interface ChangeHistory {
  readonly history: { newestFirst(): Iterable<CacheEvent> }
  objectsIn(namespace: string): Iterable<Entry>
}

/** `conditions[type=Ready]` where an item names itself, else `conditions[0]`. */
function readablePath(path: ValuePath, object: unknown): string {
  let [text, value] = ['', object]
  for (const step of path) {
    const inside = (value ?? {}) as Record<string, unknown>
    value = getOwn(inside, String(step))
    const { type, name } = (value ?? {}) as { type?: unknown; name?: unknown }
    const [field, own] = typeof type === 'string' ? ['type', type] : ['name', name]
    text =
      typeof step === 'number' && typeof own === 'string'
        ? `${text}[${field}=${own}]`
        : childPath(text, step)
  }
  return text
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
}

/** Type -> `True (MinimumReplicasAvailable)`: what of conditions is worth a line. */
function conditionsOf({ status }: KubeObject): Map<string, string> {
  const { conditions } = (status ?? {}) as { conditions?: readonly Condition[] | null }
  const texts = (conditions ?? []).map(({ type, status: is, reason = '' }) => {
    return [type, reason === '' ? is : `${is} (${reason})`] as const
  })
  return new Map(texts)
}

function changedConditions(before: KubeObject, after: KubeObject): ChangedField[] {
  const [old, now] = [conditionsOf(before), conditionsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((type) => {
    const [was = 'nothing', is = 'nothing'] = [old.get(type), now.get(type)]
    return was === is ? [] : [{ path: `status.conditions[type=${type}]`, before: was, after: is }]
  })
}

const isConditions = ([first, second]: ValuePath): boolean =>
  first === 'status' && second === 'conditions'

interface Changed {
  readonly before: KubeObject
  readonly after: KubeObject
  /** Where they differ, but for conditions and what is noise. */
  readonly found: readonly (Difference & { readonly text: string })[]
}

function changed(before: KubeObject, after: KubeObject): Changed {
  const found = differences(before, after)
    .filter(({ path }) => !isConditions(path))
    .map((one) => ({ ...one, text: readablePath(one.path, after) }))
    .filter(({ text }) => !noise.test(text))
  return { before, after, found }
}

function fieldsOf({ before, after, found }: Changed): ChangedField[] {
  const isHidden = after.kind === 'Secret'
  const shownValue = (value: unknown): string =>
    isHidden && value !== undefined ? '(hidden)' : brief(value, longestValue)
  const fields = found.map((one) => ({
    path: one.text,
    before: shownValue(one.before),
    after: shownValue(one.after),
  }))
  return [...fields, ...changedConditions(before, after)]
}

const ownerOf = ({ manager, operation, subresource }: ManagedFieldsEntry): string =>
  `${manager ?? ''} ${operation ?? ''} ${subresource ?? ''}`

/** Whether the field, or something in it, belongs to the manager of that set of fields. */
function owns({ fieldsV1 }: ManagedFieldsEntry, path: ValuePath): boolean {
  let fields: unknown = fieldsV1
  for (const step of path) {
    // Items of lists have keys of their own: who owns the list is close enough.
    if (typeof step === 'number') break
    fields = getOwn((fields ?? {}) as Record<string, unknown>, `f:${step}`)
    if (fields === undefined) return false
    if (Object.keys(fields as object).length === 0) break
  }
  return true
}

/** Managers of the write: those whose entry has a new time or more fields. */
function writers({ before, after, found }: Changed): string[] {
  const earlier = before.metadata.managedFields ?? []
  const entries = after.metadata.managedFields ?? []
  const isLater = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => ownerOf(other) === ownerOf(one) && other.time === one.time)
  const isOther = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => deepEqual(other, one))
  if (entries.some(isLater)) return managersOf(entries.filter(isLater))
  if (entries.some(isOther)) return managersOf(entries.filter(isOther))
  // A second write within a second that set no other fields: times have whole seconds.
  return managersOf(entries.filter((one) => found.some(({ path }) => owns(one, path))))
}

const managersOf = (entries: readonly ManagedFieldsEntry[] = []): string[] => [
  ...new Set(entries.flatMap(({ manager }) => manager ?? [])),
]

/** Of an Event in either of its groups' forms. */
function eventText(object: KubeObject): { event?: EventText } {
  if (object.kind !== 'Event') return {}
  const { type = '', reason = '', message, note, involvedObject, regarding, count, series } = object
  const about = (involvedObject ?? regarding ?? {}) as { kind?: string; name?: string }
  return {
    event: {
      type: String(type),
      reason: String(reason),
      message: brief(message ?? note ?? '', 2 * longestValue),
      regarding: `${about.kind ?? ''}/${about.name ?? ''}`,
      count: Number((series as { count?: number } | undefined)?.count ?? count ?? 1),
    },
  }
}

function shown(
  object: KubeObject,
  more: Pick<NamespaceChange, 'type' | 'managers'> & { atMs: number },
) {
  const { apiVersion = '', kind = '', metadata } = object
  const { namespace, name = '', resourceVersion = '' } = metadata
  const { type, managers, atMs } = more
  return {
    time: new Date(atMs).toISOString(),
    resourceVersion,
    type,
    apiVersion,
    kind,
    ...(namespace === undefined || namespace === '' ? {} : { namespace }),
    name,
    managers,
    ...eventText(object),
  }
}

/** Undefined for what no reader wants to see: signs of life, and Events that are over. */
function changeOf({
  entry,
  previous,
  appliedAtMs,
  revision,
}: CacheEvent): NamespaceChange | undefined {
  if (entry === undefined) {
    if (previous === undefined) return undefined
    const object = previous.glance()
    const change = shown(object, { type: 'deleted', managers: [], atMs: appliedAtMs })
    return object.kind === 'Event' ? undefined : { ...change, resourceVersion: String(revision) }
  }
  const object = entry.glance()
  const atMs = appliedAtMs
  if (previous === undefined)
    return shown(object, {
      type: 'created',
      managers: managersOf(object.metadata.managedFields),
      atMs,
    })
  const change = changed(previous.glance(), object)
  const fields = fieldsOf(change)
  if (fields.length === 0) return undefined
  const more = fields.length - mostFields
  return {
    ...shown(object, { type: 'changed', managers: writers(change), atMs }),
    fields: fields.slice(0, mostFields),
    ...(more > 0 ? { moreFields: more } : {}),
  }
}

/** Default roles, flow schemas and the like: objects that the server keeps for itself and no user asked for. */
function isHousekeeping({ kind, managers }: NamespaceChange): boolean {
  const isByServer = managers.length > 0 && managers.every((one) => one === ownManager)
  return isByServer && kind !== 'Namespace' && kind !== 'CustomResourceDefinition'
}

/** Objects of the namespace that no known change created. */
function existing(objects: Iterable<Entry>, created: ReadonlySet<string>): NamespaceChange[] {
  const found: NamespaceChange[] = []
  for (const entry of objects) {
    const object = entry.glance()
    const { metadata } = object
    const { uid = '', creationTimestamp } = metadata
    if (created.has(uid)) continue
    const atMs = Date.parse(creationTimestamp ?? '') || 0
    found.push(
      shown(object, { type: 'existing', managers: managersOf(metadata.managedFields), atMs }),
    )
  }
  return found.sort((one, other) => (one.time < other.time ? -1 : 1))
}

/** The newest `limit` changes of objects in the namespace and of cluster-scoped ones, back to the creation of the namespace. */
export function explainChanges(
  from: ChangeHistory,
  { namespace, limit }: { readonly namespace: string; readonly limit: number },
): ChangesExplanation {
  const items: NamespaceChange[] = []
  const created = new Set<string>()
  let decoded = 0
  for (const event of from.history.newestFirst()) {
    const isInside = event.key.startsWith(`${namespace}/`)
    if (!isInside && event.key.includes('/')) continue
    if (items.length === limit || decoded === mostDecoded)
      return { items: items.reverse(), reaches: 'limit' }
    decoded += 1
    const { kind, metadata } = (event.entry ?? event.previous)?.glance() ?? noObject
    const isOwn = kind === 'Namespace' && metadata.name === namespace
    if (kind === 'Namespace' && !isOwn) continue
    const isCreation = event.previous === undefined
    if (isCreation) created.add(metadata.uid ?? '')
    const change = changeOf(event)
    if (change !== undefined && (isInside || !isHousekeeping(change))) items.push(change)
    if (isOwn && isCreation) return { items: items.reverse(), reaches: 'creation' }
  }
  const before = existing(from.objectsIn(namespace), created).slice(-limit)
  return { items: [...before, ...items.reverse()], reaches: 'history' }
}
