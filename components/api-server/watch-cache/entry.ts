/** Entry: one revision of one object, as bytes; decoded only when somebody must look into it. */
import { deepFreeze, type KubeObject } from '../../machinery/object.ts'
import { withRevision } from './object-bytes.ts'

const noLabels: Readonly<Record<string, string>> = Object.freeze({})

export class Entry {
  /** `namespace/name` or `name`. */
  readonly key: string
  readonly revision: number
  /** JSON with the resourceVersion filled in and a newline at the end. Shared: never written to. */
  readonly bytes: Buffer
  #object: KubeObject | undefined

  constructor(key: string, revision: number, storedBytes: Buffer) {
    this.key = key
    this.revision = revision
    this.bytes = withRevision(storedBytes, revision)
  }

  /** The object, frozen, decoded once. */
  object(): KubeObject {
    this.#object ??= deepFreeze(JSON.parse(this.bytes.toString()) as KubeObject)
    return this.#object
  }

  /** A fresh copy that the caller may change. */
  draft(): KubeObject {
    return JSON.parse(this.bytes.toString()) as KubeObject
  }

  get labels(): Readonly<Record<string, string>> {
    return this.object().metadata.labels ?? noLabels
  }

  /** The same state as seen by whoever reads of its deletion: with the deleting commit's revision. */
  deletedAt(revision: number): Entry {
    return new Entry(this.key, revision, this.bytes)
  }
}

/** One commit as a collection's history keeps it. Exactly one of `entry` and `previous` may be missing. */
export class CacheEvent {
  readonly revision: number
  /** The state after the commit; undefined for a deletion. */
  readonly entry: Entry | undefined
  readonly previous: Entry | undefined
  readonly appliedAtMs: number
  /** Encoded watch frames by form and type: made once, whatever the number of watchers. */
  readonly frames = new Map<string, Buffer>()
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
  }

  get key(): string {
    return (this.entry ?? this.previous)?.key ?? ''
  }

  /** What a watcher that stops seeing the object is shown: its last matching state at this event's revision. */
  lastSeen(): Entry {
    if (this.#last === undefined) {
      if (this.previous === undefined) throw new Error('an addition has no last state')
      this.#last = this.previous.deletedAt(this.revision)
    }
    return this.#last
  }
}
