/** watch: initial events if requested, then every matching commit, until the client, the timeout or the server ends it. */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { objectKindOf } from '../../api/object-kind.ts'
import { apiKey } from '../../api/dialect.ts'
import type { OpenWatch } from '../../api/request-record.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { expired } from '../../machinery/objects/status-error.ts'
import type { Form } from '../encoding/form.ts'
import { listOptionsOf, parseRevision, type ListOptions } from '../codec/list-options.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import { FaultedWatch } from '../faults/faulted-watch.ts'
import { seenRequest } from '../faults/request-matcher.ts'
import { readyToShow } from '../registry/working-state.ts'
import { objectKey } from '../registry/object-key.ts'
import { asStatusError } from '../codec/respond.ts'
import { ConvertedWatcher } from '../watch-cache/converted-watcher.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import { Watcher, type FrameEncoder, type WatcherOptions } from '../watch-cache/watcher.ts'
import { candidatesOf, keyPrefixOf } from './candidates.ts'
import { freshEnough, tooOldVersion } from './get.ts'
import { isWebSocketRequest } from '../request/websocket-request.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { shownWatch } from './shown-watch.ts'
import { staleSnapshot } from './stale-snapshot.ts'
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
  cache: WatchCache,
): Promise<{ revision: number; withInitial: boolean; marksInitial: boolean }> {
  const { resourceVersion, sendInitialEvents } = options
  if (sendInitialEvents === true || resourceVersion === '' || resourceVersion === '0') {
    await freshEnough(cache, resourceVersion)
    return {
      revision: cache.revision,
      withInitial: sendInitialEvents !== false,
      marksInitial: sendInitialEvents === true,
    }
  }
  const revision = parseRevision(resourceVersion)
  await freshEnough(cache, resourceVersion)
  await cache.reach(revision)
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
  const prefix = keyPrefixOf(resource, info.namespace)
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
    deliveries: parts.cache.of(resource).deliveries,
    maxQueuedBytes,
  }
  const kind = objectKindOf(resource)
  if (!kind.isConverted) return new Watcher(watcherOptions)
  return new ConvertedWatcher(watcherOptions, {
    prepare: (entries) => kind.prepare(entries.map((entry) => entry.heldObject())),
    failed: (error) => form.error(asStatusError(error).toStatus()),
  })
}

/**
 * Frames that are no events: the end of the present state, and the error of a watch that cannot begin. Not kept for the watch: one of
 * a few bytes would keep the piece of memory that it shares with others.
 */
const sparedFrames = new WeakSet<Buffer>()

function spared(frame: Buffer): Buffer {
  sparedFrames.add(frame)
  return frame
}

interface Delivery {
  readonly form: Form
  readonly options: ListOptions
  readonly parts: Parts
  readonly cache: WatchCache
  readonly resource: Resource
  readonly context: RequestContext
  readonly asMessages: boolean
  /** Events sent. */
  sent: number
  /** Undefined while no fault of the lab touches its events. */
  faulted: FaultedWatch | undefined
}

function noteSent(to: Delivery, frames: readonly Buffer[]): void {
  to.parts.countWatchEvents(to.resource, frames)
  to.sent += frames.length
}

function faultedWatch({ parts, context }: Delivery, wake: () => void): FaultedWatch {
  const { faults, clock } = parts
  const request = seenRequest(context)
  return new FaultedWatch({ faults, request, clock, wake, mostBytes: maxQueuedBytes })
}

/** The next frames that faults let through; the present state always is. */
function takeFaulted(faulted: FaultedWatch, watcher: Watcher): readonly Buffer[] {
  faulted.look()
  for (;;) {
    const isInitial = watcher.isStarting
    const taken = watcher.take()
    const frames = faulted.pass(taken, (frame) => isInitial || sparedFrames.has(frame))
    // Of what was taken now, nothing may be left to send.
    if (frames.length > 0 || taken.length === 0) return frames
  }
}

/** The next frames of the watcher, as faults have them. */
function takeNext(watcher: Watcher, to: Delivery): readonly Buffer[] {
  const hasFaults = to.parts.faults.requests !== undefined
  if (!hasFaults && to.faulted?.isUntouched === true) to.faulted = undefined
  if (!hasFaults && to.faulted === undefined) return watcher.take()
  to.faulted ??= faultedWatch(to, () => watcher.wake())
  return takeFaulted(to.faulted, watcher)
}

/** Why the watch is over: the message of its error, or '' for none. Undefined while it goes on. */
function endOf(watcher: Watcher, faulted: FaultedWatch | undefined): string | undefined {
  if (faulted?.ending === 'expire') return 'a fault of the lab expired the watch; list again'
  if (faulted?.ending === 'end') return ''
  if (watcher.overflowed) return 'too slow to keep up with the watch; resume or list again'
  return watcher.hasEnded && faulted?.isHolding !== true ? '' : undefined
}

/** Writes each frame as a message; false when the peer has too much to read first. */
function wroteMessages(
  frames: readonly Buffer[],
  { sink, framePrefix }: { readonly sink: ResponseSink; readonly framePrefix: number },
): boolean {
  let isTaken = true
  for (const frame of frames) isTaken = sink.write(frame.subarray(framePrefix))
  return isTaken || sink.buffered <= maxBufferedBytes
}

interface PumpOptions {
  readonly to: Delivery
  readonly onEnd: () => void
  readonly onFailure: (error: unknown) => void
}

/**
 * Sends the watcher's frames, called by the watcher at the end of each turn. A delivery costs one write and no promise.
 * Frames that arrive during a delivery are sent together with the next, so the work shrinks when a server or client falls
 * behind. Calls `onEnd` at the end of the watch, `onFailure` when the peer is gone or a frame cannot be made.
 */
