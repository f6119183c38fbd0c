/**
 * etcd-compaction: one of the servers that share an etcd drops its old history (upstream: apiserver pkg/storage/etcd3/compact.go,
 * whose key and protocol these are, so that kube-apiservers take turns with Skiff's).
 */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { EtcdRequests } from './etcd-requests.ts'

/** Its version counts the turns; its value is the revision of the last compaction. */
const turnKey = Buffer.from('compact_rev_key')

export interface EtcdCompaction {
  readonly requests: EtcdRequests
  readonly clock: Clock
  readonly log: Log
  /** History is kept for one to two of these. */
  readonly intervalMs: number
  compact(revision: number): Promise<void>
}

/** What this server knew at its last attempt. */
interface Turn {
  readonly version: number
  readonly revision: number
}

/** Works until `signal` aborts. An attempt that fails is made again after the interval. */
export async function compactByTurns(of: EtcdCompaction, signal: AbortSignal): Promise<void> {
  const { clock, log, intervalMs } = of
  let turn: Turn = { version: 0, revision: 0 }
  for (;;) {
    await backgroundOf(clock)
      .sleep(intervalMs, signal)
      .catch(() => {})
    if (signal.aborted) return
    try {
      turn = await takeTurn(of, turn)
    } catch (error) {
      log.warn('history could not be compacted', { error })
    }
  }
}

/** Compacts up to where etcd was an interval ago, unless another server has taken a turn since. */
async function takeTurn({ requests, compact }: EtcdCompaction, turn: Turn): Promise<Turn> {
  const { isSuccess, revision, kvs } = await requests.txn({
    compares: [{ key: turnKey, version: turn.version }],
    success: [{ type: 'put', key: turnKey, value: Buffer.from(String(turn.revision)) }],
    failure: [{ type: 'get', key: turnKey }],
  })
  if (!isSuccess) return { version: kvs[0]?.version ?? 0, revision }
  if (turn.revision > 0) await compact(turn.revision)
  return { version: turn.version + 1, revision }
}
