/** list: a collection at one revision, streamed as a concatenation of encoded items. */
import { sortKey } from '../../component-base/sorted-map.ts'
import { expired } from '../../machinery/objects/status-error.ts'
import type { Copied, CopiedList, Form, ListMeta, Shown } from '../encoding/form.ts'
import { listOptionsOf, parseRevision, type ListOptions } from '../codec/list-options.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import type { Collection, Snapshot } from '../watch-cache/collection.ts'
import type { Entry } from '../watch-cache/entry.ts'
import { candidatesOf, keyPrefixOf } from './candidates.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import { freshEnough } from './get.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { staleSnapshot } from './stale-snapshot.ts'
import { readyToShow } from '../registry/working-state.ts'
import { answerForm } from '../codec/respond.ts'

/** Bytes written at once: fewer TLS records, and less than the window of a stream. */
const chunkBytes = 256 * 1024
/** Shorter lists are sent in one piece, with a content length. */
const smallCount = 64

const continueTooOld =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing ' +
  'with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the ' +
  'time the first chunk was returned and now may show up in the list.'

/** The state at exactly that revision; undefined when the history no longer has it. */
async function snapshotAt(
  collection: Collection,
  revision: number,
  cache: WatchCache,
): Promise<Snapshot | undefined> {
  await cache.reach(revision)
  return cache.retains(revision) ? collection.snapshotAt(revision) : undefined
}

/** The snapshot of a list, by the rules for resourceVersion, match and continue. */
async function snapshotFor(
  resource: Resource,
  at: { context: RequestContext; options: ListOptions; list: string; parts: Parts },
): Promise<{ snapshot: Snapshot; start: string }> {
  const { context, options, list, parts } = at
  const cache = parts.cache.of(resource)
  const collection = cache.collection(resource)
  if (options.continue !== '') {
    const { continueTokens } = parts
    const { revision, start } = continueTokens.decode(list, options.continue)
    await freshEnough(cache, revision === undefined ? '' : String(revision))
    if (revision === undefined) return { snapshot: collection.snapshot(cache.revision), start }
    const snapshot = await snapshotAt(collection, revision, cache)
    if (snapshot !== undefined) return { snapshot, start }
    throw expired(continueTooOld, continueTokens.encode(list, { revision: undefined, start }))
  }
  if (options.match === 'Exact') {
    const wanted = parseRevision(options.resourceVersion)
    await freshEnough(cache, options.resourceVersion)
    const snapshot = await snapshotAt(collection, wanted, cache)
    if (snapshot === undefined) {
      throw expired('The resourceVersion for the provided list is too old.')
    }
    return { snapshot, start: '' }
  }
  await freshEnough(cache, options.resourceVersion)
  const stale = staleSnapshot(context, resource, parts)
  return { snapshot: stale ?? collection.snapshot(cache.revision), start: '' }
}

interface Page {
  readonly entries: readonly Shown[]
  readonly meta: ListMeta
  /** The key that the next page starts at; absent on the last one. */
  readonly next?: string
}

/** Up to `limit` matching entries and where the next page starts. */
function pageOf(
  snapshot: Snapshot,
  options: ListOptions,
  at: {
    candidates: Iterable<Entry>
    prefix: string
    start: string
    tokenAt: (start: string) => string
  },
): Page {
  const { matches } = options.selection
  const { candidates, prefix, start, tokenAt } = at
  const entries: Entry[] = []
  for (const entry of candidates) {
    if (matches !== undefined && !matches(entry)) continue
    if (options.limit > 0 && entries.length === options.limit) {
      const resourceVersion = String(snapshot.revision)
      const next = entry.key
      const meta = { resourceVersion, continue: tokenAt(next) }
      if (matches !== undefined) return { entries, meta, next }
      const remainingItemCount = snapshot.count(prefix, start) - entries.length
      snapshot.noteCount(prefix, next, remainingItemCount)
      return { entries, meta: { ...meta, remainingItemCount }, next }
    }
    entries.push(entry)
  }
  return { entries, meta: { resourceVersion: String(snapshot.revision) } }
}

