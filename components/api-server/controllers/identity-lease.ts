/**
 * The server's identity lease, and the removal of those of servers that are gone (upstream: pkg/controlplane/apiserver/server.go,
 * component-helpers/apimachinery/lease, controlplane/controller/apiserverleasegc; KEP-1965).
 */
import { createHash } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Lease } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { identityComponent, identityLabel, isIdentityLease } from '../../api/server-identity.ts'
import { upkeepOf, microTimestamp, type Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { labelValue } from '../../machinery/validation/names.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { ensureObject, type OwnObject } from './ensure-object.ts'
import type { Reconcile } from './reconcile-own-objects.ts'

const renewMs = 10_000
const renewJitter = 0.04
const leaseSeconds = 3600
const collectMs = 3_600_000
const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

function inBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replaceAll(/.{1,5}/g, (five) => base32[Number.parseInt(five.padEnd(5, '0'), 2)] ?? '')
}

/** A text with its length in two bytes before it. */
function sized(text: string): Buffer {
  const bytes = Buffer.from(text)
  const size = Buffer.alloc(2)
  size.writeUInt16BE(bytes.length)
  return Buffer.concat([size, bytes])
}

/** Upstream's default, which tells no servers apart. */
const usualPort = 6443
/** Loopback addresses that a host has beside 127.0.0.1. */
const furtherLoopback = /^127\.(?!0\.0\.1$)/

/**
 * `apiserver-` and a hash of the host: the same after a restart. Servers that share a store may share a host: there the hash is of a
 * port other than 6443, too, and of a loopback address other than 127.0.0.1.
 */
export function serverIdentity(
  hostname: string,
  at: { readonly address: string; readonly port: number } = { address: '', port: usualPort },
): string {
  const own = [
    hostname,
    ...(furtherLoopback.test(at.address) ? [at.address] : []),
    ...(at.port === usualPort ? [] : [at.port]),
  ]
  const named = Buffer.concat([sized(own.join(':')), sized(identityComponent)])
  const hash = createHash('sha256').update(named).digest()
  return `apiserver-${inBase32(hash.subarray(0, 16))}`
}

/** Who the lease is for. */
export interface LeaseHolder {
  readonly dialect: Dialect
  /** The server's, and the name of the lease. */
  readonly identity: string
  readonly hostname: string
  readonly clock: Clock
}

/** A lease that exists keeps its holder: it is this server's own, from before a restart. */
const renew: Reconcile = (existing, wanted) => ({
  ...existing,
  metadata: {
    ...existing.metadata,
    labels: { ...existing.metadata.labels, ...wanted.metadata.labels },
  },
  spec: { ...existing['spec'], renewTime: (wanted as Lease).spec?.renewTime },
})

/** The lease, renewed now. The host's name is a label where it can be one. */
export function identityLease({
  dialect,
  identity: name,
  hostname,
  clock,
}: LeaseHolder): OwnObject {
  const { leases } = resourcesOf(dialect)
  const hostLabels =
    labelValue(hostname).length === 0 ? { [labelKey(dialect, '', 'hostname')]: hostname } : {}
  const object: KubeObject = {
    apiVersion: apiVersionOf(leases),
    kind: leases.kind,
    metadata: {
      name,
      namespace: dialect.systemNamespace,
      labels: { [identityLabel(dialect)]: identityComponent, ...hostLabels },
    },
    spec: {
      holderIdentity: `${name}_${clock.uuid()}`,
      leaseDurationSeconds: leaseSeconds,
      renewTime: microTimestamp(clock.now()),
    },
  }
  return { resource: leases, object, reconcile: renew }
}

/** Runs `work` at once if `atOnce`, and then after each period until `signal` aborts. */
async function repeat(
  { clock, periodMs, atOnce }: { clock: Clock; periodMs: () => number; atOnce: boolean },
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (atOnce) await work()
    for (;;) {
      await upkeepOf(clock).sleep(periodMs(), signal)
      await work()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

export interface IdentityLeaseOptions extends LeaseHolder {
  readonly client: LocalClient
  readonly log: Log
}

/** Renews the lease, which the start has made, until `signal` aborts. */
export async function keepIdentityLease(
  options: IdentityLeaseOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = options
  const periodMs = (): number => renewMs * (1 + clock.random() * renewJitter)
  const renewNow = async (): Promise<void> => {
    try {
      await ensureObject(client, identityLease(options))
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      log.warn('identity lease not renewed', { error })
    }
  }
  await repeat({ clock, periodMs, atOnce: false }, renewNow, signal)
}

/** A lease without its times was not made by a server. */
function isExpired({ spec }: Lease, nowMs: number): boolean {
  const { renewTime, leaseDurationSeconds } = spec ?? {}
  if (!renewTime || leaseDurationSeconds === undefined) return true
  return Date.parse(renewTime) + leaseDurationSeconds * 1000 < nowMs
}

/** Deletes expired identity leases every hour until `signal` aborts. */
export async function collectIdentityLeases(
  options: IdentityLeaseOptions & { readonly reader: ObjectReader },
  signal: AbortSignal,
): Promise<void> {
  const { client, reader, clock, log, dialect } = options
  const { leases } = resourcesOf(dialect)
  const namespace = dialect.systemNamespace
  let restedMs = clock.rested?.() ?? 0
  const collect = async (): Promise<void> => {
    const restedBeforeMs = restedMs
    restedMs = clock.rested?.() ?? 0
    // No server renewed while the cluster rested.
    const nowMs = clock.now() - (restedMs - restedBeforeMs)
    for (const lease of reader.list(leases, namespace) as readonly Lease[]) {
      if (!isIdentityLease(lease, dialect) || !isExpired(lease, nowMs)) continue
      try {
        await client.delete(leases, namespace, lease.metadata.name ?? '')
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        if (!isStatusError(error, 'NotFound')) log.warn('expired lease not deleted', { error })
      }
    }
  }
  await repeat({ clock, periodMs: () => collectMs, atOnce: true }, collect, signal)
}
