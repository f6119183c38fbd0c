/** list: a collection at one revision, streamed as a concatenation of encoded items. */
import { expired } from '../../machinery/status-error.ts'
import { decodeContinue, encodeContinue } from '../continue-token.ts'
import type { Form, ListMeta } from '../forms.ts'
import { listOptionsOf, parseRevision, type ListOptions } from '../list-options.ts'
import type { Answer, ResponseSink } from '../request.ts'
import type { Collection, Snapshot } from '../watch-cache/collection.ts'
import type { Entry } from '../watch-cache/entry.ts'
import { freshEnough } from './get.ts'
import { wantedForm, type Parts, type ResourceHandler } from './parts.ts'
import type { Resource } from '../../machinery/resource.ts'

/** Pieces this large are sent at once: fewer TLS records, still under the stream's window. */
const chunkBytes = 256 * 1024
/** Answers below this are sent whole, with a content length. */
const smallCount = 64

const comma = Buffer.from(',')

/** The state at exactly that revision; undefined when it is no longer kept. */
function snapshotAt(
  collection: Collection,
  revision: number,
  { cache }: Parts,
): Snapshot | undefined {
  return cache.retains(revision) ? collection.snapshotAt(revision) : undefined
}

/** The snapshot a list reads, by the rules for resourceVersion, match and continue. */
async function snapshotFor(
  resource: Resource,
  options: ListOptions,
  parts: Parts,
): Promise<{ snapshot: Snapshot; start: string }> {
  const collection = parts.cache.collection(resource)
  if (options.continue !== '') {
    const token = decodeContinue(options.continue)
    await freshEnough(parts.cache, '')
    const snapshot = snapshotAt(collection, token.revision, parts)
    if (snapshot === undefined) {
      throw expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
          'the continue parameter.',
      )
    }
    return { snapshot, start: token.start }
  }
  if (options.match === 'Exact') {
    const wanted = parseRevision(options.resourceVersion)
    await freshEnough(parts.cache, options.resourceVersion)
    const snapshot = snapshotAt(collection, wanted, parts)
    if (snapshot === undefined) {
      throw expired('The resourceVersion for the provided list is too old.')
    }
    return { snapshot, start: '' }
  }
  await freshEnough(parts.cache, options.resourceVersion)
  return { snapshot: collection.snapshot(parts.cache.revision), start: '' }
}

function keyPrefixOf(resource: Resource, namespace: string): string {
  return resource.namespaced && namespace !== '' ? `${namespace}/` : ''
}

interface Page {
  readonly entries: readonly Entry[]
  readonly meta: ListMeta
}

/** Up to `limit` matching entries and where the next page starts. */
function pageOf(
  snapshot: Snapshot,
  options: ListOptions,
  at: { prefix: string; start: string },
): Page {
  const { matches } = options.selection
  const { prefix, start } = at
  const entries: Entry[] = []
  for (const entry of snapshot.entries(prefix, start)) {
    if (matches !== undefined && !matches(entry)) continue
    if (options.limit > 0 && entries.length === options.limit) {
      const resourceVersion = String(snapshot.revision)
      const token = encodeContinue({ revision: snapshot.revision, start: entry.key })
      if (matches !== undefined) return { entries, meta: { resourceVersion, continue: token } }
      const remainingItemCount = snapshot.count(prefix, entry.key)
      return { entries, meta: { resourceVersion, continue: token, remainingItemCount } }
    }
    entries.push(entry)
  }
  return { entries, meta: { resourceVersion: String(snapshot.revision) } }
}

/** Joins encoded items into chunks and writes them, waiting for a slow peer. */
async function stream(
  sink: ResponseSink,
  form: Form,
  page: { entries: Iterable<Entry>; meta: ListMeta },
): Promise<void> {
  let pieces: Buffer[] = [form.listHead(page.meta)]
  let bytes = 0
  let first = true
  for (const entry of page.entries) {
    if (first) first = false
    else pieces.push(comma)
    for (const piece of form.item(entry)) {
      pieces.push(piece)
      bytes += piece.length
    }
    if (bytes >= chunkBytes) {
      const isTaken = sink.write(Buffer.concat(pieces))
      pieces = []
      bytes = 0
      if (!isTaken) await sink.drained()
    }
  }
  pieces.push(form.listTail)
  sink.write(Buffer.concat(pieces))
}

/** A whole list as an answer: small ones in one piece, large ones streamed. */
export function answerList(form: Form, page: Page): Answer {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }
  if (page.entries.length > smallCount) {
    return { status: 200, headers, body: (sink) => stream(sink, form, page) }
  }
  const pieces = [form.listHead(page.meta)]
  page.entries.forEach((entry, index) => {
    if (index > 0) pieces.push(comma)
    pieces.push(...form.item(entry))
  })
  pieces.push(form.listTail)
  return { status: 200, headers, body: Buffer.concat(pieces) }
}

export const listObjects: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const options = listOptionsOf(resource, info.query, { dialect: parts.dialect, watch: false })
  const form = wantedForm(context, resource, parts)
  const { snapshot, start } = await snapshotFor(resource, options, parts)
  const prefix = keyPrefixOf(resource, info.namespace)
  return answerList(form, pageOf(snapshot, options, { prefix, start }))
}
