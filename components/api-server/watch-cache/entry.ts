/** Entry: one revision of one object, as bytes; decoded only when a reader needs its fields. */
import { nextTurn } from '../../component-base/next-turn.ts'
import { deepFreeze, type KubeObject } from '../../machinery/objects/object.ts'
import { metadataEnd, revisionEnd, revisionStart, withRevision } from './object-bytes.ts'
import { keptBytes } from './object-memory.ts'
import type { RecentBytes } from './recent-bytes.ts'
import { UndecodableError } from './unreadable.ts'

/** Of a revision: Number.MAX_SAFE_INTEGER has 16. */
const mostDigits = 16
const noLabels: Readonly<Record<string, string>> = Object.freeze({})

export class Entry {
  /** `namespace/name` or `name`. */
  readonly key: string
  readonly revision: number
  /** As stored; the same as `#bytes` once these are kept for good. */
  #source: Buffer
  #bytes: Buffer | undefined
  readonly #revisionStart: number
  #object: KubeObject | undefined
  /** Until its commit is delivered, all who look at it share one decoding. */
  #isNews = true
  /** Something knows the decoded object by its identity. */
  #isHeld = false
  #askedField: string | undefined
  #askedValue = ''
  /** Its bytes are known to be an object. False at first for what was read from the store at the start, not written since. */
  isProven = true
  /**
   * What is stored lies in a page of the store that many entries share and that stays whatever one of them does: its bytes are
   * made for each reader, and kept beside the page only as long as these say.
   */
  #page: RecentBytes | undefined

  /** Throws when the bytes have no place for the resourceVersion. They are the entry's from now on: not to be changed. */
  constructor(key: string, revision: number, storedBytes: Buffer) {
    this.key = key
    this.revision = revision
    this.#source = storedBytes
    this.#revisionStart = revisionStart(storedBytes)
  }

