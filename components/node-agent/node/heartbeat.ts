/** Heartbeat: the node's Lease, renewed every ten seconds; this alone keeps the node from being called unreachable. */
import type { Lease } from '../../api/generated/types.ts'
import { timerCause, withCause } from '../../client/cause.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Gate } from '../../component-base/gate.ts'
import { microTimestamp } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { OwnerReference } from '../../machinery/objects/object.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { createTimeLimit } from './time-limit.ts'
import { untilNextTurn, untilTurn, type Turn } from './turn.ts'

const defaultLeaseDurationSeconds = 40

/** A lease is renewed four times while it holds (upstream's fraction of 0.25): every ten seconds by default. */
export function renewIntervalOf(leaseDurationSeconds = defaultLeaseDurationSeconds): number {
  return (leaseDurationSeconds * 1000) / 4
}

const heartbeatCause = timerCause('heartbeat')
const retryBackoff = { initialMs: 200, maxMs: 7000 }

/** Renewals pass one of them, and have their time from then on. Nodes that a fault keeps from answers do not keep the others waiting. */
export interface HeartbeatGates {
  /** Where the server answered the last renewal, or none was sent yet. */
  readonly answered: Gate
  readonly unanswered: Gate
}

export interface HeartbeatOptions {
  readonly leases: ResourceClient<Lease>
  /** The namespace of node leases in the cluster's dialect. */
  readonly namespace: string
  readonly nodeName: string
  /** The Node object as the lease's owner, once it is registered. */
  readonly owner: () => OwnerReference | undefined
  /** The Node is new: its lease is made without a look for one. Default false. */
  readonly isNew?: boolean
  readonly clock: Clock
  readonly log: Log
  /** Default 40. */
  readonly leaseDurationSeconds?: number
  /** When it renews; default at once, and from then on. */
  readonly turn?: Turn | undefined
  readonly gates: HeartbeatGates
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

function nextLease(options: HeartbeatOptions, old: Lease | undefined): Lease {
  const { leases, clock, namespace, nodeName, owner, leaseDurationSeconds } = options
  const { group, version } = leases.resource
  const apiVersion = `${group}/${version}`
  const nowMs = clock.now()
  const wanted = { namespace, nodeName, owner: owner(), apiVersion, nowMs, leaseDurationSeconds }
  return renewedLease(old, wanted)
}

/** Creates the lease of a new node; undefined if there is one: an earlier node of that name left it. */
async function createdLease(
  leases: ResourceClient<Lease>,
  lease: Lease,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await leases.create(lease, { signal })
  } catch (error) {
    if (isStatusError(error, 'AlreadyExists')) return undefined
    throw error
  }
}

/** Whether the answer says something about the lease, not about what the server has to do: then it is not asked for more. */
function isAboutLease(error: unknown): boolean {
  return error instanceof StatusError && error.code < 500 && error.code !== 429
}

/** Renews until the signal aborts. A failed renewal is tried again after 200 ms, 400 ms and so on up to 7 s. */
export async function runHeartbeat(options: HeartbeatOptions, signal: AbortSignal): Promise<void> {
  const { leases, clock, log, turn, gates } = options
  const renewIntervalMs = renewIntervalOf(options.leaseDurationSeconds)
  // A request that hangs must not cost more than one heartbeat.
  const limit = createTimeLimit(clock, signal, {
    ms: renewIntervalMs,
    reason: 'the server did not answer the renewal in time',
  })
  const next = (old: Lease | undefined): Lease => nextLease(options, old)
  let known: Lease | undefined
  let isNew = options.isNew === true
  let isAnswered = true

  const renew = async (until: AbortSignal): Promise<void> => {
    if (isNew) {
      isNew = false
      known = await createdLease(leases, next(undefined), until)
      if (known !== undefined) return
    }
    const old = known ?? (await currentLease(options, until))
    const write = { signal: until }
    known = await (old === undefined
      ? leases.create(next(undefined), write)
      : leases.update(next(old), write))
  }

  if (turn !== undefined)
    await upkeepOf(clock).sleep(untilTurn(turn, renewIntervalMs, clock.now()), signal)
  for (;;) {
    const startedMs = clock.now()
    for (let attempt = 0; ; attempt++) {
      try {
        const gate = isAnswered ? gates.answered : gates.unanswered
        await withCause(heartbeatCause, () => gate(() => limit.during(renew)))
        isAnswered = true
        if (attempt > 0) log.info('lease renewed again', { failures: attempt })
        break
      } catch (error) {
        signal.throwIfAborted()
        isAnswered = error instanceof StatusError
        // The remembered lease may be outdated: the next try reads it.
        if (isAboutLease(error)) known = undefined
        const delay = backoffDelay(retryBackoff, attempt)
        log.warn('renewing the lease failed', { retryMs: delay, error: String(error) })
        await upkeepOf(clock).sleep(delay, signal)
      }
    }
    // A clock that was set back meanwhile must not make the wait longer.
    const tookMs = Math.max(0, clock.now() - startedMs)
    const nextMs =
      turn === undefined ? renewIntervalMs : untilNextTurn(turn, renewIntervalMs, startedMs)
    await upkeepOf(clock).sleep(Math.max(0, nextMs - tookMs), signal)
  }
}
