/** Backend set: the backends of the file, and which of them a new connection gets. */
import { Backend } from './backend.ts'
import type { Thresholds } from './backend.ts'
import { formatEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'

export class BackendSet {
  readonly #thresholds: Thresholds
  #backends: readonly Backend[] = []
  /** Where the next look for the least begins, so that equals take turns. */
  #turn = 0

  constructor(thresholds: Thresholds) {
    this.#thresholds = thresholds
  }

  get all(): readonly Backend[] {
    return this.#backends
  }

  /** Takes the endpoints in place of those before. A backend that stays keeps its state; connections of one that goes stay open. */
  replace(endpoints: readonly Endpoint[]): {
    readonly added: readonly Backend[]
    readonly removed: readonly Backend[]
  } {
    const before = new Map(this.#backends.map((backend) => [backend.name, backend]))
    const next = endpoints.map(
      (endpoint) => before.get(formatEndpoint(endpoint)) ?? new Backend(endpoint, this.#thresholds),
    )
    const kept = new Set(next)
    const removed = this.#backends.filter((backend) => !kept.has(backend))
    const added = next.filter((backend) => !before.has(backend.name))
    this.#backends = next
    return { added, removed }
  }

  /**
   * The ready backend with the fewest connections that was not tried yet. When no ready one is left, those that are not ready
   * follow: a check may be late, and a failed attempt costs the client no more than a refused connection.
   */
  choose(tried: ReadonlySet<Backend>): Backend | undefined {
    const left = this.#backends.filter((backend) => !tried.has(backend))
    const ready = left.filter((backend) => backend.isReady)
    const among = ready.length > 0 ? ready : left
    this.#turn += 1
    let best: Backend | undefined
    for (let index = 0; index < among.length; index += 1) {
      const backend = among[(index + this.#turn) % among.length]
      if (backend !== undefined && backend.connections < (best?.connections ?? Infinity)) {
        best = backend
      }
    }
    return best
  }
}
