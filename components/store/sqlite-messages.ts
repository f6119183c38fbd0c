/**
 * What the main thread asks of the thread that owns the SQLite file, and values packed for the way between them: many
 * values travel as one transferred buffer, which costs one copy of the bytes and nothing for each value.
 */
import type { StoreErrorCode } from './store.ts'

/** Values in order; a length of -1 means no value. */
export interface PackedValues {
  readonly lengths: Int32Array
  readonly bytes: ArrayBuffer
}

/** Commits of consecutive revisions. A deletion has create revision 0 and no value. */
export interface CommitRequest {
  readonly firstRevision: number
  readonly keys: readonly string[]
  readonly createRevisions: readonly number[]
  readonly values: PackedValues
  /** Revisions whose values the answer shall hold: what the commits replace and the main thread has no longer. */
  readonly replaced: readonly number[]
}

/** What another store held: the versions in revision order, none of them a deletion. */
export interface FillRequest {
  readonly revision: number
  readonly keys: readonly string[]
  readonly revisions: readonly number[]
  readonly createRevisions: readonly number[]
  readonly values: PackedValues
}

/** Stored versions in revision order. */
export interface StoredVersions {
  readonly revisions: readonly number[]
  readonly createRevisions: readonly number[]
  readonly keys: readonly string[]
  /** One for each; none for deletions. */
  readonly values: PackedValues
  /** No more follow. */
  readonly isEnd: boolean
}

/** Every request with its answer. They are answered in the order in which they are sent. */
export interface Calls {
  /** Fails with `cannot-open`. */
  open: {
    request: {
      path: string
      quotaBytes: number | undefined
      isSynced: boolean
      renames: ReadonlyMap<string, string> | undefined
    }
    answer: { compactedRevision: number }
  }
  /** The versions after a revision, as many as fit a message of bounded size. */
  load: { request: { afterRevision: number }; answer: StoredVersions }
  /** Fills an empty file; all or nothing, durable when answered. */
  fill: { request: FillRequest; answer: undefined }
  /** All or nothing, durable when answered. When there is no room, only deletions may use the reserve. */
  commit: { request: CommitRequest; answer: PackedValues }
  /** The values of at least the first of the revisions, and as many more as fit a message of bounded size. */
  read: { request: { revisions: readonly number[] }; answer: PackedValues }
  /** Remembers the compacted revision and drops versions, all or nothing. */
  compact: { request: { revision: number; dropped: readonly number[] }; answer: undefined }
  /** Whether values fit again after a commit that did not. */
  room: { request: undefined; answer: boolean }
  /** Reads back the next part of the file. Fails with `damaged` when it is not as it was written. */
  check: { request: undefined; answer: undefined }
  releaseMemory: { request: undefined; answer: undefined }
  close: { request: undefined; answer: undefined }
}

export type CallName = keyof Calls

export interface CallMessage {
  readonly name: CallName
  readonly request: Calls[CallName]['request']
}

export type AnswerMessage =
  | { readonly ok: true; readonly answer: Calls[CallName]['answer'] }
  | {
      readonly ok: false
      readonly code: StoreErrorCode
      readonly message: string
      readonly reason: string
    }

/** Copies values into one buffer of their own, which can be transferred. */
export function packValues(values: readonly (Uint8Array | undefined)[]): PackedValues {
  const lengths = Int32Array.from(values, (value) => value?.length ?? -1)
  let size = 0
  for (const value of values) size += value?.length ?? 0
  const packed = Buffer.allocUnsafeSlow(size)
  let offset = 0
  for (const value of values) {
    if (value === undefined) continue
    packed.set(value, offset)
    offset += value.length
  }
  return { lengths, bytes: packed.buffer }
}

/** Views of the values; they share and keep alive the one buffer. */
export function unpackValues(packed: PackedValues): (Buffer | undefined)[] {
  let offset = 0
  return Array.from(packed.lengths, (length) => {
    if (length < 0) return undefined
    const value = Buffer.from(packed.bytes, offset, length)
    offset += length
    return value
  })
}