function pumpOf(
  sink: ResponseSink,
  watcher: Watcher,
  { to, onEnd, onFailure }: PumpOptions,
): { pump: () => void; noteBookmark: () => void; show: () => OpenWatch } {
  const { form, cache, asMessages } = to
  let isSending = false
  let isOver = false
  let bookmarkDue = false
  const onSent = (): void => {
    isSending = false
    if (watcher.isIdle && !bookmarkDue && to.faulted === undefined) return
    pump()
  }
  const send = (frames: readonly Buffer[]): void => {
    if (!asMessages) {
      isSending = true
      sink.write(cache.deliveries.joined(frames), onSent)
      return
    }
    // Over a WebSocket each frame is a message.
    if (wroteMessages(frames, { sink, framePrefix: form.framePrefix })) return
    isSending = true
    sink.drained().then(onSent, onFailure)
  }
  /** Sends the next frames or bookmark; false when nothing is due or the watch is over. */
  const sendNext = (): boolean => {
    const frames = takeNext(watcher, to)
    if (frames.length > 0) {
      noteSent(to, frames)
      send(frames)
      return true
    }
    const why = endOf(watcher, to.faulted)
    if (why !== undefined) {
      // A sink may take the error at once, and ask for more.
      isOver = true
      if (why !== '') send([form.error(expired(why).toStatus())])
      onEnd()
      return false
    }
    if (!bookmarkDue || watcher.isBehind || to.faulted?.isHolding === true) return false
    bookmarkDue = false
    if (to.faulted?.withholdsBookmark() === true) return to.faulted.ending !== undefined
    send([form.bookmark(String(cache.revision))])
    return true
  }
  const pump = (): void => {
    try {
      while (!isSending && !isOver && sendNext());
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
    show: () => shownWatch(to, sink, watcher),
  }
}

/** Calls back after this time, in which rests of the cluster do not count: else each long advance would begin all watches again. */
function untilTimeout(clock: Clock, timeoutMs: number, onTimeout: () => void): () => void {
  const restedMs = clock.rested?.() ?? 0
  let cancel = upkeepOf(clock).after(timeoutMs, () => {
    const leftMs = (clock.rested?.() ?? 0) - restedMs
    if (leftMs > 0) cancel = untilTimeout(clock, Math.min(leftMs, timeoutMs), onTimeout)
    else onTimeout()
  })
  return () => cancel()
}

/** Resolves when the watch ends: by its timeout, the server, the client or the watcher. */
async function deliver(sink: ResponseSink, watcher: Watcher, to: Delivery): Promise<void> {
  const { options, parts } = to
  if (sink.signal.aborted || !parts.openWatches.mayBegin) return
  const { promise: ended, resolve, reject: onFailure } = Promise.withResolvers<void>()
  const onEnd = (): void => resolve()
  const pumping = pumpOf(sink, watcher, { to, onEnd, onFailure })
  const timeoutMs =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds * 1000
      : // Whole seconds: the runtime keeps something for each duration that a timer ever had, until it is over.
        Math.floor((minTimeoutMs * (1 + parts.clock.random())) / 1000) * 1000
  const cancelTimeout = untilTimeout(parts.clock, timeoutMs, onEnd)
  sink.signal.addEventListener('abort', onEnd, { once: true })
  const removeWatch = parts.openWatches.add(onEnd, pumping)
  let cancelBookmark = (): void => {}
  const plan = (): void => {
    const dueMs = untilSharedMoment(parts.clock, bookmarkEveryMs)
    cancelBookmark = upkeepOf(parts.clock).after(dueMs, () => {
      pumping.noteBookmark()
      plan()
    })
  }
  if (options.allowWatchBookmarks) plan()
  try {
    watcher.follow(pumping.pump)
    await ended
  } finally {
    watcher.unfollow()
    to.faulted?.close()
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
  const cache = parts.cache.of(resource)
  const start = await startOf(options, cache)
  const stale = start.withInitial ? staleSnapshot(context, resource, parts) : undefined
  const revision = stale?.revision ?? start.revision
  parts.registry.stored.refuseUnreadableWatch(resource)
  const collection = cache.collection(resource)
  const watcher = watcherOf(resource, options, { context, form, parts })
  if (start.withInitial) {
    const snapshot = stale ?? collection.snapshot(start.revision)
    const { namespace, name } = context.info
    const { selection } = options
    const { selected } = selection
    const wanted = { namespace, name: name === '' ? selection.name : name, selected }
    if (objectKindOf(resource).isConverted)
      await readyToShow(resource, candidatesOf(snapshot, resource, wanted))
    watcher.initial(candidatesOf(snapshot, resource, wanted))
    if (start.marksInitial && options.allowWatchBookmarks) {
      const mark = apiKey(parts.dialect, '', 'initial-events-end')
      watcher.push(spared(form.bookmark(String(revision), { [mark]: 'true' })))
    }
  }
  if (watcher.isStarting) watcher.onStarted = noteStart(context)
  if (!collection.attach(watcher, revision)) {
    // An event, as upstream: some clients list again only for an ERROR event, not for an error answer.
    const error = tooOldVersion(revision, cache.revision)
    watcher.push(spared(form.error(error.toStatus())))
    watcher.end()
  }
  const { signal } = context.http
  const detach = (): void => {
    // Node.js keeps a signal that follows others for as long as it has a listener.
    signal.removeEventListener('abort', detach)
    collection.detach(watcher)
  }
  signal.addEventListener('abort', detach, { once: true })
  // For a client that is gone already, the body below never runs.
  if (signal.aborted) detach()
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
        const of = { form, options, parts, cache, resource, context }
        await deliver(sink, watcher, { ...of, asMessages, sent: 0, faulted: undefined })
      } finally {
        detach()
      }
    },
  }
}
