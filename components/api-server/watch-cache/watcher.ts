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

export class Watcher {
  readonly #options: WatcherOptions
  #frames: Buffer[] = []
  #queuedBytes = 0
  #overflowed = false
  #revision = 0
  #wake: (() => void) | undefined

  constructor(options: WatcherOptions) {
    this.#options = options
  }

  /** True once the client was too slow; the queue is gone and nothing more comes. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  /** The newest revision this watcher was offered: what a bookmark may say once the queue is empty. */
  get revision(): number {
    return this.#revision
  }

  /** Whether a key is in this watcher's part of the collection. */
  #covers(key: string): boolean {
    const { keyPrefix, exactKey } = this.#options
    return exactKey ? key === keyPrefix : key.startsWith(keyPrefix)
  }

  /** Queues an entry of the present state as an addition, if it matches. Not bounded: it is the list the client asked for. */
  initial(entry: Entry): void {
    const { matches, encode, takeFirst } = this.#options
    if (!this.#covers(entry.key) || (matches !== undefined && !matches(entry))) return
    const encodeOne = takeFirst() ?? encode
    this.#frames.push(encodeOne('ADDED', entry))
  }

  /** Takes a commit: decides what it means for this watcher and queues the frame. */
  offer(event: CacheEvent): void {
    this.#revision = event.revision
    const { matches } = this.#options
    if (!this.#covers(event.key)) return
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
    const name = `${type} ${this.#options.form}`
    let frame = event.frames.get(name)
    if (frame === undefined) {
      frame = this.#options.encode(type, shown)
      event.frames.set(name, frame)
    }
    this.push(frame)
  }

  /** Queues a ready frame (initial events, bookmarks). */
  push(frame: Buffer): void {
    if (this.#overflowed) return
    this.#queuedBytes += frame.length
    if (this.#queuedBytes > this.#options.maxQueuedBytes) {
      this.#overflowed = true
      this.#frames = []
    } else {
      this.#frames.push(frame)
    }
    this.#wake?.()
  }

  /** Everything queued, and the queue is empty again. */
  take(): Buffer[] {
    const frames = this.#frames
    this.#frames = []
    this.#queuedBytes = 0
    return frames
  }

  /** Resolves when there is something to take or the watcher overflowed; or when `wake` is called. */
  async wait(): Promise<void> {
    if (this.#frames.length > 0 || this.#overflowed) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = undefined
  }

  /** Ends a pending wait without a frame. */
  wake(): void {
    this.#wake?.()
  }
}
