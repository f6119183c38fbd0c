/**
 * LeaderElector: of several processes one leads at a time, by holding a Lease (model: client-go leaderelection). A leader that
 * ends cleanly gives the lease back once its work has stopped, as upstream's scheduler does (ReleaseOnCancel).
 */
import { hostname } from 'node:os'
import { microTimestamp } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { ResourceClient } from './resource-client.ts'

export interface LeaderElectorOptions {
  /** Of the Lease resource. */
  readonly leases: Pick<ResourceClient, 'get' | 'create' | 'update'>
  readonly namespace: string
  readonly name: string
  /** Of this process: `electionIdentity`. */
  readonly identity: string
  readonly clock: Clock
  readonly log: Log
  /** Others may take the lease over this long after the last renewal they saw; default 15 s. */
  readonly leaseDurationMs?: number
  /** The leader gives up when it could not renew for this long; default 10 s. */
  readonly renewDeadlineMs?: number
  /** Time between tries; default 2 s. */
  readonly retryPeriodMs?: number
  /** Told, as an event about the Lease, that this process leads (upstream: resourcelock RecordEvent). */
  readonly recorder?: Pick<EventRecorder, 'record'>
}

/**
 * The identity of a new process, unlike that of every other, on this host too, unless it is given a part of it. A process
 * that restarts is another one: it waits until the lease was given back or ran out, and its takeover counts in
 * `leaseTransitions`.
 */
export function electionIdentity(clock: Clock, part?: string): string {
  return `${hostname()}_${part ?? clock.uuid()}`
}

/** What is in a Lease's spec. */
export interface LeaseRecord {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

/** The record to write when this process takes or renews the lease; undefined when another holds it validly. */
export function nextRecord(
  current: LeaseRecord | undefined,
  facts: {
    readonly identity: string
    readonly nowMs: number
    /** When this process saw the record change last, by its own clock: never the record's own time. */
    readonly observedAtMs: number
    readonly leaseDurationMs: number
  },
): LeaseRecord | undefined {
  const { identity, nowMs, observedAtMs, leaseDurationMs } = facts
  const holder = current?.holderIdentity ?? ''
  const isOwn = holder === identity
  const heldForMs = (current?.leaseDurationSeconds ?? leaseDurationMs / 1000) * 1000
  if (holder !== '' && !isOwn && observedAtMs + heldForMs > nowMs) return undefined
  const now = microTimestamp(nowMs)
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.round(leaseDurationMs / 1000)),
    acquireTime: isOwn ? (current?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (current?.leaseTransitions ?? 0) + (isOwn || current === undefined ? 0 : 1),
  }
}

/** Leadership was lost while `lead` ran: the process must not go on as if it led. */
export class LeadershipLostError extends Error {
  constructor(name: string) {
    super(`leadership of ${name} was lost`)
    this.name = 'LeadershipLostError'
  }
}

/**
 * Waits for the lease, then runs `lead`, whose signal aborts when `signal` does or the lease is lost. Returns when `signal`
 * aborted or `lead` returned, after giving the lease back; rejects with LeadershipLostError when it was lost, or with what
 * `lead` rejects with.
 */
