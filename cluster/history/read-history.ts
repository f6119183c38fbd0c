/**
 * read-history: every revision of an object that the server still knows. One exact list gives the oldest state, one watch
 * the changes since.
 */
import { changed, fieldsOf, managersOf, writers } from '../../components/api/changed-fields.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import type { ResourceClient } from '../../components/client/resource-client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { ObjectHistory, ObjectRevision, RevisionAuthor } from './object-history.ts'
import { objectAt, oldestRevision, type OneObject } from './oldest-revision.ts'
import { readJournal } from './read-journal.ts'

/** A watch that has nothing more to say ends after this. */
const watchSeconds = 1
/** The oldest revision may be forgotten while it is looked for. */
const mostTries = 3

interface State {
  readonly type: ObjectRevision['type']
  readonly object: KubeObject
}

/** What happened after `from`, up to the revision of `current`, or to the end of what a watch shows at once. */
async function statesAfter(
  objects: ResourceClient,
  one: OneObject,
  { from, current }: { readonly from: number; readonly current: KubeObject | undefined },
): Promise<State[]> {
  const states: State[] = []
  const newest = current?.metadata.resourceVersion
  const types = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const
  const end = new AbortController()
  const watch = { ...one, resourceVersion: String(from), timeoutSeconds: watchSeconds }
  for await (const { type, object } of objects.watch(watch, end.signal)) {
    if (type === 'BOOKMARK') continue
    states.push({ type: types[type], object })
    if (newest !== undefined && object.metadata.resourceVersion === newest) break
  }
  return states
}

async function statesOf(
  objects: ResourceClient,
  one: OneObject,
): Promise<{ readonly since: number; readonly states: readonly State[] }> {
  const list = await objects.list(one)
  const [current] = list.items
  const newest = Number(list.metadata.resourceVersion)
  for (let tries = 1; ; tries += 1) {
    const since = await oldestRevision(objects, one, newest)
    const first = await objectAt(objects, one, since)
    try {
      const isNewest =
        first !== 'gone' &&
        first?.metadata.resourceVersion === current?.metadata.resourceVersion &&
        current !== undefined
      const later = isNewest ? [] : await statesAfter(objects, one, { from: since, current })
      const hasFirst = first !== undefined && first !== 'gone'
      return {
        since,
        states: [...(hasFirst ? [{ type: 'existing', object: first } as const] : []), ...later],
      }
    } catch (error) {
      if (tries === mostTries || !isStatusError(error, 'Expired', 'Gone')) throw error
    }
  }
}

function authorOf(record: RequestRecord): RevisionAuthor {
  const { user, impersonator, userAgent, verb, subresource, cause, fault, isApply } = record
  return {
    user,
    ...(impersonator === undefined ? {} : { impersonator }),
    userAgent,
    verb: isApply === true ? 'apply' : verb,
    subresource,
    ...(cause === undefined ? {} : { cause }),
    ...(fault === undefined ? {} : { fault }),
  }
}

/** When a write took place, as its field managers have it, in whole seconds. */
function timeOf({ type, object }: State, managers: readonly string[]): string | undefined {
  const { metadata } = object
  if (type === 'created') return metadata.creationTimestamp ?? undefined
  if (type === 'deleted') return undefined
  const times = (metadata.managedFields ?? [])
    .filter(({ manager }) => managers.includes(manager ?? ''))
    .flatMap(({ time }) => time ?? [])
  return times.sort().at(-1)
}

function revisionOf(
  state: State,
  previous: KubeObject | undefined,
  record: RequestRecord | undefined,
): ObjectRevision {
  const { type, object } = state
  const change =
    type === 'changed' && previous !== undefined ? changed(previous, object) : undefined
  const managers =
    type === 'deleted'
      ? []
      : change === undefined
        ? managersOf(object.metadata.managedFields)
        : writers(change)
  const time = record === undefined ? timeOf(state, managers) : new Date(record.atMs).toISOString()
  return {
    resourceVersion: object.metadata.resourceVersion ?? '',
    type,
    ...(time === undefined ? {} : { time }),
    managers,
    ...(record === undefined ? {} : { author: authorOf(record) }),
    fields: change === undefined ? [] : fieldsOf(change),
  }
}

/** Undefined when the object does not exist and the server knows of none that did. `namespace` is empty for kinds without. */
export async function readHistory(
  client: Client,
  resource: Resource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<ObjectHistory | undefined> {
  const apiVersion = apiVersionOf(resource)
  const { kind } = resource
  const place = resource.namespaced ? { namespace } : {}
  const one = { ...place, fieldSelector: `metadata.name=${name}` }
  const [{ since, states }, journal] = await Promise.all([
    statesOf(client.resource(resource), one),
    readJournal(client, resource, resource.namespaced ? namespace : ''),
  ])
  if (states.length === 0) return undefined
  const typed = states.map(({ type, object }) => ({
    type,
    object: { ...object, apiVersion, kind },
  }))
  const revisions = typed.map((state, at) => {
    const record = journal.byRevision.get(state.object.metadata.resourceVersion ?? '')
    return revisionOf(state, typed[at - 1]?.object, record)
  })
  return {
    apiVersion,
    kind,
    ...place,
    name,
    since: String(since),
    ...(journal.missing === undefined ? {} : { noJournal: journal.missing }),
    revisions,
  }
}
