/** watch: initial events if requested, then every matching commit, until the client, the timeout or the server ends it. */
import { objectKindOf } from '../../api/object-kind.ts'
import { apiKey } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { expired } from '../../machinery/objects/status-error.ts'
import type { Form } from '../encoding/form.ts'
import { listOptionsOf, parseRevision, type ListOptions } from '../codec/list-options.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import { readyToShow } from '../registry/working-state.ts'
import { objectKey } from '../registry/registry.ts'
import { asStatusError } from '../codec/respond.ts'
import { ConvertedWatcher } from '../watch-cache/converted-watcher.ts'
import { Watcher, type FrameEncoder, type WatcherOptions } from '../watch-cache/watcher.ts'
import { freshEnough, tooOldVersion } from './get.ts'
import { isWebSocketRequest } from '../request/websocket-request.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'

/** A watch without timeoutSeconds ends after one to two times this, so that clients spread (upstream: MinRequestTimeout). */
const minTimeoutMs = 30 * 60 * 1000
/** About as often as upstream. A bookmark tells an idle client the current revision. */
const bookmarkEveryMs = 60 * 1000
/** A watcher with more undelivered bytes ends. */
const maxQueuedBytes = 16 * 1024 * 1024
/** With more unsent bytes, the server sends no more messages until the peer reads. */
const maxBufferedBytes = 1024 * 1024

/** The start of the stream: its revision, and whether it begins with the current state. */
async function startOf(
  options: ListOptions,
  parts: Parts,
): Promise<{ revision: number; withInitial: boolean; marksInitial: boolean }> {
  const { resourceVersion, sendInitialEvents } = options
  if (sendInitialEvents === true || resourceVersion === '' || resourceVersion === '0') {
    await freshEnough(parts.cache, resourceVersion)
    return {
      revision: parts.cache.revision,
      withInitial: sendInitialEvents !== false,
      marksInitial: sendInitialEvents === true,
    }
  }
  const revision = parseRevision(resourceVersion)
  await freshEnough(parts.cache, resourceVersion)
  await parts.cache.reach(revision)
  return { revision, withInitial: false, marksInitial: false }
}

function watcherOf(
  resource: Resource,
  options: ListOptions,
  at: { context: RequestContext; form: Form; parts: Parts },
): Watcher {
  const { info } = at.context
  const { form, parts } = at
  const name = info.name === '' ? options.selection.name : info.name
  const isOne = name !== undefined && (!resource.namespaced || info.namespace !== '')
  const prefix = resource.namespaced && info.namespace !== '' ? `${info.namespace}/` : ''
  let first = form.firstFrame
  const encode: FrameEncoder = (type, entry) => form.frame(type, entry)
  const watcherOptions: WatcherOptions = {
    keyPrefix: isOne ? objectKey(resource, info.namespace, name) : prefix,
    exactKey: isOne,
    matches: options.selection.matches,
    selected: options.selection.selected,
    form: form.name,
    encode,
    takeFirst: () => {
      const encodeFirst = first
      first = undefined
      return encodeFirst
    },
    deliveries: parts.cache.deliveries,
    maxQueuedBytes,
  }
  const kind = objectKindOf(resource)
  if (!kind.isConverted) return new Watcher(watcherOptions)
  return new ConvertedWatcher(watcherOptions, {
    prepare: (entries) => kind.prepare(entries.map((entry) => entry.heldObject())),
    failed: (error) => form.error(asStatusError(error).toStatus()),
  })
}

interface Delivery {
  readonly form: Form
  readonly options: ListOptions
  readonly parts: Parts
  readonly resource: Resource
  readonly asMessages: boolean
}

/**
 * Sends the watcher's frames, called by the watcher at the end of each turn. A delivery costs one write and no promise.
 * Frames that arrive during a delivery are sent together with the next, so the work shrinks when a server or client falls
 * behind. Calls `onEnd` at the end of the watch, `onFailure` when the peer is gone or a frame cannot be made.
 */
