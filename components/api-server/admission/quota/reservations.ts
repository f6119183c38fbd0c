/**
 * Reservations: adds what requests use to the status of quotas before the objects are stored, by compare-and-swap. Requests of
 * one namespace are checked together while an earlier write is under way (upstream: resourcequota/controller.go).
 */
import type { ResourceQuota } from '../../../api/generated/types.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { internalError } from '../../../machinery/objects/status-error.ts'
import { backgroundOf } from '../../../component-base/clock.ts'
import type { Clock } from '../../../component-base/clock.ts'
import type { OwnClient } from '../own-client.ts'
import type { PendingWrite, PendingWrites } from './pending-writes.ts'
import { checkQuotas, type LimitedResource, type QuotaRequest } from './quota-check.ts'

/** As upstream. */
const timeoutMs = 10_000
const mostRetries = 3

export interface ReservationOptions {
  readonly quotasOf: (namespace: string) => readonly ResourceQuota[]
  readonly client: OwnClient
  readonly resource: Resource
  readonly limited: readonly LimitedResource[]
  readonly pending: PendingWrites
  readonly clock: Clock
}

interface Waiter {
  readonly ask: QuotaRequest
  readonly write: PendingWrite
  resolve(): void
  reject(error: unknown): void
}

/** Resolves once every quota holds what the request uses. Rejects with a StatusError if one has no room, and after 10 s. */
export type Reserve = (ask: QuotaRequest) => Promise<void>

export function createReserve(options: ReservationOptions): Reserve {
  const { quotasOf, pending, clock } = options
  const waiting = new Map<string, QuotaRequest[]>()
  const outcomes = new Map<QuotaRequest, Pick<Waiter, 'resolve' | 'reject'>>()

  function waiterOf(ask: QuotaRequest): Waiter[] {
    const outcome = outcomes.get(ask)
    // A request that timed out must not reserve anything any more.
    return outcome === undefined ? [] : [{ ask, write: pending.add(ask), ...outcome }]
  }

  async function drain(namespace: string): Promise<void> {
    for (;;) {
      const batch = waiting.get(namespace)?.splice(0) ?? []
      if (batch.length === 0) break
      const waiters = batch.flatMap(waiterOf)
      await reserveAll(options, { waiters, quotas: quotasOf(namespace), retries: mostRetries })
    }
    waiting.delete(namespace)
  }

  return (ask) =>
    new Promise((resolve, reject) => {
      const { namespace } = ask.request
      const settle = (act: () => void): void => {
        if (!outcomes.delete(ask)) return
        cancel()
        act()
      }
      const refuse = (error: unknown): void => {
        settle(() => {
          pending.remove(ask)
          reject(error as Error)
        })
      }
      const cancel = backgroundOf(clock).after(timeoutMs, () => {
        refuse(internalError('resource quota evaluation timed out'))
      })
      outcomes.set(ask, { resolve: () => settle(resolve), reject: refuse })
      const others = waiting.get(namespace)
      if (others !== undefined) others.push(ask)
      else {
        waiting.set(namespace, [ask])
        void drain(namespace)
      }
    })
}

interface Batch {
  readonly waiters: readonly Waiter[]
  readonly quotas: readonly ResourceQuota[]
  readonly retries: number
}

/** Settles every waiter. Never rejects. */
async function reserveAll(options: ReservationOptions, batch: Batch): Promise<void> {
  const { waiters, quotas, retries } = batch
  const { fitting, charged } = fit(options, batch)
  const changed = charged.filter((quota, i) => quota !== quotas[i])
  const failed = await writeStatuses(options, changed, fitting)
  if (failed.names.size === 0) {
    for (const { resolve } of fitting) resolve()
    return
  }
  if (retries === 0) {
    for (const { reject } of fitting) reject(failed.error)
    return
  }
  // The other quotas hold the reservation already. One that is gone limits nothing.
  const namespace = waiters[0]?.ask.request.namespace ?? ''
  const again = options
    .quotasOf(namespace)
    .filter(({ metadata }) => failed.names.has(metadata.name ?? ''))
  await reserveAll(options, { waiters: fitting, quotas: again, retries: retries - 1 })
}

/** Charges the waiters one after another; those that do not fit are rejected, those that use nothing resolved. */
function fit({ limited, clock }: ReservationOptions, { waiters, quotas }: Batch) {
  let charged = quotas
  const fitting = waiters.filter(({ ask, resolve, reject }) => {
    try {
      const next = checkQuotas(ask, charged, { limited, nowMs: clock.now() })
      if (next === charged) {
        resolve()
        return false
      }
      charged = next
    } catch (error) {
      reject(error)
      return false
    }
    return true
  })
  return { fitting, charged }
}

/** Writes each quota once. Resolves with the names of those that could not be written, and why. */
async function writeStatuses(
  { client, resource }: ReservationOptions,
  quotas: readonly ResourceQuota[],
  waiters: readonly Waiter[],
) {
  const names = new Set<string>()
  let error: unknown
  for (const { metadata } of quotas) {
    const { name = '', resourceVersion = '' } = metadata
    for (const { write } of waiters) write.unreserved.set(name, resourceVersion)
  }
  for (const quota of quotas) {
    const { name = '', namespace = '' } = quota.metadata
    try {
      await client.updateStatus(resource, namespace, { ...quota })
      for (const { write } of waiters) write.unreserved.delete(name)
    } catch (fault) {
      names.add(name)
      error = fault
    }
  }
  return { names, error }
}
