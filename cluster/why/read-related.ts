/** Reads what findings rest on: bounded lists, side by side. What cannot be read is said, and never fails the answer. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { createDiscovery } from '../../components/client/server-resources.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { AskScheduler } from './ask-scheduler.ts'
import type { ListNeed, Need } from './explainer.ts'
import { relatedOf, type Related, type RelatedKey, type SchedulerAnswer } from './related.ts'

/** Objects of one list. */
const mostListed = 500
/** Objects of one kind when the contents of a namespace are listed. */
const mostContents = 100
/** Kinds of which contents are listed at the same time. */
const sideBySide = 10

export interface Source {
  readonly client: Client
  readonly askScheduler: AskScheduler
  readonly nowMs: number
}

export interface Reading {
  readonly related: Related
  /** One line for each thing that could not be read. */
  readonly notRead: readonly string[]
}

interface Found {
  readonly objects: readonly KubeObject[]
  readonly notRead: readonly string[]
}

function whatText(resource: Resource, { namespace, name }: Pick<ListNeed, 'namespace' | 'name'>) {
  const one = name === undefined ? qualifiedName(resource) : `${qualifiedName(resource)} ${name}`
  return namespace ? `${one} in namespace ${namespace}` : one
}

/** The objects of a need; an absent single object is no failure. */
async function readNeed(client: Client, need: ListNeed): Promise<Found> {
  const resource = resourcesOf(client.dialect)[need.of]
  const { name, namespace, labelSelector, fieldSelector } = need
  const what = whatText(resource, need)
  try {
    const verbs = client.resource(resource)
    if (name !== undefined) {
      return { objects: [await verbs.get({ namespace, name })], notRead: [] }
    }
    const list = await verbs.list({
      limit: mostListed,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    })
    const isPart = (list.metadata.continue ?? '') !== ''
    const notRead = isPart ? [`${what}: only the first ${mostListed} were read`] : []
    return { objects: list.items, notRead }
  } catch (error) {
    if (name !== undefined && isStatusError(error, 'NotFound')) return { objects: [], notRead: [] }
    return { objects: [], notRead: [`${what}: ${messageOf(error)}`] }
  }
}

async function readContent(client: Client, resource: Resource, namespace: string): Promise<Found> {
  try {
    const { items } = await client
      .resource(resource)
      .list({ limit: mostContents, metadataOnly: true, ...(namespace ? { namespace } : {}) })
    return { objects: items, notRead: [] }
  } catch (error) {
    // The kind went away, or cannot be listed after all.
    if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return { objects: [], notRead: [] }
    return { objects: [], notRead: [`${whatText(resource, { namespace })}: ${messageOf(error)}`] }
  }
}

/** The metadata of everything in the namespace, or of everything that is in none. Events are left out: they hold nothing up. */
async function readContents(client: Client, namespace: string): Promise<Found> {
  const { preferred, failed } = await createDiscovery(client)()
  const kinds = preferred.filter(
    ({ namespaced, verbs, virtual, kind }) =>
      namespaced === (namespace !== '') && verbs.includes('list') && !virtual && kind !== 'Event',
  )
  const objects: KubeObject[] = []
  const notRead = failed.map((groupVersion) => `${groupVersion}: its kinds cannot be discovered`)
  for (let at = 0; at < kinds.length; at += sideBySide) {
    const found = await Promise.all(
      kinds.slice(at, at + sideBySide).map((kind) => readContent(client, kind, namespace)),
    )
    objects.push(...found.flatMap((one) => one.objects))
    notRead.push(...found.flatMap((one) => one.notRead))
  }
  return { objects, notRead }
}

const isListNeed = (need: Need): need is ListNeed =>
  need.of !== 'contents' && need.of !== 'scheduler'

/** Reads everything that the needs of an object name; `about` is the object. */
export async function readRelated(
  { client, askScheduler, nowMs }: Source,
  about: { readonly object: Pick<KubeObject, 'metadata'>; readonly needs: readonly Need[] },
): Promise<Reading> {
  const { object, needs } = about
  const lists = needs.filter(isListNeed)
  const namespaces = needs.flatMap((need) => (need.of === 'contents' ? [need.namespace] : []))
  const asksScheduler = needs.some(({ of }) => of === 'scheduler')
  const [found, contents, scheduler] = await Promise.all([
    Promise.all(lists.map((need) => readNeed(client, need))),
    Promise.all(namespaces.map((one) => readContents(client, one))),
    asksScheduler ? askScheduler(keyOf(object)) : undefined,
  ])
  const byKey = new Map<RelatedKey, KubeObject[]>()
  const incomplete = new Set<RelatedKey>()
  for (const [index, { of }] of lists.entries()) {
    const { objects = [], notRead = [] } = found[index] ?? {}
    // Two needs may hold the same object.
    const known = byKey.get(of) ?? []
    const uids = new Set(known.map(({ metadata }) => metadata.uid))
    byKey.set(of, [...known, ...objects.filter(({ metadata }) => !uids.has(metadata.uid))])
    if (notRead.length > 0) incomplete.add(of)
  }
  return {
    related: relatedOf({
      ...Object.fromEntries(byKey),
      nowMs,
      dialect: client.dialect,
      contents: contents.flatMap(({ objects }) => objects),
      incomplete,
      ...(scheduler === undefined ? {} : { scheduler }),
    }),
    notRead: [...found, ...contents]
      .flatMap(({ notRead }) => notRead)
      .concat(schedulerText(scheduler)),
  }
}

function schedulerText(scheduler: SchedulerAnswer | undefined): string[] {
  return scheduler?.kind === 'silent' ? [`the scheduler: ${scheduler.why}`] : []
}
