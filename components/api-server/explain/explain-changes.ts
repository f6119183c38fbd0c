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
/** Fields that say nothing about what a client wanted: they change with other fields, or as a sign of life. */
const noise =
  /^metadata\.(?:resourceVersion|generation|managedFields|annotations\['kubectl\.[^']*\/last-applied-configuration'\])|\.last(?:Heartbeat|Probe)Time$|^spec\.renewTime$/

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

function changedFields(before: KubeObject, after: KubeObject): ChangedField[] {
  const isHidden = after.kind === 'Secret'
  const text = (value: unknown): string =>
    isHidden && value !== undefined ? '(hidden)' : brief(value, longestValue)
  return differences(before, after)
    .map((one) => ({ ...one, path: readablePath(one.path, after) }))
    .filter(({ path }) => !noise.test(path))
    .map((one) => ({ path: one.path, before: text(one.before), after: text(one.after) }))
}

const ownerOf = ({ manager, operation, subresource }: ManagedFieldsEntry): string =>
  `${manager ?? ''} ${operation ?? ''} ${subresource ?? ''}`

/** Managers of the write that led from `before` to `after`: those whose entry has a new time. */
function writers(before: KubeObject | undefined, after: KubeObject): string[] {
  const earlier = before?.metadata.managedFields ?? []
  const entries = after.metadata.managedFields ?? []
  const isNew = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => ownerOf(other) === ownerOf(one) && other.time === one.time)
  const isGrown = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => deepEqual(other, one))
  // Times have whole seconds: after a second write within one, only the fields tell.
  const found = entries.some(isNew) ? entries.filter(isNew) : entries.filter(isGrown)
  const named = found.length > 0 ? found : newestOf(entries)
  return [...new Set(named.flatMap(({ manager }) => manager ?? []))]
}

function newestOf(entries: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  const newest = entries.reduce((time, one) => ((one.time ?? '') > time ? (one.time ?? '') : time), '')
  return entries.filter(({ time = '' }) => time === newest)
}

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

function shown(object: KubeObject, more: Pick<NamespaceChange, 'type' | 'managers'> & { atMs: number }) {
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
function changeOf({ entry, previous, appliedAtMs, revision }: CacheEvent): NamespaceChange | undefined {
  if (entry === undefined) {
    if (previous === undefined) return undefined
    const object = previous.glance()
    const change = shown(object, { type: 'deleted', managers: [], atMs: appliedAtMs })
    return object.kind === 'Event' ? undefined : { ...change, resourceVersion: String(revision) }
  }
  const object = entry.glance()
  const before = previous?.glance()
  const managers = writers(before, object)
  if (before === undefined) return shown(object, { type: 'created', managers, atMs: appliedAtMs })
  const fields = changedFields(before, object)
  if (fields.length === 0) return undefined
  const more = fields.length - mostFields
  return {
    ...shown(object, { type: 'changed', managers, atMs: appliedAtMs }),
    fields: fields.slice(0, mostFields),
    ...(more > 0 ? { moreFields: more } : {}),
  }
}

/** Objects of the namespace that no known change created. */
function existing(objects: Iterable<Entry>, created: ReadonlySet<string>): NamespaceChange[] {
  const found: NamespaceChange[] = []
  for (const entry of objects) {
    const object = entry.glance()
    const { uid = '', creationTimestamp } = object.metadata
    if (created.has(uid)) continue
    const atMs = Date.parse(creationTimestamp ?? '') || 0
    found.push(shown(object, { type: 'existing', managers: writers(undefined, object), atMs }))
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
    const { kind, metadata } = (event.entry ?? event.previous)?.glance() ?? { metadata: {} }
    const isOwn = kind === 'Namespace' && metadata.name === namespace
    if (kind === 'Namespace' && !isOwn) continue
    const isCreation = event.previous === undefined
    if (isCreation) created.add(metadata.uid ?? '')
    const change = changeOf(event)
    if (change !== undefined) items.push(change)
    if (isOwn && isCreation) return { items: items.reverse(), reaches: 'creation' }
  }
  const before = existing(from.objectsIn(namespace), created).slice(-limit)
  return { items: [...before, ...items.reverse()], reaches: 'history' }
}
