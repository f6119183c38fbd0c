/** findSmells: all smells of one client's requests. Pure; the sizes of collections come from outside. */
import type { RequestRecord } from '../../components/api/request-record.ts'
import {
  groupBy,
  hasSucceeded,
  isUpdate,
  resourceOf,
  whereOf,
  type Found,
  type Smell,
} from './smell.ts'

export interface SmellOptions {
  /** How many objects a collection has now; undefined when it is not known. */
  readonly sizeOf: (record: RequestRecord) => number | undefined
}

/** Writes that change nothing are normal now and then: an informer is behind. */
const leastUnchanged = 3
const largeCollection = 100
/** As often within the time below is polling; a retry or a start asks twice. */
const leastPolls = 5
const pollWindowMs = 2 * 60_000
/** Watches that begin anew within the time below. */
const leastWatches = 3

/** Kinds that stand for themselves. */
const ownerless = new Set(['events', 'leases', 'namespaces', 'customresourcedefinitions'])
const heartbeats = new Set(['leases', 'events'])

interface SmellKind {
  readonly name: string
  readonly mend: string
  find(records: readonly RequestRecord[], options: SmellOptions): Found[]
}

function unchanged(records: readonly RequestRecord[]): Found[] {
  const idle = records.filter(
    (one) => isUpdate(one) && hasSucceeded(one) && one.revision === undefined,
  )
  return [...groupBy(idle, resourceOf).values()]
    .filter((same) => same.length >= leastUnchanged)
    .flatMap((same) =>
      same.map((record) => ({
        what: `writes of ${resourceOf(record)} that change nothing`,
        record,
      })),
    )
}

/** A conflict, after which the same version, or none at all, was sent again. */
function ignoredConflicts(records: readonly RequestRecord[]): Found[] {
  const updates = records.filter(({ verb }) => verb === 'update')
  return [...groupBy(updates, whereOf).values()].flatMap((same) =>
    same.flatMap((record, at): Found[] => {
      const next = same[at + 1]
      if (record.status !== 409 || next === undefined) return []
      const { sentVersion } = next
      const isBlind = sentVersion === '' && record.sentVersion !== ''
      const isSame = sentVersion !== '' && sentVersion === record.sentVersion
      const how = isBlind
        ? 'sent again without resourceVersion, over what others wrote'
        : 'sent again with the same resourceVersion, which fails again'
      return isBlind || isSame
        ? [{ what: `updates of ${resourceOf(next)} that met a conflict, ${how}`, record: next }]
        : []
    }),
  )
}

function largeLists(records: readonly RequestRecord[], { sizeOf }: SmellOptions): Found[] {
  return records.flatMap((record): Found[] => {
    const { verb, fieldSelector, labelSelector, limit, isNextPage, status } = record
    const isWhole = [fieldSelector, labelSelector, limit, isNextPage].every(
      (one) => one === undefined,
    )
    if (verb !== 'list' || !isWhole || status >= 300) return []
    // From the watch cache, as informers do: the server need not read its store.
    if (record.resourceVersion !== undefined) return []
    const size = sizeOf(record)
    if (size === undefined || size < largeCollection) return []
    const where = record.namespace === '' ? 'all namespaces' : `namespace ${record.namespace}`
    const what = `lists of all ${resourceOf(record)} of ${where} (${size} objects) without a selector, a limit or a resourceVersion`
    return [{ what, record }]
  })
}

/** The same question again and again, with nothing of its own written to the object in between. */
function polling(records: readonly RequestRecord[]): Found[] {
  const reads = records.filter(
    ({ verb, isNextPage, resource }) =>
      resource !== '' &&
      !heartbeats.has(resource) &&
      (verb === 'get' || verb === 'list') &&
      isNextPage === undefined,
  )
  const question = (one: RequestRecord): string =>
    JSON.stringify([one.verb, whereOf(one), one.labelSelector, one.fieldSelector])
  return [...groupBy(reads, question).values()].flatMap((same): Found[] => {
    const record = same.at(-1)
    if (record === undefined) return []
    const most = Math.max(
      ...same.map(
        ({ atMs }) =>
          same.filter((one) => one.atMs <= atMs && one.atMs > atMs - pollWindowMs).length,
      ),
    )
    if (most < leastPolls) return []
    const what = `${record.verb} of ${whereOf(record)} again and again, up to ${most} times in 2 min`
    return [{ what, record, count: same.length }]
  })
}

function statusWithSpec(records: readonly RequestRecord[]): Found[] {
  return records
    .filter((record) => record.isStatusIgnored === true && record.status < 300)
    .map((record) => ({
      what: `writes of ${resourceOf(record)} that change the status, which is ignored`,
      record,
    }))
}

function missingOwners(records: readonly RequestRecord[]): Found[] {
  return records
    .filter(
      ({ verb, subresource, isOwned, resource, ...record }) =>
        verb === 'create' &&
        subresource === '' &&
        isOwned === false &&
        !ownerless.has(resource) &&
        record.status < 300 &&
        record.dryRun !== true,
    )
    .map((record) => ({ what: `creates of ${resourceOf(record)} without an owner`, record }))
}

function watchesAnew(records: readonly RequestRecord[]): Found[] {
  const anew = records.filter(
    ({ verb, status, hasInitialEvents, resourceVersion }) =>
      verb === 'watch' &&
      status < 300 &&
      hasInitialEvents === undefined &&
      resourceVersion === undefined,
  )
  const question = (one: RequestRecord): string =>
    JSON.stringify([whereOf(one), one.labelSelector, one.fieldSelector])
  return [...groupBy(anew, question).values()]
    .filter((same) => same.length >= leastWatches)
    .flatMap((same) =>
      same.map((record) => ({
        what: `watches of ${whereOf(record)} that begin without a resourceVersion`,
        record,
      })),
    )
}

const smellKinds: readonly SmellKind[] = [
  {
    name: 'unchanged-writes',
    mend: 'Compare with the object in the cache, and write only what differs.',
    find: unchanged,
  },
  {
    name: 'ignored-conflicts',
    mend: 'After a conflict, read the object again, decide anew, and send the version that was read.',
    find: ignoredConflicts,
  },
  {
    name: 'large-lists',
    mend: 'Use an informer, or list with a selector, with limit and continue, or with resourceVersion=0.',
    find: largeLists,
  },
  {
    name: 'polling',
    mend: 'Watch the objects, or read them from the cache of an informer.',
    find: polling,
  },
  {
    name: 'status-with-spec',
    mend: 'Write the status in a request of its own, to the sub-resource status.',
    find: statusWithSpec,
  },
  {
    name: 'missing-owners',
    mend: 'Set an ownerReference with controller: true, so that the garbage collector removes the object with its owner.',
    find: missingOwners,
  },
  {
    name: 'watch-restarts',
    mend: 'Resume from the resourceVersion of the last event or bookmark: without one, events are missed in between.',
    find: watchesAnew,
  },
]

export const smellNames: readonly string[] = smellKinds.map(({ name }) => name)

/** `records`: of one client, oldest first. */
export function findSmells(records: readonly RequestRecord[], options: SmellOptions): Smell[] {
  return smellKinds.flatMap(({ name, mend, find }) =>
    [...groupBy(find(records, options), ({ what }) => what).entries()].flatMap(
      ([what, same]): Smell[] => {
        const example = same.at(-1)?.record
        if (example === undefined) return []
        const count = same.reduce((sum, one) => sum + (one.count ?? 1), 0)
        return [{ name, text: what, mend, count, example }]
      },
    ),
  )
}
