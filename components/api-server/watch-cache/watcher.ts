/** Watcher: one client's view of a collection's commits, as frames in a bounded queue. A slow one is cut off, never waited for. */
import type { Deliveries } from './deliveries.ts'
import type { CacheEvent, Entry } from './entry.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Encodes an entry as one frame of the watch; called once per event, form and type. */
export type FrameEncoder = (type: WatchEventType, entry: Entry) => Buffer

/** The one value of a field that a watcher selects. */
export interface SelectedValue {
  readonly field: string
  readonly value: string
  /** The field's value in an entry; the same function of the entry for all watchers of the field. */
  readonly valueOf: (entry: Entry) => string
  /** Lists find their entries by it, too. */
  readonly isIndexed: boolean
}

export interface WatcherOptions {
  /** Keys outside are never looked at: `namespace/`, a whole key, or '' for all. */
  readonly keyPrefix: string
  /** The watch names one object; then `keyPrefix` is its whole key. */
  readonly exactKey: boolean
  /** Selectors, or undefined when every object matches. */
  readonly matches: ((entry: Entry) => boolean) | undefined
  /** A value that everything which matches has; it finds the watcher. */
  readonly selected?: SelectedValue | undefined
  /** Names the representation; equal names share encoded frames. */
  readonly form: string
  readonly encode: FrameEncoder
  /** The encoder of the very first frame, once, where it differs; those frames are not shared. */
  takeFirst(): FrameEncoder | undefined
  /** Shared by all watchers of a cache. */
  readonly deliveries: Deliveries
  /** Most bytes queued before the watcher is cut off. */
  readonly maxQueuedBytes: number
}

const none: readonly Buffer[] = Object.freeze([])
/** Most bytes taken at once: other watchers cannot use bytes in flight to a client that has stopped reading. */
const mostTaken = 256 * 1024

export class Watcher {
  readonly #options: WatcherOptions
  /** What this watcher's frames are called in an event, by type. */
  readonly #frameNames: Readonly<Record<WatchEventType, string>>
  /** Entries of the present state that are not encoded yet; they come before all frames but the first. */
  #initial: Iterator<Entry> | undefined
  #hasTaken = false
  #frames: readonly Buffer[] = none
  #queuedBytes = 0
  #overflowed = false
  #hasEnded = false
  #onReady: (() => void) | undefined
  /** Called once nothing of the present state is left to take. */
  onStarted: (() => void) | undefined
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

  /** True once the collection offers nothing more; queued events are still to be taken. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether there is nothing to take and nothing to tell. */
  get isIdle(): boolean {
    const hasNothing = this.#frames === none && this.#initial === undefined
    return hasNothing && !this.#overflowed && !this.#hasEnded
  }

  /** Bytes of frames that wait. */
  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Frames that wait, and events that have none yet; without the present state that is still to be taken. */
  get waitingEvents(): number {
    return this.#frames.length
  }

  /** Whether there are events that it was offered and has no frames of yet: no bookmark may be sent then. */
  get isBehind(): boolean {
    return false
  }

  /** Whether entries of the present state are still to be taken. */
  get isStarting(): boolean {
    return this.#initial !== undefined
  }

  get selected(): SelectedValue | undefined {
    return this.#options.selected
  }

  /** Whether a key is in this watcher's part of the collection. */
  covers(key: string): boolean {
    const { keyPrefix, exactKey } = this.#options
    return exactKey ? key === keyPrefix : key.startsWith(keyPrefix)
  }

  /**
   * Queues the matching entries of the present state as additions, before anything else is queued. They are encoded as they
   * are taken, so that a client which does not read costs no more than the entries.
   */
  initial(entries: Iterable<Entry>): void {
    const matching = this.#matching(entries)
    const first = matching.next()
    if (first.done === true) return
    const encode = this.#options.takeFirst() ?? this.#options.encode
    this.#append(encode('ADDED', first.value))
    this.#initial = matching
  }

  *#matching(entries: Iterable<Entry>): Generator<Entry, undefined> {
    const { matches } = this.#options
    for (const entry of entries) {
      if (this.covers(entry.key) && (matches === undefined || matches(entry))) yield entry
    }
  }

  /** Takes a commit: decides what it means for this watcher and queues the frame. */
  offer(event: CacheEvent): void {
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
    this.push(event.frame(this.#frameNames[type], () => this.#options.encode(type, shown)))
  }

  #append(frame: Buffer): void {
    this.#queuedBytes += frame.length
    if (this.#frames === none) this.#frames = [frame]
    else (this.#frames as Buffer[]).push(frame)
  }

  /** Queues a ready frame (bookmarks, errors). */
  push(frame: Buffer): void {
    if (this.#overflowed) return
    if (this.#queuedBytes + frame.length > this.#options.maxQueuedBytes) {
      this.cutOff()
      return
    }
    this.#append(frame)
    this.wake()
  }

  /** Drops the queue of a client that is too slow, and ends its watch with an error. */
  protected cutOff(): void {
    this.#overflowed = true
    if (this.#initial !== undefined) this.#noteStarted()
    this.#frames = none
    this.#queuedBytes = 0
    this.wake()
  }

  /** The oldest frames, about as many as fit one write; none when nothing waits. */
  take(): readonly Buffer[] {
    const frames = this.#frames
    if (this.#initial !== undefined) return this.#takeInitial(this.#initial)
    if (this.#queuedBytes <= mostTaken) {
      this.#frames = none
      this.#queuedBytes = 0
      return frames
    }
    let count = 0
    let bytes = 0
    for (const { length } of frames) {
      if (count > 0 && bytes + length > mostTaken) break
      bytes += length
      count += 1
    }
    this.#frames = count === frames.length ? none : frames.slice(count)
    this.#queuedBytes -= bytes
    return count === frames.length ? frames : frames.slice(0, count)
  }

  /** The first frame was encoded at once, and is the only one of the present state that is queued. */
  #takeInitial(initial: Iterator<Entry>): readonly Buffer[] {
    const taken: Buffer[] = []
    let bytes = 0
    if (!this.#hasTaken && this.#frames[0] !== undefined) {
      const [first, ...others] = this.#frames
      this.#frames = others.length === 0 ? none : others
      this.#queuedBytes -= first.length
      bytes += first.length
      taken.push(first)
    }
    this.#hasTaken = true
    while (bytes < mostTaken) {
      const next = initial.next()
      if (next.done === true) {
        this.#noteStarted()
        break
      }
      const frame = this.#options.encode('ADDED', next.value)
      bytes += frame.length
      taken.push(frame)
    }
    return taken.length === 0 ? this.take() : taken
  }

  #noteStarted(): void {
    this.#initial = undefined
    this.onStarted?.()
  }

  /**
   * From now on `onReady` is called when there is something to take, or the watcher overflowed or ended, or after `wake`:
   * once per turn, whatever came in it. It must not throw.
   */
  follow(onReady: () => void): void {
    this.#onReady = onReady
    this.wake()
  }

  /** Stops calling the follower. */
  unfollow(): void {
    this.#onReady = undefined
  }

  /** Has `onReady` called soon. */
  wake(): void {
    if (this.#isReady || this.#onReady === undefined) return
    this.#isReady = true
    this.#options.deliveries.add(this)
  }

  /** Calls `onReady`: the turn's delivery. */
  deliver(): void {
    this.#isReady = false
    this.#onReady?.()
  }

  /** The collection offers nothing more: queued events are delivered, then the watch is over. */
  end(): void {
    this.#hasEnded = true
    this.wake()
  }
}
