/** Watcher: one client's view of a collection's commits, as frames in a bounded queue. A slow one is cut off, never waited for. */
import type { CacheEvent, Entry } from './entry.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Encodes an entry as one frame of the watch; called once per event, form and type. */
export type FrameEncoder = (type: WatchEventType, entry: Entry) => Buffer

export interface WatcherOptions {
  /** Keys outside are never looked at: `namespace/`, a whole key, or '' for all. */
  readonly keyPrefix: string
  /** The watch names one object; then `keyPrefix` is its whole key. */
  readonly exactKey: boolean
  /** Selectors, or undefined when every object matches. */
  readonly matches: ((entry: Entry) => boolean) | undefined
  /** Names the representation; equal names share encoded frames. */
  readonly form: string
  readonly encode: FrameEncoder
  /** The encoder of the very first frame, once, where it differs; those frames are not shared. */
  takeFirst(): FrameEncoder | undefined
  /** Most bytes queued before the watcher is cut off. */
  readonly maxQueuedBytes: number
}

/** Watchers that have something to deliver in this turn of the event loop; one microtask delivers for all of them. */
let ready: Watcher[] = []

function deliverReady(): void {
  const watchers = ready
  ready = []
  for (const watcher of watchers) watcher.deliver()
}

const none: readonly Buffer[] = Object.freeze([])

export class Watcher {
  readonly #options: WatcherOptions
  /** What this watcher's frames are called in an event, by type. */
  readonly #frameNames: Readonly<Record<WatchEventType, string>>
  #frames: readonly Buffer[] = none
  #queuedBytes = 0
  #overflowed = false
  #hasEnded = false
  #revision = 0
  #onReady: (() => void) | undefined
  #isReady = false

  constructor(options: WatcherOptions) {
    this.#options = options
    const { form } = options
    this.#frameNames = {
      ADDED: `ADDED ${form}`,
      MODIFIED: `MODIFIED ${form}`,
      DELETED: `DELETED ${form}`,
    }
  }

  /** True once the client was too slow; the queue is gone and nothing more comes. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  /** True once the collection offers nothing more; what is queued is still to be taken. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether there is nothing to take and nothing to tell. */
  get isIdle(): boolean {
    return this.#frames === none && !this.#overflowed && !this.#hasEnded
  }

  /** Whether there are events that it was offered and has no frames of yet: no bookmark may be sent then. */
  get isBehind(): boolean {
    return false
  }

  /** The newest revision this watcher was offered: what a bookmark may say once the queue is empty. */
  get revision(): number {
    return this.#revision
  }

  /** Whether a key is in this watcher's part of the collection. */
  covers(key: string): boolean {
    const { keyPrefix, exactKey } = this.#options
    return exactKey ? key === keyPrefix : key.startsWith(keyPrefix)
  }

  /** Queues an entry of the present state as an addition, if it matches. Not bounded: it is the list the client asked for. */
  initial(entry: Entry): void {
    const { matches, encode, takeFirst } = this.#options
    if (!this.covers(entry.key) || (matches !== undefined && !matches(entry))) return
    const encodeOne = takeFirst() ?? encode
    this.#append(encodeOne('ADDED', entry))
  }

  /** Takes a commit: decides what it means for this watcher and queues the frame. */
  offer(event: CacheEvent): void {
    this.#revision = event.revision
    const { matches } = this.#options
    if (!this.covers(event.key)) return
    const isIn = event.entry !== undefined && (matches === undefined || matches(event.entry))
    const wasIn = event.previous !== undefined && (matches === undefined || matches(event.previous))
    if (isIn) this.#queue(event, wasIn ? 'MODIFIED' : 'ADDED')
    else if (wasIn) this.#queue(event, 'DELETED')
  }

  #queue(event: CacheEvent, type: WatchEventType): void {
    if (this.#overflowed) return
    // A deletion shows the last state at the deleting revision; leaving the selector shows the last matching one.
    const shown = type === 'DELETED' || event.entry === undefined ? event.lastSeen() : event.entry
    const encodeFirst = this.#options.takeFirst()
    if (encodeFirst !== undefined) {
      this.push(encodeFirst(type, shown))
      return
    }
    const name = this.#frameNames[type]
    let frame = event.frames.get(name)
    if (frame === undefined) {
      frame = this.#options.encode(type, shown)
      event.frames.set(name, frame)
    }
    this.push(frame)
  }

  #append(frame: Buffer): void {
    if (this.#frames === none) this.#frames = [frame]
    else (this.#frames as Buffer[]).push(frame)
  }

  /** Queues a ready frame (initial events, bookmarks). */
  push(frame: Buffer): void {
    if (this.#overflowed) return
    this.#queuedBytes += frame.length
    if (this.#queuedBytes > this.#options.maxQueuedBytes) {
      this.cutOff()
      return
    }
    this.#append(frame)
    this.wake()
  }

  /** Forgets what is queued: the client is too slow, and is told so. */
  protected cutOff(): void {
    this.#overflowed = true
    this.#frames = none
    this.wake()
  }

  /** Everything queued, and the queue is empty again. */
  take(): readonly Buffer[] {
    const frames = this.#frames
    this.#frames = none
    this.#queuedBytes = 0
    return frames
  }

  /**
   * From now on `onReady` is called when there is something to take, or the watcher overflowed or ended, or after `wake`:
   * once per turn, whatever came in it. It must not throw.
   */
  follow(onReady: () => void): void {
    this.#onReady = onReady
    this.wake()
  }

  /** Nobody is called any more. */
  unfollow(): void {
    this.#onReady = undefined
  }

  /** Has `onReady` called soon. */
  wake(): void {
    if (this.#isReady || this.#onReady === undefined) return
    this.#isReady = true
    if (ready.push(this) === 1) queueMicrotask(deliverReady)
  }

  /** Calls `onReady`: the turn's delivery. */
  deliver(): void {
    this.#isReady = false
    this.#onReady?.()
  }

  /** The collection offers nothing more: what is queued is delivered, then the watch is over. */
  end(): void {
    this.#hasEnded = true
    this.wake()
  }
}
