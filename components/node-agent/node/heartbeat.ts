/** Heartbeat: the node's Lease, renewed every ten seconds; this alone keeps the node from being called unreachable. */
import type { Lease } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import { microTimestamp } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { OwnerReference } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'

const defaultLeaseDurationSeconds = 40

/** A lease is renewed four times while it holds (upstream's fraction of 0.25): every ten seconds by default. */
export function renewIntervalOf(leaseDurationSeconds = defaultLeaseDurationSeconds): number {
  return (leaseDurationSeconds * 1000) / 4
}

const retryBackoff = { initialMs: 200, maxMs: 7000 }

export interface HeartbeatOptions {
  readonly leases: ResourceClient<Lease>
  /** The namespace of node leases in the cluster's dialect. */
  readonly namespace: string
  readonly nodeName: string
  /** The Node object as the lease's owner, once it is registered. */
  readonly owner: () => OwnerReference | undefined
  readonly clock: Clock
  readonly log: Log
  /** Default 40. */
  readonly leaseDurationSeconds?: number
  /** When the first renewal is: agents in one process spread theirs. Default at once. */
  readonly firstDelayMs?: number | undefined
}

/** The lease as it is to be written now. Fields that others set stay. Pure. */
export function renewedLease(
  old: Lease | undefined,
  wanted: {
    namespace: string
    nodeName: string
    owner: OwnerReference | undefined
    apiVersion: string
    nowMs: number
    leaseDurationSeconds?: number | undefined
  },
): Lease {
  const { namespace, nodeName, owner, apiVersion, nowMs } = wanted
  const { leaseDurationSeconds = defaultLeaseDurationSeconds } = wanted
  const hasOwner = (old?.metadata.ownerReferences?.length ?? 0) > 0
  return {
    ...(old ?? { apiVersion, kind: 'Lease' }),
    metadata: {
      ...(old?.metadata ?? { name: nodeName, namespace }),
      ...(hasOwner || owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      ...old?.spec,
      holderIdentity: nodeName,
      leaseDurationSeconds,
      renewTime: microTimestamp(nowMs),
    },
  }
}

async function currentLease(
  { leases, namespace, nodeName }: HeartbeatOptions,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await leases.get({ namespace, name: nodeName }, { signal })
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Renews until the signal aborts. A failed renewal is tried again after 200 ms, 400 ms and so on up to 7 s. */
export async function runHeartbeat(options: HeartbeatOptions, signal: AbortSignal): Promise<void> {
  const { leases, clock, log, namespace, nodeName } = options
  const { resource } = leases
  const renewIntervalMs = renewIntervalOf(options.leaseDurationSeconds)
  let known: Lease | undefined

  const renew = async (): Promise<void> => {
    // A request that hangs must not cost more than one heartbeat.
    const limit = new AbortController()
    const cancel = clock.after(renewIntervalMs, () =>
      limit.abort(new Error('the server did not answer the renewal in time')),
    )
    const either = AbortSignal.any([signal, limit.signal])
    try {
      const old = known ?? (await currentLease(options, either))
      const next = renewedLease(old, {
        namespace,
        nodeName,
        owner: options.owner(),
        apiVersion: `${resource.group}/${resource.version}`,
        nowMs: clock.now(),
        leaseDurationSeconds: options.leaseDurationSeconds,
      })
      const write = { signal: either }
      known = await (old === undefined ? leases.create(next, write) : leases.update(next, write))
    } finally {
      cancel()
    }
  }

  if (options.firstDelayMs) await clock.sleep(options.firstDelayMs, signal)
  for (;;) {
    const startedMs = clock.now()
    for (let attempt = 0; ; attempt++) {
      try {
        await renew()
        if (attempt > 0) log.info('lease renewed again', { failures: attempt })
        break
      } catch (error) {
        signal.throwIfAborted()
        // The remembered lease may be outdated: the next try reads it.
        known = undefined
        const delay = backoffDelay(retryBackoff, attempt)
        log.warn('renewing the lease failed', { retryMs: delay, error: String(error) })
        await clock.sleep(delay, signal)
      }
    }
    // A clock that was set back meanwhile must not make the wait longer.
    const tookMs = Math.max(0, clock.now() - startedMs)
    await clock.sleep(Math.max(0, renewIntervalMs - tookMs), signal)
  }
}