/** Copies cached items into chunks and writes them, waiting for a slow peer. Chunks are reused once sent. */
async function streamCopied(
  sink: ResponseSink,
  list: CopiedList,
  items: readonly Copied[],
): Promise<void> {
  const free: Buffer[] = []
  let chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  let at = list.head.copy(chunk)
  const writeChunk = (): boolean => {
    const sent = chunk
    return sink.write(at === sent.length ? sent : sent.subarray(0, at), () => {
      if (sent.length === chunkBytes) free.push(sent)
    })
  }
  for (const item of items) {
    const most = item.mostBytes + list.mostAround
    if (at + most > chunk.length) {
      if (!writeChunk()) await sink.drained()
      chunk = most > chunkBytes ? Buffer.allocUnsafeSlow(most) : takeFrom(free)
      at = 0
    }
    at = list.copyNext(item, chunk, at)
  }
  sink.write(Buffer.concat([chunk.subarray(0, at), list.tail]))
}

function isCopied(shown: Shown): shown is Copied {
  return 'copyTo' in shown
}

function takeFrom(free: Buffer[]): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes)
}

/** Joins the pieces of a list into chunks and writes them, waiting for a slow peer. */
async function stream(sink: ResponseSink, form: Form, page: Page): Promise<void> {
  let pieces: Buffer[] = []
  let bytes = 0
  const take = (piece: Buffer): Promise<void> | undefined => {
    pieces.push(piece)
    bytes += piece.length
    if (bytes < chunkBytes) return undefined
    const isTaken = sink.write(Buffer.concat(pieces, bytes))
    pieces = []
    bytes = 0
    return isTaken ? undefined : sink.drained()
  }
  const list = form.list(page.meta, page.entries)
  if (Symbol.asyncIterator in list) {
    for await (const piece of list) await take(piece)
  } else {
    for (const piece of list) {
      const slow = take(piece)
      if (slow !== undefined) await slow
    }
  }
  if (bytes > 0) sink.write(Buffer.concat(pieces, bytes))
}

/** Answers a short list in one piece, and streams a long one. */
export async function answerList(form: Form, page: Page): Promise<Answer> {
  const { entries, meta } = page
  if (entries.length > smallCount) {
    const copied = entries.every(isCopied) ? form.copiedList?.(meta) : undefined
    return answerForm(200, form, (sink) =>
      copied === undefined
        ? stream(sink, form, page)
        : streamCopied(sink, copied, entries as readonly Copied[]),
    )
  }
  const list = form.list(meta, entries)
  const pieces = Symbol.asyncIterator in list ? await Array.fromAsync(list) : [...list]
  return answerForm(200, form, Buffer.concat(pieces))
}

/** The page that the options select, ready to show. */
export async function selectedPage(
  context: RequestContext,
  resource: Resource,
  by: { options: ListOptions; parts: Parts },
): Promise<Page> {
  const { options, parts } = by
  const { info } = context
  const prefix = keyPrefixOf(resource, info.namespace)
  const list = `${resource.storagePrefix}/${prefix}`
  const { snapshot, start } = await snapshotFor(resource, { context, options, list, parts })
  const { revision } = snapshot
  const tokenAt = (next: string): string =>
    parts.continueTokens.encode(list, { revision, start: next })
  const { stored } = parts.registry
  const { name, selected } = options.selection
  const wanted = { namespace: info.namespace, name, selected, start }
  const candidates = (): Iterable<Entry> => candidatesOf(snapshot, resource, wanted)
  // Selectors match the listed version, so it is converted first.
  if (options.selection.matches !== undefined) await readyToShow(resource, candidates())
  const page = stored.looking(resource, prefix, () =>
    pageOf(snapshot, options, { candidates: candidates(), prefix, start, tokenAt }),
  )
  stored.refuseUnreadable(
    resource,
    (key) =>
      key.startsWith(prefix) &&
      sortKey(key) >= sortKey(start) &&
      (page.next === undefined || sortKey(key) < sortKey(page.next)) &&
      (name === undefined || key.slice(key.indexOf('/') + 1) === name),
  )
  await readyToShow(resource, page.entries)
  return page
}

export const listObjects: ResourceHandler = async (context, resource, parts) => {
  const { query } = context.info
  const options = listOptionsOf(resource, query, { dialect: parts.dialect, watch: false })
  const form = wantedForm(context, resource, parts)
  return await answerList(form, await selectedPage(context, resource, { options, parts }))
}
