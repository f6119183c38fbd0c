/** commitTxn: compare and swap of one key in etcd. An outcome that was lost with the connection is looked up, never guessed. */
import type { Clock } from '../../component-base/clock.ts'
import { StoreError, type KeyValue, type Txn, type TxnResult } from '../store.ts'
import { OutcomeUnknownError } from './etcd-failures.ts'
import type { EtcdKeys } from './etcd-keys.ts'
import type { TxnOperation, TxnRequest } from './etcd-messages.ts'
import type { EtcdRequests } from './etcd-requests.ts'

interface Committer {
  readonly requests: EtcdRequests
  readonly keys: EtcdKeys
  readonly clock: Clock
  /** Lost commits are repeated for so long. */
  readonly timeoutMs: number
  /** The lease that the value is written with. */
  readonly lease?: number | undefined
}

/** How many values of a key are looked at for a lost one. */
const mostLookedAt = 16

export interface Committed {
  readonly result: TxnResult
  /** False for a txn that had nothing to change. */
  readonly hasCommitted: boolean
}

/** Rejects with StoreError `unavailable` when it cannot be known whether the commit was made; the message says so. */
export async function commitTxn(committer: Committer, txn: Txn): Promise<Committed> {
  const { requests, keys, clock, timeoutMs, lease } = committer
  const request = requestOf(keys.inEtcd(txn.key), txn, lease)
  const endMs = clock.elapsed() + timeoutMs
  let lost: OutcomeUnknownError | undefined
  for (;;) {
    try {
      const { isSuccess, revision, kvs, deleted } = await requests.txn(request)
      if (isSuccess) {
        return { result: { ok: true, revision }, hasCommitted: txn.value !== null || deleted > 0 }
      }
      const current = kvs[0] && keys.keyValue(kvs[0])
      // After a lost attempt, the value that lost the compare may be this txn's own.
      if (lost === undefined) return { result: lostCompare(current), hasCommitted: false }
    } catch (error) {
      if (!(error instanceof OutcomeUnknownError)) throw error
      lost = error
    }
    const result = await lookUp(requests, txn, lost)
    if (result !== undefined) return { result, hasCommitted: true }
    // etcd may still make the key, and again after somebody has deleted it: no later state refuses that.
    if (txn.expectedRevision === 0) throw unknown(txn, lost)
    if (clock.elapsed() > endMs) throw unknown(txn, lost)
  }
}

function requestOf(
  key: Buffer,
  { expectedRevision, value }: Txn,
  lease: number | undefined,
): TxnRequest {
  const write: TxnOperation =
    value === null ? { type: 'delete', key } : { type: 'put', key, value, lease }
  return {
    compares: [{ key, modRevision: expectedRevision }],
    success: [write],
    failure: [{ type: 'get', key }],
  }
}

function lostCompare(current: KeyValue | undefined): TxnResult {
  return current === undefined ? { ok: false } : { ok: false, current }
}

/**
 * What became of a txn, from the values that the key has had since. Undefined: nothing has changed the key, so that an update or
 * deletion may be repeated: its compare keeps it from being done twice.
 */
async function lookUp(
  requests: EtcdRequests,
  txn: Txn,
  lost: OutcomeUnknownError,
): Promise<TxnResult | undefined> {
  const { key, value, expectedRevision } = txn
  const current = await requests.get(key).catch((error: unknown) => {
    throw unknown(txn, error)
  })
  if ((current?.modRevision ?? 0) === expectedRevision) return undefined
  let at = current
  for (let looked = 0; looked < mostLookedAt; looked += 1) {
    // Without a value there is no trace of which commit deleted it.
    if (at === undefined || at.modRevision < expectedRevision) break
    if (at.modRevision === expectedRevision) return lostCompare(current)
    if (value?.equals(at.value) === true) return { ok: true, revision: at.modRevision }
    at = await requests.get(key, at.modRevision - 1).catch((error: unknown) => {
      throw unknown(txn, error)
    })
  }
  throw unknown(txn, lost)
}

function unknown({ key, value }: Txn, cause: unknown): StoreError {
  const what = value === null ? 'deleted' : 'written'
  return new StoreError(
    'unavailable',
    `the connection to etcd was lost, and it is not known whether ${JSON.stringify(key)} was ${what}: read it again`,
    { reason: 'the connection to etcd was lost; the change may have been made', cause },
  )
}
