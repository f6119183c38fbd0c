/** Reservations: values that were given to drafts whose commit has not been seen yet. */
import type { KubeObject } from '../../../machinery/objects/object.ts'

/** Who asks: the draft itself, and when. Nothing stays reserved for a dry run. */
export interface AllocationRequest {
  readonly draft: KubeObject
  readonly nowMs: number
  readonly dryRun: boolean
  random(): number
}

/** How long a value stays reserved for a draft whose commit is not seen. */
const reservationMs = 30_000

interface Reservation {
  readonly draft: KubeObject
  readonly untilMs: number
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

export class Reservations<K> {
  readonly #reserved = new Map<K, Reservation>()

  has(value: K, nowMs: number): boolean {
    return this.#at(value, nowMs) !== undefined
  }

  /** Whether another Service has it. The same draft, and an earlier attempt at the same Service, are no others. */
  hasOther(value: K, { draft, nowMs }: AllocationRequest): boolean {
    const reservation = this.#at(value, nowMs)
    if (reservation === undefined || reservation.draft === draft) return false
    return keyOf(reservation.draft) !== keyOf(draft)
  }

  reserve(value: K, { draft, nowMs, dryRun }: AllocationRequest): void {
    if (!dryRun) this.#reserved.set(value, { draft, untilMs: nowMs + reservationMs })
  }

  release(value: K): void {
    this.#reserved.delete(value)
  }

  #at(value: K, nowMs: number): Reservation | undefined {
    const reservation = this.#reserved.get(value)
    if (reservation === undefined || reservation.untilMs > nowMs) return reservation
    this.#reserved.delete(value)
    return undefined
  }
}
