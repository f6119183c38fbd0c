/** EtcdRequests: reads and commits of a store's keys, one call of etcd each. */
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import { StoreError, type KeyValue } from '../store.ts'
import type { EtcdClient } from './etcd-client.ts'
import type { EtcdKeys } from './etcd-keys.ts'
import {
  etcdMethod,
  readRange,
  readTxn,
  writeRange,
  writeTxn,
  type RangeRequest,
  type RangeResponse,
  type TxnRequest,
  type TxnResponse,
} from './etcd-messages.ts'

/** Keys of a first page, whose sizes are not known yet, and of any. */
const firstKeys = 64
const mostKeys = 5000
/** A page that was too large is asked for again with so many times fewer keys. */
const shrink = 16
/** Later pages have about so many bytes. */
const pageBytes = 4 * 1024 * 1024

export interface PageOptions {
  readonly prefix: string
  readonly from?: string
  readonly limit: number
  readonly atRevision?: number
  /** Most keys of this page. */
  readonly pageKeys?: number
}

export interface Page {
  readonly kvs: readonly KeyValue[]
  readonly revision: number
  readonly more: boolean
  /** How many keys of this size make a page. */
  readonly nextKeys: number
}

export class EtcdRequests {
  readonly #client: EtcdClient
  readonly #keys: EtcdKeys

  constructor(client: EtcdClient, keys: EtcdKeys) {
    this.#client = client
    this.#keys = keys
  }

  /** The newest revision, linearizable. */
  async revision(): Promise<number> {
    const { key } = this.#keys.range('')
    return (await this.range({ key, isCountOnly: true })).revision
  }

  /** Whether this revision, which has been, is not compacted away. */
  async isReadable(revision: number): Promise<boolean> {
    const { key } = this.#keys.range('')
    const request = writeRange({ key, revision, isCountOnly: true })
    try {
      await this.#client.call(etcdMethod.range, request, true)
      return true
    } catch (error) {
      if (isOutOfRange(error)) return false
      throw error
    }
  }

  async get(key: string, atRevision?: number): Promise<KeyValue | undefined> {
    const request = { key: this.#keys.inEtcd(key), ...(atRevision && { revision: atRevision }) }
    const { kvs } = await this.range(request)
    return kvs[0] && this.#keys.keyValue(kvs[0])
  }

  /** Fewer keys than wanted where they are larger than those before. */
  async page(options: PageOptions): Promise<Page> {
    const { limit, pageKeys = firstKeys } = options
    for (let keys = Math.min(limit, pageKeys); ; keys = Math.ceil(keys / shrink)) {
      try {
        return await this.#pageOf(options, keys)
      } catch (error) {
        if (!isTooLarge(error) || keys <= 1) throw error
      }
    }
  }

  async #pageOf({ prefix, from, atRevision }: PageOptions, keys: number): Promise<Page> {
    const { kvs, revision, more } = await this.range({
      ...this.#keys.range(prefix, from),
      limit: keys,
      ...(atRevision === undefined ? {} : { revision: atRevision }),
    })
    const bytes = kvs.reduce((sum, { key, value }) => sum + key.length + value.length, 1)
    const nextKeys = Math.floor(pageBytes / (bytes / Math.max(1, kvs.length)))
    return {
      kvs: kvs.map((kv) => this.#keys.keyValue(kv)),
      revision,
      more,
      nextKeys: Math.min(mostKeys, Math.max(1, nextKeys)),
    }
  }

  /** Rejects with StoreError `compacted` and `future-revision`. */
  async range(request: RangeRequest): Promise<RangeResponse> {
    try {
      return readRange(await this.#client.call(etcdMethod.range, writeRange(request), true))
    } catch (error) {
      const { revision: asked = 0 } = request
      if (asked === 0 || !isOutOfRange(error)) throw error
      const newest = await this.revision()
      throw asked > newest ? futureRevision(asked, newest) : compactedBefore(asked)
    }
  }

  /** Rejects with OutcomeUnknownError when the connection is lost meanwhile. */
  async txn(request: TxnRequest): Promise<TxnResponse> {
    return readTxn(await this.#client.call(etcdMethod.txn, writeTxn(request), false))
  }
}

/** etcd's code for a revision that is compacted, or has not come yet. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcCode.outOfRange
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcCode.resourceExhausted
}

export function futureRevision(revision: number, newest: number): StoreError {
  return new StoreError('future-revision', `revision ${revision} is not there yet: ${newest} is`)
}

export function compactedBefore(revision: number): StoreError {
  return new StoreError('compacted', `revision ${revision} is compacted away`)
}
