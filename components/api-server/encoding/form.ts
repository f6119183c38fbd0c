/** Form: how entries become bytes on the wire, alone, in a list and in a watch. The forms themselves are in `forms/`. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ObjectKind } from '../../machinery/objects/resource.ts'
import type { WatchEventType } from '../watch-cache/watcher.ts'

export interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

/** What a form looks at: an Entry, or an object that is nowhere stored. */
export interface Shown {
  readonly revision: number
  /** JSON with a newline at the end; kind and apiVersion stand first. */
  readonly bytes: Buffer
  /** The same, decoded; not to be changed. */
  object(): KubeObject
  /** The same, which stays this one: what is made of it is found by its identity. Default: as `object`. */
  heldObject?(): KubeObject
  /** The same for those who look once: not kept for the next one. Default: as `object`. */
  glance?(): KubeObject
  /** The bytes from `start`, where the metadata begins as a field, to its end; undefined where they have to be decoded. */
  metadataFrom?(start: number): Buffer | undefined
}

/** What is kept as bytes that a list can copy: an Entry. */
export interface Copied extends Shown {
  /** No less than `bytes` are. */
  readonly mostBytes: number
  /** Copies `bytes` from `skip` on, without the newline; returns the end in `target`. */
  copyTo(target: Buffer, offset: number, skip: number): number
}

/** A list whose items are kept bytes: they are copied into pieces of any size. */
export interface CopiedList {
  readonly head: Buffer
  readonly tail: Buffer
  /** What an item takes at most besides its bytes. */
  readonly mostAround: number
  /** Copies the next item and what separates it from the one before; returns the end in `target`. */
  copyNext(item: Copied, target: Buffer, offset: number): number
}

export interface Form {
  /** Forms of the same name encode alike, so watchers share their frames. */
  readonly name: string
  /** Content-Type of an answer. */
  readonly mediaType: string
  /** Content-Type of a watch; undefined if this form does not support watches. */
  readonly streamType: string | undefined
  /** A whole answer body. */
  one(shown: Shown): Buffer | Promise<Buffer>
  /** A list in pieces, which may be small: the sender joins them. Asynchronous where encoding takes long. */
  list(meta: ListMeta, items: readonly Shown[]): Iterable<Buffer> | AsyncIterable<Buffer>
  /** The same list for items that are copied, in forms that show the kept bytes. */
  copiedList?(meta: ListMeta): CopiedList
  frame(type: WatchEventType, shown: Shown): Buffer
  /** Bytes before a frame that only tell its length: transports with messages of their own leave them out. */
  readonly framePrefix: number
  /** The first frame of a watch, where it differs (Tables show their columns once). */
  firstFrame?(type: WatchEventType, shown: Shown): Buffer
  /** A frame that says how far the watch has come. */
  bookmark(resourceVersion: string, annotations?: Record<string, string>): Buffer
  /** A frame that ends the watch with a Status. */
  error(status: object): Buffer
}

/** An entry's object in the kind's version, for one look: not kept, and not to be changed. */
export function glanceIn(kind: ObjectKind, entry: Shown): KubeObject {
  return kind.fromStored(entry.glance?.() ?? entry.object())
}

/** An object that is nowhere stored, as forms look at it. */
export function shownObject(object: object): Shown {
  const { kind, apiVersion, ...rest } = object as KubeObject
  const ordered = { kind, apiVersion, ...rest } as KubeObject
  return {
    revision: 0,
    bytes: Buffer.from(`${JSON.stringify(ordered)}\n`),
    object: () => ordered,
  }
}
