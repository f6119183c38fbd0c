/**
 * Fills a store on etcd with what another held. etcd numbers commits itself, one by one, so that the keys get new revisions; a small
 * gap before them is filled with empty commits, and a large one is kept as a number that is added to etcd's revisions. A mark
 * beside the keys holds that number. Until the end it says that the store is being filled, so that one that was filled in part
 * never opens.
 */
import { loadable } from '../loadable.ts'
import { StoreError, type KeyValue } from '../store.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import type { EtcdKeys } from './etcd-keys.ts'
import type { EtcdRequests } from './etcd-requests.ts'

interface Target {
  readonly keys: EtcdKeys
  readonly requests: EtcdRequests
}

/** What the mark says of a store. */
export interface FillState {
  readonly isBeingFilled: boolean
  /** Is added to etcd's revisions. */
  readonly shift: number
}

const filling = Buffer.from('filling')
const shiftText = /^shift (\d+)$/
/** Commits that a gap may take: some seconds. A gap of another size is added to the revisions. */
const mostEmptyCommits = 100_000
const atOnce = 64

/** Of a store that nobody has filled: nothing is added. */
export async function fillStateOf({ requests, keys }: Target): Promise<FillState> {
  try {
    const { kvs } = await requests.range({ key: keys.fillMark })
    const value = kvs[0]?.value ?? Buffer.alloc(0)
    const shift = Number(shiftText.exec(value.toString())?.[1] ?? 0)
    return { isBeingFilled: value.equals(filling), shift }
  } catch (error) {
    // A user who may not read it cannot have filled the store.
    if (error instanceof GrpcError && error.code === grpcCode.permissionDenied)
      return { isBeingFilled: false, shift: 0 }
    throw error
  }
}

/** What a filled store has. */
export interface Filled {
  readonly shift: number
  /** etcd's revision then: all keys were written before, and the keys of other stores do not matter. */
  readonly revision: number
}

/** See Store.load; the keys are written in any order. Rejects with `not-empty`. */
export async function fillEtcd(
  target: Target,
  kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>,
  revision: number,
): Promise<Filled> {
  const all = await loadable(kvs, revision)
  const { keys, requests } = target
  const { shift: before } = await fillStateOf(target)
  const { revision: start, count } = await requests.range({ ...keys.range(''), isCountOnly: true })
  if (count > 0)
    throw new StoreError('not-empty', 'there are keys in etcd below this prefix already')
  const gap = revision - (start + before)
  const isSmall = gap <= mostEmptyCommits
  const shift = isSmall ? before : before + gap
  try {
    await mark(target, filling)
    // The mark was one commit.
    await inParallel(
      isSmall ? Math.max(0, gap - 1) : 0,
      async () => void (await mark(target, filling)),
    )
    await inParallel(all.length, async (at) => await putNew(target, all[at] as KeyValue))
    return { shift, revision: await mark(target, Buffer.from(`shift ${shift}`)) }
  } catch (error) {
    await discard(target, before).catch(() => {
      // The mark stays, and keeps the store from being opened.
    })
    throw error
  }
}

async function mark({ keys, requests }: Target, value: Buffer): Promise<number> {
  const put = { type: 'put', key: keys.fillMark, value } as const
  return (await requests.txn({ compares: [], success: [put], failure: [] })).revision
}

async function putNew({ keys, requests }: Target, { key: name, value }: KeyValue): Promise<void> {
  const key = keys.inEtcd(name)
  const compares = [{ key, modRevision: 0 }]
  const put = { type: 'put', key, value } as const
  const { isSuccess } = await requests.txn({ compares, success: [put], failure: [] })
  if (isSuccess) return
  throw new StoreError('not-empty', `another client has written the key ${name} to etcd meanwhile`)
}

/** Runs all, some of them at once. After a failure no more begin. */
async function inParallel(count: number, run: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  let hasFailed = false
  const worker = async (): Promise<void> => {
    while (next < count && !hasFailed) {
      const at = next
      next += 1
      try {
        await run(at)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  const workers = Array.from({ length: Math.min(atOnce, count) }, worker)
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** What was added to revisions before is added on: numbers that were handed out must not come again. */
async function discard({ keys, requests }: Target, shift: number): Promise<void> {
  const all = { type: 'delete', ...keys.range('') } as const
  const value = Buffer.from(`shift ${shift}`)
  const put = { type: 'put', key: keys.fillMark, value } as const
  await requests.txn({ compares: [], success: [all, put], failure: [] })
}