export async function runLeaderElection(
  options: LeaderElectorOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { leases, namespace, name, identity, clock, recorder } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 } = options
  const log = options.log.with({ lease: `${namespace}/${name}`, identity })
  let lease: KubeObject | undefined
  let seen = ''
  let observedAtMs = 0
  let leader = ''

  const observe = (found: KubeObject): void => {
    lease = found
    const record = JSON.stringify(found['spec'] ?? {})
    // A clock that was set back must not make the record look new for that long.
    if (record !== seen || clock.now() < observedAtMs) {
      seen = record
      observedAtMs = clock.now()
    }
    const holder = (found['spec'] as LeaseRecord | undefined)?.holderIdentity ?? ''
    if (holder !== leader) {
      leader = holder
      if (holder !== '') log.info('new leader', { leader: holder })
    }
  }
  const tryToHold = async (deadline: AbortSignal): Promise<boolean> => {
    if (lease === undefined || leader !== identity) {
      try {
        observe(await leases.get({ namespace, name }, { signal: deadline }))
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
        lease = undefined
      }
    }
    const current = lease?.['spec'] as LeaseRecord | undefined
    const spec = nextRecord(current, {
      identity,
      nowMs: clock.now(),
      observedAtMs,
      leaseDurationMs,
    })
    if (spec === undefined) return false
    try {
      const metadata = lease?.metadata ?? { namespace, name }
      const options = { signal: deadline }
      const written =
        lease === undefined
          ? await leases.create({ metadata, spec }, options)
          : await leases.update({ ...lease, spec }, options)
      observe(written)
      return true
    } catch (error) {
      // The next try reads what is there now.
      lease = undefined
      throw error
    }
  }
  /** Runs a request that is given up after that time. */
  const inTime = async <T>(
    limitMs: number,
    request: (deadline: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const deadline = new AbortController()
    const cancel = clock.after(limitMs, () => deadline.abort(new Error('no answer in time')))
    try {
      return await request(deadline.signal)
    } finally {
      cancel()
    }
  }
  const attempt = async (limitMs = renewDeadlineMs): Promise<boolean> => {
    try {
      return await inTime(limitMs, (deadline) => tryToHold(AbortSignal.any([signal, deadline])))
    } catch (error) {
      signal.throwIfAborted()
      if (!isStatusError(error, 'Conflict', 'AlreadyExists'))
        log.warn('cannot reach the lease; trying again', { why: messageOf(error) })
      return false
    }
  }
  /** How long a renewal that was answered now holds: others count from when it was written, at the earliest when it was sent. */
  const heldUntil = (sentAtMs: number): number =>
    Math.min(clock.now() + renewDeadlineMs, sentAtMs + leaseDurationMs)
  const release = async (): Promise<void> => {
    if (leader !== identity) return
    try {
      await inTime(renewDeadlineMs, async (deadline) => {
        const options = { signal: deadline }
        // A renewal that was cut off may have been written or not.
        const found = lease ?? (await leases.get({ namespace, name }, options))
        const record = found['spec'] as LeaseRecord | undefined
        if (record?.holderIdentity !== identity) return
        const now = microTimestamp(clock.now())
        const spec = {
          ...record,
          holderIdentity: '',
          leaseDurationSeconds: 1,
          renewTime: now,
          acquireTime: now,
        }
        await leases.update({ ...found, spec }, options)
        log.info('lease given back')
      })
    } catch (error) {
      log.info('lease not given back; it will run out', { why: messageOf(error) })
    }
  }

  let sentAtMs = clock.now()
  try {
    while (!(await attempt())) {
      await clock.sleep(retryPeriodMs * (1 + 1.2 * clock.random()), signal)
      sentAtMs = clock.now()
    }
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  log.info('leading')
  if (lease !== undefined) {
    const message = `${identity} became leader`
    recorder?.record(lease, { type: 'Normal', reason: 'LeaderElection', message })
  }

  const stop = new AbortController()
  const leading = AbortSignal.any([signal, stop.signal])
  const renew = async (): Promise<void> => {
    let leadsUntilMs = heldUntil(sentAtMs)
    while (!leading.aborted) {
      await clock.sleep(retryPeriodMs, leading)
      sentAtMs = clock.now()
      // A clock that was set back prolongs nothing.
      leadsUntilMs = Math.min(leadsUntilMs, sentAtMs + renewDeadlineMs)
      const leftMs = leadsUntilMs - sentAtMs
      if (leftMs > 0 && (await attempt(leftMs))) leadsUntilMs = heldUntil(sentAtMs)
      else if (leader !== identity || clock.now() >= leadsUntilMs)
        throw new LeadershipLostError(name)
    }
  }
  const renewing = renew().catch((error: unknown) => {
    if (leading.aborted) return
    stop.abort(error)
  })
  try {
    await lead(leading)
  } finally {
    const lost = stop.signal.aborted
    stop.abort(new Error('no longer leading'))
    await renewing
    if (!lost) await release()
  }
  if (stop.signal.reason instanceof LeadershipLostError) throw stop.signal.reason
}
