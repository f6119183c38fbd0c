/**
 * EtcdLeases: leases of etcd for keys that expire. Leases are costly, so that many keys share one (upstream: apiserver
 * pkg/storage/etcd3/lease_manager.go).
 */
import type { Clock } from '../../component-base/clock.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import type { Histogram } from '../../component-base/metrics.ts'
import type { EtcdClient } from './etcd-client.ts'
import { etcdMethod, writeLeaseGrant } from './etcd-messages.ts'

/** A key may live longer by this part of its time, or by the time for which a lease is used again. */
const longestShare = 0.05
const mostKeys = 1000

interface Lease {
  readonly id: number
  readonly endsAtMs: number
  keys: number
}

export interface EtcdLeasesOptions {
  readonly client: EtcdClient
  readonly clock: Clock
  /** How long a lease is used for new keys, at most. */
  readonly reuseMs: number
  /** How many keys each lease had. */
  readonly keyCounts?: Histogram | undefined
}

export class EtcdLeases {
  readonly #options: EtcdLeasesOptions
  #newest: Lease | undefined
  #granting: Promise<unknown> = Promise.resolve()

  constructor(options: EtcdLeasesOptions) {
    this.#options = options
  }

  /** The lease for one more key that is to live `lifeMs`: it ends then, or soon after. */
  async leaseFor(lifeMs: number): Promise<number> {
    const known = this.#take(lifeMs)
    if (known !== undefined) return known
    const granted = this.#granting.then(
      async () => this.#take(lifeMs) ?? (await this.#grant(lifeMs)),
    )
    this.#granting = granted.catch(() => {
      // The caller gets the error.
    })
    return await granted
  }

  /** etcd does not know the lease any more. */
  forget(id: number): void {
    if (this.#newest?.id === id) this.#newest = undefined
  }

  #moreMs(lifeMs: number): number {
    return Math.min(this.#options.reuseMs, lifeMs * longestShare)
  }

  #take(lifeMs: number): number | undefined {
    const lease = this.#newest
    if (lease === undefined || lease.keys >= mostKeys) return undefined
    const leftMs = lease.endsAtMs - this.#options.clock.elapsed()
    // The second for etcd, which counts whole ones.
    if (leftMs < lifeMs || leftMs > lifeMs + this.#moreMs(lifeMs) + 1000) return undefined
    lease.keys += 1
    return lease.id
  }

  async #grant(lifeMs: number): Promise<number> {
    const { client, clock, keyCounts } = this.#options
    const seconds = Math.ceil((lifeMs + this.#moreMs(lifeMs)) / 1000)
    const endsAtMs = clock.elapsed() + seconds * 1000
    // A number of our own: etcd's are beyond what a double holds.
    const id = 1 + Math.floor(clock.random() * 2 ** 52)
    await client
      .call(etcdMethod.leaseGrant, writeLeaseGrant(id, seconds), true)
      .catch(alreadyGranted)
    if (this.#newest !== undefined) keyCounts?.observe(this.#newest.keys)
    this.#newest = { id, endsAtMs, keys: 1 }
    return id
  }
}

/** The answer to the first attempt was lost. */
function alreadyGranted(error: unknown): void {
  if (!(error instanceof GrpcError) || error.code !== grpcCode.failedPrecondition) throw error
}

/** etcd rejected a txn because its lease has ended. */
export function isLeaseGone(error: unknown): boolean {
  return error instanceof GrpcError && error.code === grpcCode.notFound
}
