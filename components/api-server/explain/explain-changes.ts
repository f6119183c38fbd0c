/**
 * explain-changes: what happened in a namespace, from the history that watches resume from. Nothing is recorded for it: it costs
 * what it reads, when it is asked. Upstream has no counterpart.
 */
import { changed, fieldsOf, longestValue, managersOf, writers } from '../../api/changed-fields.ts'
import type { ChangesExplanation, EventText, NamespaceChange } from '../../api/explanations.ts'
import { brief } from '../../machinery/objects/differences.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { CacheEvent, Entry } from '../watch-cache/entry.ts'

const mostFields = 12
/** About a tenth of a second's work. */
const mostDecoded = 5000
const noObject: KubeObject = { metadata: {} }
/** Field manager of the server's own writes. */
const ownManager = 'kube-apiserver'

/** Where the changes are read from. */
export interface ChangeHistory {
  readonly history: { newestFirst(): Iterable<CacheEvent> }
  objectsIn(namespace: string): Iterable<Entry>
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
