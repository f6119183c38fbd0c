/** watch: initial events where asked for, then every matching commit, until the client, the timeout or the server ends it. */
import { apiKey } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/resource.ts'
import { expired } from '../../machinery/status-error.ts'
import type { Form } from '../forms.ts'
import { listOptionsOf, parseRevision, type ListOptions } from '../list-options.ts'
import type { Answer, RequestContext, ResponseSink } from '../request.ts'
import { objectKey } from '../registry/registry.ts'
import { Watcher, type FrameEncoder } from '../watch-cache/watcher.ts'
import { tooLargeVersion, tooOldVersion } from './get.ts'
import { wantedForm, type Parts, type ResourceHandler } from './parts.ts'

/** A watch without timeoutSeconds ends after this or up to twice this, so that clients spread (upstream: MinRequestTimeout). */
const minTimeoutMs = 30 * 60 * 1000
/** Upstream's order of magnitude; a bookmark says how far an idle watch has come. */
const bookmarkEveryMs = 60 * 1000
/** Undelivered bytes of one watcher before it is cut off. */
const maxQueuedBytes = 16 * 1024 * 1024
/** A peer that has this much unread gets no more frames until it reads. */
const maxBufferedBytes = 1024 * 1024

/** Where the stream starts: the revision to follow from, and whether the present state is told first. */
async function startOf(
  options: ListOptions,
  parts: Parts,
): Promise<{ revision: number; withInitial: boolean; marksInitial: boolean }> {
  const { resourceVersion, sendInitialEvents } = options
  if (sendInitialEvents === true || resourceVersion === '' || resourceVersion === '0') {
    if (resourceVersion !== '0') await parts.cache.current()
    const wanted = resourceVersion === '' ? 0 : parseRevision(resourceVersion)
    if (wanted > parts.cache.revision) throw tooLargeVersion(wanted, parts.cache.revision)
    return {
      revision: parts.cache.revision,
      withInitial: sendInitialEvents !== false,
      marksInitial: sendInitialEvents === true,
    }
  }
  const revision = parseRevision(resourceVersion)
  await parts.cache.current()
  if (revision > parts.cache.revision) throw tooLargeVersion(revision, parts.cache.revision)
  return { revision, withInitial: false, marksInitial: false }
}

function watcherOf(
  resource: Resource,
  options: ListOptions,
  at: { context: RequestContext; form: Form },
): Watcher {
  const { info } = at.context
  const { form } = at
  const name = info.name === '' ? options.selection.name : info.name
  const isOne = name !== undefined && (!resource.namespaced || info.namespace !== '')
  const prefix = resource.namespaced && info.namespace !== '' ? `${info.namespace}/` : ''
  let first = form.firstFrame
  const encode: FrameEncoder = (type, entry) => form.frame(type, entry)
  return new Watcher({
    keyPrefix: isOne ? objectKey(resource, info.namespace, name) : prefix,
    exactKey: isOne,
    matches: options.selection.matches,
    form: form.name,
    encode,
    takeFirst: () => {
      const encodeFirst = first
      first = undefined
      return encodeFirst
    },
    maxQueuedBytes,
  })
}

/** A frame that ends the watch with an error the client can act on (410: list again). */
function errorFrame(error: ReturnType<typeof expired>): Buffer {
  return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
}

async function deliver(
  sink: ResponseSink,
  watcher: Watcher,
  more: { form: Form; options: ListOptions; parts: Parts },
): Promise<void> {
  const { form, options, parts } = more
  const ended = new AbortController()
  const end = (): void => {
    ended.abort()
    watcher.wake()
  }
  const timeoutMs =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds * 1000
      : // Whole seconds: the runtime keeps something for each duration that a timer ever had, until it is over.
        Math.floor((minTimeoutMs * (1 + parts.clock.random())) / 1000) * 1000
  const cancelTimeout = parts.clock.after(timeoutMs, end)
  sink.signal.addEventListener('abort', end, { once: true })
  parts.stopping.addEventListener('abort', end, { once: true })
  let bookmarkDue = false
  let cancelBookmark = (): void => {}
  const plan = (): void => {
    cancelBookmark = parts.clock.after(bookmarkEveryMs, () => {
      bookmarkDue = true
      watcher.wake()
    })
  }
  if (options.allowWatchBookmarks) plan()
  const isOver = (): boolean =>
    ended.signal.aborted || sink.signal.aborted || parts.stopping.aborted
  try {
    while (!isOver()) {
      const frames = watcher.take()
      if (frames.length > 0) {
        const isTaken = sink.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
        if (!isTaken && sink.buffered > maxBufferedBytes) await sink.drained()
      } else if (watcher.overflowed) {
        sink.write(errorFrame(expired('too slow to keep up with the watch; resume or list again')))
        return
      } else if (bookmarkDue) {
        bookmarkDue = false
        sink.write(form.bookmark(String(parts.cache.revision)))
        plan()
      }
      // Waiting for a slow peer, it may have missed either.
      if (!isOver() && !bookmarkDue) await watcher.wait()
    }
  } finally {
    cancelTimeout()
    cancelBookmark()
    sink.signal.removeEventListener('abort', end)
    parts.stopping.removeEventListener('abort', end)
  }
}

export const watchObjects: ResourceHandler = async (context, resource, parts): Promise<Answer> => {
  const options = listOptionsOf(resource, context.info.query, {
    dialect: parts.dialect,
    watch: true,
  })
  const form = wantedForm(context, resource, parts)
  const start = await startOf(options, parts)
  const collection = parts.cache.collection(resource)
  const watcher = watcherOf(resource, options, { context, form })
  if (start.withInitial) {
    for (const entry of collection.snapshot(start.revision).entries('')) watcher.initial(entry)
    if (start.marksInitial && options.allowWatchBookmarks) {
      const mark = apiKey(parts.dialect, '', 'initial-events-end')
      watcher.push(form.bookmark(String(start.revision), { [mark]: 'true' }))
    }
  }
  if (!collection.attach(watcher, start.revision)) {
    throw tooOldVersion(start.revision, parts.cache.revision)
  }
  const detach = (): void => collection.detach(watcher)
  // A client that is gone by now is sent nothing, so the body below never runs.
  if (context.http.signal.aborted) detach()
  context.http.signal.addEventListener('abort', detach, { once: true })
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
    body: async (sink) => {
      try {
        await deliver(sink, watcher, { form, options, parts })
      } finally {
        detach()
      }
    },
  }
}
