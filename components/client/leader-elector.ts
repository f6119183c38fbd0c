/**
 * LeaderElector: of several processes one leads at a time, by holding a Lease (model: client-go leaderelection). A leader that
 * ends cleanly releases the lease once its work has stopped, as upstream's scheduler does (ReleaseOnCancel).
 */
import { hostname } from 'node:os'
import { microTimestamp } from '../component-base/clock.ts'
import { backgroundOf, upkeepOf } from '../component-base/clock.ts'
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
  /** Records an event about the Lease when this process leads (upstream: resourcelock RecordEvent). */
  readonly recorder?: Pick<EventRecorder, 'record'>
}

/**
 * The identity of a new process, unlike that of every other, on this host too, unless it is given a part of it. A process
 * that restarts is another one: it waits until the lease was released or expired, and its takeover counts in
 * `leaseTransitions`.
 */
export function electionIdentity(clock: Clock, part?: string): string {
  return `${hostname()}_${part ?? clock.uuid()}`
}

/** The spec of a Lease. */
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

interface Election {
  readonly options: LeaderElectorOptions
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
  readonly log: Log
  /** The Lease as this process saw it last; undefined when the next try must read it. */
  lease: KubeObject | undefined
  /** Its spec as JSON, to see it change. */
  record: string
  /** When this process saw the record change last. */
  observedAtMs: number
  leader: string
}

/**
 * Waits for the lease, then runs `lead`, whose signal aborts when `signal` does or the lease is lost. Returns when `signal`
 * aborted or `lead` returned, after releasing the lease; rejects with LeadershipLostError when it was lost, or with the error
 * that `lead` rejects with.
 */
export async function runLeaderElection(
  options: LeaderElectorOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, identity } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 } = options
  const log = options.log.with({ lease: `${namespace}/${name}`, identity })
  const times = { leaseDurationMs, renewDeadlineMs, retryPeriodMs }
  const seen = { lease: undefined, record: '', observedAtMs: 0, leader: '' }
  const election: Election = { options, ...times, log, ...seen }
  let sentAtMs: number
  try {
    sentAtMs = await acquire(election, signal)
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  const stop = new AbortController()
  const leading = AbortSignal.any([signal, stop.signal])
  const renewing = renew(election, { sentAtMs, signal }, leading).catch((error: unknown) => {
    if (leading.aborted) return
    stop.abort(error)
  })
  try {
    await lead(leading)
  } finally {
    const lost = stop.signal.aborted
    stop.abort(new Error('no longer leading'))
    await renewing
    if (!lost) await release(election)
  }
  if (stop.signal.reason instanceof LeadershipLostError) throw stop.signal.reason
}

/** Resolves once this process holds the lease, with the time at which it sent that request. */
async function acquire(election: Election, signal: AbortSignal): Promise<number> {
  const { log, retryPeriodMs, renewDeadlineMs } = election
  const { clock, identity, recorder } = election.options
  let sentAtMs = clock.now()
  while (!(await tryToAcquireOrRenew(election, renewDeadlineMs, signal))) {
    await backgroundOf(clock).sleep(retryPeriodMs * (1 + 1.2 * clock.random()), signal)
    sentAtMs = clock.now()
  }
  log.info('leading')
  if (election.lease !== undefined) {
    const message = `${identity} became leader`
    recorder?.record(election.lease, { type: 'Normal', reason: 'LeaderElection', message })
  }
  return sentAtMs
}

