/** Reservations: values that are given to drafts while their requests run (upstream: alloc.go, transactions). */
import type { KubeObject } from '../../../machinery/objects/object.ts'

/** Who asks. A dry run takes nothing from others. */
export interface AllocationRequest {
  readonly draft: KubeObject
  readonly dryRun: boolean
  random(): number
}

/** Each request releases its draft at its end: a value that was written has another record by then. */
export class Reservations<K> {
  readonly #holders = new Map<K, KubeObject>()
  /** The values of each draft, those of dry runs, too. */
  readonly #values = new Map<KubeObject, Set<K>>()
  readonly #picked = new Map<KubeObject, Set<K>>()

  /** Whether any draft holds the value; of dry runs, only the request's own counts. */
  has(value: K, { draft }: AllocationRequest): boolean {
    return this.#holders.has(value) || this.#values.get(draft)?.has(value) === true
  }

  /** Whether another draft holds the value. */
  hasOther(value: K, { draft }: AllocationRequest): boolean {
    const holder = this.#holders.get(value)
    return holder !== undefined && holder !== draft
  }

  /** Whether the value was given to the draft, which had not asked for it. */
  isPicked(value: K, { draft }: AllocationRequest): boolean {
    return this.#picked.get(draft)?.has(value) === true
  }

  /** As `reserve`, of a value that the draft has not asked for. */
  pick(value: K, request: AllocationRequest): void {
    this.reserve(value, request)
    const picked = this.#picked.get(request.draft) ?? new Set()
    this.#picked.set(request.draft, picked.add(value))
  }

  reserve(value: K, { draft, dryRun }: AllocationRequest): void {
    if (!dryRun) this.#holders.set(value, draft)
    const values = this.#values.get(draft) ?? new Set()
    this.#values.set(draft, values.add(value))
  }

  release(draft: KubeObject): void {
    for (const value of this.#values.get(draft) ?? []) {
      if (this.#holders.get(value) === draft) this.#holders.delete(value)
    }
    this.#values.delete(draft)
    this.#picked.delete(draft)
  }
}