function pumpOf(
  sink: ResponseSink,
  watcher: Watcher,
  to: Delivery & { onEnd: () => void; onFailure: (error: unknown) => void },
): { pump: () => void; noteBookmark: () => void } {
  const { form, parts, resource, asMessages, onEnd, onFailure } = to
  let isSending = false
  let bookmarkDue = false
  const onSent = (): void => {
    isSending = false
    if (watcher.isIdle && !bookmarkDue) return
    pump()
  }
  const send = (frames: readonly Buffer[]): void => {
    if (!asMessages) {
      isSending = true
      sink.write(parts.cache.deliveries.joined(frames), onSent)
      return
    }
    // Over a WebSocket each frame is a message.
    let isTaken = true
    for (const frame of frames) isTaken = sink.write(frame.subarray(form.framePrefix))
    if (isTaken || sink.buffered <= maxBufferedBytes) return
    isSending = true
    sink.drained().then(onSent, onFailure)
  }
  /** Sends the next frames or bookmark; false when nothing is due or the watch is over. */
  const sendNext = (): boolean => {
    const frames = watcher.take()
    if (frames.length > 0) {
      parts.countWatchEvents(resource, frames)
      send(frames)
      return true
    }
    if (watcher.overflowed) {
      const error = expired('too slow to keep up with the watch; resume or list again')
      send([form.error(error.toStatus())])
      onEnd()
    } else if (watcher.hasEnded) {
      onEnd()
    } else if (bookmarkDue && !watcher.isBehind) {
      bookmarkDue = false
      send([form.bookmark(String(parts.cache.revision))])
      return true
    }
    return false
  }
  const pump = (): void => {
    try {
      while (!isSending && sendNext());
    } catch (error) {
      onFailure(error)
    }
  }
  return {
    pump,
    noteBookmark: () => {
      bookmarkDue = true
      watcher.wake()
    },
  }
}

/** Resolves when the watch ends: by its timeout, the server, the client or the watcher. */
async function deliver(sink: ResponseSink, watcher: Watcher, to: Delivery): Promise<void> {
  const { options, parts } = to
  if (sink.signal.aborted || !parts.openWatches.mayBegin) return
  const { promise: ended, resolve, reject: onFailure } = Promise.withResolvers<void>()
  const onEnd = (): void => resolve()
  const { pump, noteBookmark } = pumpOf(sink, watcher, { ...to, onEnd, onFailure })
  const timeoutMs =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds * 1000
      : // Whole seconds: the runtime keeps something for each duration that a timer ever had, until it is over.
        Math.floor((minTimeoutMs * (1 + parts.clock.random())) / 1000) * 1000
  const cancelTimeout = parts.clock.after(timeoutMs, onEnd)
  sink.signal.addEventListener('abort', onEnd, { once: true })
  const removeWatch = parts.openWatches.add(onEnd)
  let cancelBookmark = (): void => {}
  const plan = (): void => {
    cancelBookmark = parts.clock.after(bookmarkEveryMs, () => {
      noteBookmark()
      plan()
    })
  }
  if (options.allowWatchBookmarks) plan()
  try {
    watcher.follow(pump)
    await ended
  } finally {
    watcher.unfollow()
    cancelTimeout()
    cancelBookmark()
    sink.signal.removeEventListener('abort', onEnd)
    removeWatch()
  }
}

/** Has the filters wait for the start of the watch. Returns what ends their wait. */
function noteStart(context: RequestContext): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  context.started = promise
  return resolve
}

export const watchObjects: ResourceHandler = async (context, resource, parts): Promise<Answer> => {
  const options = listOptionsOf(resource, context.info.query, {
    dialect: parts.dialect,
    watch: true,
  })
  const form = wantedForm(context, resource, parts)
  const start = await startOf(options, parts)
  parts.registry.stored.refuseUnreadableWatch(resource)
  const collection = parts.cache.collection(resource)
  const watcher = watcherOf(resource, options, { context, form, parts })
  if (start.withInitial) {
    const snapshot = collection.snapshot(start.revision)
    if (objectKindOf(resource).isConverted) {
      const covered = [...snapshot.entries('')].filter(({ key }) => watcher.covers(key))
      await readyToShow(resource, covered)
    }
    watcher.initial(snapshot.entries(''))
    if (start.marksInitial && options.allowWatchBookmarks) {
      const mark = apiKey(parts.dialect, '', 'initial-events-end')
      watcher.push(form.bookmark(String(start.revision), { [mark]: 'true' }))
    }
  }
  if (watcher.isStarting) watcher.onStarted = noteStart(context)
  if (!collection.attach(watcher, start.revision)) {
    // An event, as upstream: some clients list again only for an ERROR event, not for an error answer.
    const error = tooOldVersion(start.revision, parts.cache.revision)
    watcher.push(form.error(error.toStatus()))
    watcher.end()
  }
  const detach = (): void => collection.detach(watcher)
  // For a client that is gone already, the body below never runs.
  if (context.http.signal.aborted) detach()
  context.http.signal.addEventListener('abort', detach, { once: true })
  context.lost?.addEventListener('abort', () => watcher.end(), { once: true })
  const asMessages = isWebSocketRequest(context.http)
  return {
    status: asMessages ? 101 : 200,
    headers: {
      'content-type': form.streamType ?? form.mediaType,
      'cache-control': 'no-cache, private',
    },
    body: async (sink) => {
      try {
        await deliver(sink, watcher, { form, options, parts, resource, asMessages })
      } finally {
        detach()
      }
    },
  }
}