  /** JSON with the resourceVersion filled in and a newline at the end. Shared: never written to. */
  get bytes(): Buffer {
    if (this.#bytes !== undefined) return this.#bytes
    const bytes = this.#made()
    this.#bytes = bytes
    if (this.#page === undefined) this.#source = bytes
    else this.#page.note(this, bytes.length)
    return bytes
  }

  #made(): Buffer {
    return withRevision(this.#source, this.revision, this.#revisionStart)
  }

  /** Made from what is stored where no reader has asked for the bytes: many are only ever looked at. */
  #text(): string {
    if (this.#bytes !== undefined) return this.#bytes.toString()
    const [source, start] = [this.#source, this.#revisionStart]
    const rest = source.toString('utf8', revisionEnd(source, start))
    return `${source.toString('utf8', 0, start)}${this.revision}${rest}`
  }

  /**
   * The value of a field of the object, worked out once as long as the same field is asked for: by it, an event finds the watchers
   * of a node's pods, and lists find their objects, without another decoding.
   */
  fieldValue(field: string, valueOf: (object: KubeObject) => string): string {
    if (this.#askedField !== field) {
      this.#askedValue = valueOf(this.#isNews ? this.object() : this.glance())
      this.#askedField = field
    }
    return this.#askedValue
  }

  /**
   * The commit that made or replaced it has been delivered: what was decoded for that is forgotten, since it takes several times the
   * memory of the bytes. A later reader decodes it again, and keeps it.
   */
  settle(): void {
    if (!this.#isHeld) this.#object = undefined
    this.#isNews = false
  }

  /** It was read from a page of the store that stays; `recent` says how long bytes beside the page are kept. */
  lieIn(recent: RecentBytes): void {
    this.#page = recent
    this.settle()
  }

  /** Forgets the bytes beside the page; they are made again when they are asked for. */
  letGo(): void {
    this.#bytes = undefined
  }

  /** No less than `bytes` are. */
  get mostBytes(): number {
    return this.#source.length + mostDigits
  }

  /** About the memory that it takes when it is settled; what lies in a page that stays anyway is not its own. */
  get settledBytes(): number {
    const own = this.#page === undefined ? this.#source.length : 0
    return own + (this.#isHeld ? this.#source.length : 0)
  }

  /** Copies `bytes` from `skip` on, which is before the resourceVersion, without the newline; returns the end in `target`. */
  copyTo(target: Buffer, offset: number, skip: number): number {
    const source = this.#source
    const end = source.length - 1
    if (this.#bytes === source) return offset + source.copy(target, offset, skip, end)
    const start = this.#revisionStart
    let at = offset + source.copy(target, offset, skip, start)
    at += target.write(String(this.revision), at, 'latin1')
    return at + source.copy(target, at, revisionEnd(source, start), end)
  }

  /**
   * The bytes from `start`, which is before the resourceVersion, to the end of the metadata, without decoding the object.
   * Undefined for bytes that are not known to be an object.
   */
  metadataFrom(start: number): Buffer | undefined {
    if (!this.isProven) return undefined
    const [source, revisionAt] = [this.#source, this.#revisionStart]
    const rest = revisionEnd(source, revisionAt)
    const end = metadataEnd(source, rest)
    if (end === undefined) return undefined
    // Sent at once, so it need not lie where objects do.
    const memory = (length: number): Buffer => Buffer.allocUnsafe(length)
    return withRevision(source.subarray(start, end), this.revision, revisionAt - start, memory)
  }

  /** The object, frozen, decoded once. Throws UndecodableError when the bytes are not an object. */
  object(): KubeObject {
    if (this.#object === undefined) {
      this.#object = deepFreeze(this.isProven ? this.draft() : this.#provenDraft())
    }
    return this.#object
  }

  /** The same, which stays this one: what is made of it is found by its identity. */
  heldObject(): KubeObject {
    this.#isHeld = true
    return this.object()
  }

  /** Decodes a large object in two turns of the event loop, so that `object` has it at once. */
  async decoded(): Promise<void> {
    if (this.#object !== undefined) return
    const draft = this.isProven ? this.draft() : this.#provenDraft()
    await nextTurn()
    this.#object ??= deepFreeze(draft)
  }

  /** The object for one look: what is decoded already, else decoded and not kept. Not to be changed either. */
  glance(): KubeObject {
    return this.#object ?? (this.isProven ? this.draft() : this.#provenDraft())
  }

  /** Decodes the bytes unless they have been before; throws UndecodableError. */
  prove(): void {
    if (!this.isProven) this.#provenDraft()
  }

  #provenDraft(): KubeObject {
    let value: unknown
    try {
      value = JSON.parse(this.#text())
    } catch (error) {
      throw new UndecodableError(this.key, error)
    }
    const { metadata } = (value ?? {}) as Partial<KubeObject>
    if (typeof metadata !== 'object') throw new UndecodableError(this.key, undefined)
    this.isProven = true
    return value as KubeObject
  }

  /** A fresh copy that the caller may change. */
  draft(): KubeObject {
    return JSON.parse(this.#text()) as KubeObject
  }

  get labels(): Readonly<Record<string, string>> {
    return this.object().metadata.labels ?? noLabels
  }

  /** The same state as readers of its deletion see it: with the deleting commit's revision. */
  deletedAt(revision: number): Entry {
    return new Entry(this.key, revision, this.bytes)
  }
}

/** Looks into the entry's bytes, unless somebody has before. */
export function canDecode(entry: Entry): boolean {
  try {
    entry.prove()
    return true
  } catch (error) {
    if (error instanceof UndecodableError) return false
    throw error
  }
}

/** What an event takes besides bytes of objects: itself, the replaced entry, and their places in lists. */
const eventBytes = 600

/** One commit as a collection's history keeps it. Exactly one of `entry` and `previous` may be missing. */
export class CacheEvent {
  readonly revision: number
  /** The state after the commit; undefined for a deletion. */
  readonly entry: Entry | undefined
  readonly previous: Entry | undefined
  readonly appliedAtMs: number
  /** Called with what `bytes` grows by, while a history counts it. */
  onGrowth: ((bytes: number) => void) | undefined
  #bytes: number
  /** Encoded watch frames by form and type: made once, whatever the number of watchers. Most events are asked for one. */
  #firstName: string | undefined
  #firstFrame: Buffer | undefined
  #moreFrames: Map<string, Buffer> | undefined
  #last: Entry | undefined

  constructor(options: {
    revision: number
    entry: Entry | undefined
    previous: Entry | undefined
    appliedAtMs: number
  }) {
    this.revision = options.revision
    this.entry = options.entry
    this.previous = options.previous
    this.appliedAtMs = options.appliedAtMs
    this.#bytes = eventBytes + (this.previous?.settledBytes ?? 0)
  }

  /** About the memory that is free once the event is dropped. */
  get bytes(): number {
    return this.#bytes
  }

  /** The frame of that name (form and type), encoded by the first who asks for it. */
  frame(name: string, encode: () => Buffer): Buffer {
    const known = this.#firstName === name ? this.#firstFrame : this.#moreFrames?.get(name)
    if (known !== undefined) return known
    const frame = keptBytes(encode())
    if (this.#firstName === undefined) {
      this.#firstName = name
      this.#firstFrame = frame
    } else {
      this.#moreFrames ??= new Map()
      this.#moreFrames.set(name, frame)
    }
    this.#grow(frame.length)
    return frame
  }

  #grow(bytes: number): void {
    this.#bytes += bytes
    this.onGrowth?.(bytes)
  }

  get key(): string {
    return (this.entry ?? this.previous)?.key ?? ''
  }

  /** What a watcher that stops seeing the object is shown: its last matching state at this event's revision. */
  lastSeen(): Entry {
    if (this.#last === undefined) {
      if (this.previous === undefined) throw new Error('an addition has no last state')
      this.#last = this.previous.deletedAt(this.revision)
      this.#grow(this.#last.settledBytes)
    }
    return this.#last
  }
}
