/** RequestList: requests in order of arrival. A request is in at most one list. Adding and removing take constant time. */
import type { FairRequest } from './fair-request.ts'

export class RequestList implements Iterable<FairRequest> {
  #first: FairRequest | undefined
  #last: FairRequest | undefined
  #length = 0

  get first(): FairRequest | undefined {
    return this.#first
  }

  get length(): number {
    return this.#length
  }

  append(request: FairRequest): void {
    request.previous = this.#last
    if (this.#last === undefined) this.#first = request
    else this.#last.next = request
    this.#last = request
    this.#length += 1
  }

  /** The request must be in this list. */
  remove(request: FairRequest): void {
    const { next, previous } = request
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    request.next = undefined
    request.previous = undefined
    this.#length -= 1
  }

  *[Symbol.iterator](): Generator<FairRequest, undefined> {
    for (let request = this.#first; request !== undefined; request = request.next) yield request
  }
}
