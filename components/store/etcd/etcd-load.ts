/**
 * Fills a store on etcd with what another held, by making its commits again in their order: etcd gives out revisions one by
 * one. A mark beside the keys is written first and cleared last, so that a store that was filled in part never opens.
 */
import { loadable } from '../loadable.ts'
import { StoreError, type KeyValue } from '../store.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import type { EtcdKeys } from './etcd-keys.ts'
import type { TxnOperation } from './etcd-messages.ts'
import type { EtcdRequests } from './etcd-requests.ts'

interface Target {
  readonly keys: EtcdKeys
  readonly requests: EtcdRequests
}

const filling = Buffer.from('filling')
const filled = Buffer.from('filled')

/** A store was filled only in part, or is being filled now. */
export async function isBeingFilled(requests: EtcdRequests, keys: EtcdKeys): Promise<boolean> {
  try {
    const { kvs } = await requests.range({ key: keys.fillMark })
    return kvs[0]?.value.equals(filling) === true
  } catch (error) {
    // A user who may not read it cannot have filled the store.
    if (error instanceof GrpcError && error.code === grpcCode.permissionDenied) return false
    throw error
  }
}

/** See Store.load. It takes a round trip for each revision. Rejects with `not-empty`, also when etcd is past the revisions. */
export async function fillEtcd(
  target: Target,
  kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>,
  revision: number,
): Promise<void> {
  const all = await loadable(kvs, revision)
  const { keys, requests } = target
  const { revision: start, count } = await requests.range({ ...keys.range(''), isCountOnly: true })
  const first = all.reduce(
    (least, { createRevision }) => Math.min(least, createRevision),
    revision + 1,
  )
  if (count > 0)
    throw new StoreError('not-empty', 'there are keys in etcd below this prefix already')
  if (start >= first || start > revision) {
    throw new StoreError(
      'not-empty',
      `etcd is at revision ${start}, and what is to be loaded begins at ${first}: use a new etcd`,
    )
  }
  try {
    await replay(target, commitsOf(all, keys), { start, revision })
  } catch (error) {
    await discard(target).catch(() => {
      // The mark stays, and keeps the store from being opened.
    })
    throw error
  }
}

/** What each revision writes. A key that was changed is created first, with its newest value. */
function commitsOf(all: readonly KeyValue[], keys: EtcdKeys): ReadonlyMap<number, TxnOperation[]> {
  const commits = new Map<number, TxnOperation[]>()
  for (const { key, value, createRevision, modRevision } of all) {
    const put = { type: 'put', key: keys.inEtcd(key), value } as const
    for (const at of new Set([createRevision, modRevision])) {
      commits.set(at, [...(commits.get(at) ?? []), put])
    }
  }
  return commits
}

async function replay(
  { keys, requests }: Target,
  commits: ReadonlyMap<number, TxnOperation[]>,
  { start, revision }: { start: number; revision: number },
): Promise<void> {
  for (let at = start + 1; at <= revision; at += 1) {
    const value = at === revision ? filled : filling
    const mark = { type: 'put', key: keys.fillMark, value } as const
    const success = [mark, ...(commits.get(at) ?? [])]
    const done = await requests.txn({ compares: [], success, failure: [] })
    if (done.revision !== at) {
      throw new StoreError(
        'unavailable',
        'another client writes to this etcd: stop it before you load a saved cluster',
      )
    }
  }
}

async function discard({ keys, requests }: Target): Promise<void> {
  const all = { type: 'delete', ...keys.range('') } as const
  const mark = { type: 'delete', key: keys.fillMark } as const
  await requests.txn({ compares: [], success: [all, mark], failure: [] })
}
