/** Reads what findings rest on: bounded lists, side by side. What cannot be read is said, and never fails the answer. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { AskScheduler } from './ask-scheduler.ts'
import type { ListNeed, Need } from './explainer.ts'
import { readContents, readDependents, whatText, type Found } from './read-contents.ts'
import { relatedOf, type Related, type RelatedKey, type SchedulerAnswer } from './related.ts'

/** Objects of one list. */
const mostListed = 500

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

const isListNeed = (need: Need): need is ListNeed =>
  need.of !== 'contents' && need.of !== 'dependents' && need.of !== 'scheduler'

/** Reads everything that the needs of an object name; `about` is the object. */
export async function readRelated(
  { client, askScheduler, nowMs }: Source,
  about: { readonly object: Pick<KubeObject, 'metadata'>; readonly needs: readonly Need[] },
): Promise<Reading> {
  const { object, needs } = about
  const lists = needs.filter(isListNeed)
  const contentsNeeds = needs.filter((need) => need.of === 'contents')
  const dependentsNeeds = needs.filter((need) => need.of === 'dependents')
  const asksScheduler = needs.some(({ of }) => of === 'scheduler')
  const [found, contents, dependents, scheduler] = await Promise.all([
    Promise.all(lists.map((need) => readNeed(client, need))),
    Promise.all(contentsNeeds.map(({ namespace }) => readContents(client, namespace))),
    Promise.all(dependentsNeeds.map((need) => readDependents(client, need))),
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
      dependents: dependents.flatMap(({ objects }) => objects),
      incomplete,
      ...(scheduler === undefined ? {} : { scheduler }),
    }),
    // Two needs may fail alike.
    notRead: [
      ...new Set([...found, ...contents, ...dependents].flatMap(({ notRead }) => notRead)),
      ...schedulerText(scheduler),
    ],
  }
}

function schedulerText(scheduler: SchedulerAnswer | undefined): string[] {
  return scheduler?.kind === 'silent' ? [`the scheduler: ${scheduler.why}`] : []
}
