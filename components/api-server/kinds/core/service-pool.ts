/** ServicePool: the values that Services can have, addresses or node ports. */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { AllocationRequest } from './reservations.ts'

/** A finite set of values, each used by at most one Service. */
export interface ServicePool<T> {
  /** Undefined when the value is the draft's now, else upstream's reason why not. */
  take(value: T, request: AllocationRequest): string | undefined
  /** A free value, or undefined without one. */
  next(request: AllocationRequest): T | undefined
  /** Whether `next` gave the value to the draft: then another will do as well. */
  isPicked(value: T, request: AllocationRequest): boolean
  /** The request of the draft ended, whether it was written or not. */
  release(draft: KubeObject): void
}
