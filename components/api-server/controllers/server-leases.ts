/**
 * ServerLeases: which API servers on a store are alive, by a key that each renews (upstream: controlplane/reconcilers/lease.go, with
 * leases of etcd). A server is gone when its key has not changed for 15 s of the reader's own clock, so that clocks need not agree.
 */
import type { Clock } from '../../component-base/clock.ts'
import type { KeyValue, Store } from '../../store/store.ts'
import { readServerObject, writeServerObject } from '../watch-cache/server-object.ts'
import { storeRoot } from '../watch-cache/store-keys.ts'

/** Where clients reach a server. */
export interface ServerEndpoint {
  readonly address: string
  readonly port: number
}

/** Which servers are alive, this one among them from its renewal until its release. */
export interface LiveServers {
  renew(): Promise<void>
  live(): Promise<readonly ServerEndpoint[]>
  release(): Promise<void>
}

const ttlMs = 15_000
const prefix = `${storeRoot}masterleases/`

/** In a shared store, etcd deletes the key of a server that ended while no other server ran. */
const expiresAfterMs = ttlMs

/** Servers of one machine may have one address and several ports. A kube-apiserver's key has no port. */
function keyOf({ address, port }: ServerEndpoint): string {
  return `${prefix}${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** As upstream's servers have them, which write no port: all have the same there. */
interface StoredLease {
  readonly metadata: { readonly generation: number }
  readonly subsets: readonly {
    readonly addresses: readonly { readonly ip: string }[]
    readonly ports?: readonly { readonly port: number }[]
  }[]
}

function leaseOf({ address, port }: ServerEndpoint, generation: number): StoredLease {
  return {
    metadata: { generation },
    subsets: [{ addresses: [{ ip: address }], ports: [{ port }] }],
  }
}

/** Undefined for what no server has written. */
function endpointOf(value: Buffer, ownPort: number): ServerEndpoint | undefined {
  const lease = readServerObject('Endpoints', value) as Partial<StoredLease> | undefined
  const [subset] = lease?.subsets ?? []
  const address = subset?.addresses?.[0]?.ip
  if (typeof address !== 'string') return undefined
  return { address, port: subset?.ports?.[0]?.port ?? ownPort }
}

function compare(one: ServerEndpoint, other: ServerEndpoint): number {
  if (one.address === other.address) return one.port - other.port
  return one.address < other.address ? -1 : 1
}

interface Seen {
  readonly revision: number
  readonly atMs: number
}

export class ServerLeases implements LiveServers {
  readonly #store: Store
  readonly #clock: Clock
  readonly #own: ServerEndpoint
  /** When each key was first seen as it is now. */
  #seen = new Map<string, Seen>()
  #revision = 0
  #renewals = 0

  constructor(options: { store: Store; clock: Clock; own: ServerEndpoint }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#own = options.own
  }

  async renew(): Promise<void> {
    const key = keyOf(this.#own)
    this.#renewals += 1
    const value = (): Buffer => writeServerObject('Endpoints', leaseOf(this.#own, this.#renewals))
    for (;;) {
      const expectedRevision = this.#revision
      const result = await this.#store.txn({
        key,
        expectedRevision,
        value: value(),
        expiresAfterMs,
      })
      if (result.ok) {
        this.#revision = result.revision
        return
      }
      // From before a restart, or another server took this one for dead.
      this.#revision = result.current?.modRevision ?? 0
    }
  }

  /** The servers that are alive, in order. Removes the keys of those that are gone. */
  async live(): Promise<readonly ServerEndpoint[]> {
    const { kvs } = await this.#store.range({ prefix })
    const nowMs = this.#clock.elapsed()
    const seen = new Map<string, Seen>()
    const live: ServerEndpoint[] = []
    const gone: KeyValue[] = []
    for (const kv of kvs) {
      const { key, modRevision: revision } = kv
      const before = this.#seen.get(key)
      const since = before?.revision === revision ? before : { revision, atMs: nowMs }
      seen.set(key, since)
      const endpoint = endpointOf(kv.value, this.#own.port)
      const isOwn = key === keyOf(this.#own)
      if (endpoint === undefined) continue
      if (!isOwn && nowMs - since.atMs >= ttlMs) gone.push(kv)
      else live.push(endpoint)
    }
    this.#seen = seen
    for (const { key, modRevision } of gone) {
      // A lost compare means that it lives again.
      await this.#store.txn({ key, expectedRevision: modRevision, value: null })
    }
    return live.toSorted(compare)
  }

  /** The server ends: it is gone at once. */
  async release(): Promise<void> {
    const revision = this.#revision
    if (revision === 0) return
    this.#revision = 0
    await this.#store.txn({ key: keyOf(this.#own), expectedRevision: revision, value: null })
  }
}
