/** Queued transactions, and which of them the store flushes together. */
import { existing, type Version } from './revision-index.ts'
import type { StoreError, Txn, TxnResult } from './store.ts'

/** Bounds of one flush: what waits longer than the flush itself gains nothing by company. */
const maxBatchTxns = 1024
const maxBatchBytes = 8_000_000

/** A txn that resolves when everything queued before it, and its own commit if it makes one, is durable. */
export interface QueuedTxn {
  readonly request: Txn
  readonly version?: Version
  /** The bytes that the commit replaces, when they are in memory. */
  readonly replaced?: Buffer | undefined
  readonly result: () => TxnResult
  readonly resolve: (result: TxnResult) => void
  readonly reject: (error: StoreError) => void
}

/** Takes the oldest, as many as share a flush. */
export function takeBatch(queue: QueuedTxn[], maxTxns: number): QueuedTxn[] {
  let bytes = 0
  let count = 0
  while (count < queue.length && count < Math.min(maxTxns, maxBatchTxns) && bytes < maxBatchBytes)
    bytes += queue[count++]?.version?.value?.length ?? 0
  return queue.splice(0, count)
}

type QueuedCommit = QueuedTxn & { readonly version: Version }

export function isCommit(txn: QueuedTxn): txn is QueuedCommit {
  return txn.version !== undefined
}

/** The commit replaces a value that is not in memory. */
export function isReplacedUnknown({ version, replaced }: QueuedCommit): boolean {
  return replaced === undefined && existing(version.previous) !== undefined
}