/** Renews until `leading` aborts; `signal` alone cuts off a request under way. Rejects with LeadershipLostError. */
async function renew(
  election: Election,
  acquired: { readonly sentAtMs: number; readonly signal: AbortSignal },
  leading: AbortSignal,
): Promise<void> {
  const { retryPeriodMs, renewDeadlineMs, leaseDurationMs, options } = election
  const { clock, identity, name } = options
  /** Others count from when a renewal was written, at the earliest when it was sent. */
  const heldUntil = (sentAtMs: number): number =>
    Math.min(clock.now() + renewDeadlineMs, sentAtMs + leaseDurationMs)
  let leadsUntilMs = heldUntil(acquired.sentAtMs)
  while (!leading.aborted) {
    const restedMs = clock.rested?.() ?? 0
    await upkeepOf(clock).sleep(retryPeriodMs, leading)
    const sentAtMs = clock.now()
    // Nobody took the lease while the cluster rested: whoever waits for it keeps the cluster awake.
    leadsUntilMs += (clock.rested?.() ?? 0) - restedMs
    // A clock that was set back prolongs nothing.
    leadsUntilMs = Math.min(leadsUntilMs, sentAtMs + renewDeadlineMs)
    const leftMs = leadsUntilMs - sentAtMs
    if (leftMs > 0 && (await tryToAcquireOrRenew(election, leftMs, acquired.signal)))
      leadsUntilMs = heldUntil(sentAtMs)
    else if (election.leader !== identity || clock.now() >= leadsUntilMs)
      throw new LeadershipLostError(name)
  }
}

/** Resolves with false if another process holds the lease or the request failed; rejects when `signal` aborts. */
async function tryToAcquireOrRenew(
  election: Election,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { log, options } = election
  try {
    return await inTime(options.clock, limitMs, (deadline) =>
      writeRecord(election, AbortSignal.any([signal, deadline])),
    )
  } catch (error) {
    signal.throwIfAborted()
    if (!isStatusError(error, 'Conflict', 'AlreadyExists'))
      log.warn('cannot reach the lease; trying again', { why: messageOf(error) })
    return false
  }
}

async function writeRecord(election: Election, signal: AbortSignal): Promise<boolean> {
  const { leases, namespace, name, identity, clock } = election.options
  if (election.lease === undefined || election.leader !== identity) {
    try {
      observe(election, await leases.get({ namespace, name }, { signal }))
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
      election.lease = undefined
    }
  }
  const { lease, observedAtMs, leaseDurationMs } = election
  const current = lease?.['spec'] as LeaseRecord | undefined
  const facts = { identity, nowMs: clock.now(), observedAtMs, leaseDurationMs }
  const spec = nextRecord(current, facts)
  if (spec === undefined) return false
  try {
    const metadata = lease?.metadata ?? { namespace, name }
    const written =
      lease === undefined
        ? await leases.create({ metadata, spec }, { signal })
        : await leases.update({ ...lease, spec }, { signal })
    observe(election, written)
    return true
  } catch (error) {
    // The next try reads the current lease.
    election.lease = undefined
    throw error
  }
}

function observe(election: Election, found: KubeObject): void {
  const { log, options } = election
  const nowMs = options.clock.now()
  election.lease = found
  const record = JSON.stringify(found['spec'] ?? {})
  // A clock that was set back must not make the record look new for that long.
  if (record !== election.record || nowMs < election.observedAtMs) {
    election.record = record
    election.observedAtMs = nowMs
  }
  const holder = (found['spec'] as LeaseRecord | undefined)?.holderIdentity ?? ''
  if (holder === election.leader) return
  election.leader = holder
  if (holder !== '') log.info('new leader', { leader: holder })
}

/** Runs a request whose signal aborts after `limitMs`. */
async function inTime<T>(
  clock: Clock,
  limitMs: number,
  request: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const cancel = backgroundOf(clock).after(limitMs, () =>
    deadline.abort(new Error('no answer in time')),
  )
  try {
    return await request(deadline.signal)
  } finally {
    cancel()
  }
}

async function release({ options, log, lease, leader, renewDeadlineMs }: Election): Promise<void> {
  const { leases, namespace, name, identity, clock } = options
  if (leader !== identity) return
  try {
    await inTime(clock, renewDeadlineMs, async (signal) => {
      // A renewal that was cut off may have been written or not.
      const found = lease ?? (await leases.get({ namespace, name }, { signal }))
      const record = found['spec'] as LeaseRecord | undefined
      if (record?.holderIdentity !== identity) return
      const now = microTimestamp(clock.now())
      const times = { leaseDurationSeconds: 1, renewTime: now, acquireTime: now }
      const spec = { ...record, holderIdentity: '', ...times }
      await leases.update({ ...found, spec }, { signal })
      log.info('lease given back')
    })
  } catch (error) {
    log.info('lease not given back; it will run out', { why: messageOf(error) })
  }
}
