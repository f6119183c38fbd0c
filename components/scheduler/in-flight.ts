/**
 * InFlight: the pods that are out of the queue to be scheduled, and what has happened since (upstream: backend/queue/active_queue.go,
 * inFlightPods, inFlightEvents). An event is kept until no attempt that began before it is left.
 */
import type { ClusterEvent } from './cluster-event.ts'
import { eventLabel } from './cluster-event.ts'

/** How metrics name the pods among the events. */
const podLabel = 'PodPopped'

export class InFlight<P> {
  readonly #pods = new Set<P>()
  /** By the pods whose node is not decided, the oldest first: the number of the first event of their attempt. */
  readonly #attempts = new Map<P, number>()
  readonly #events: ClusterEvent[] = []
  /** The number of the first event that is kept. */
  #first = 0
  readonly #counts = new Map<string, number>([[podLabel, 0]])

  /** How many pods and, by their label, events there are. A label stays once it was used. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** The pod left the queue. */
  begin(pod: P): void {
    this.#pods.add(pod)
    this.#attempts.set(pod, this.#first + this.#events.length)
    this.#counts.set(podLabel, this.#pods.size)
  }

  happened(event: ClusterEvent): void {
    if (this.#attempts.size === 0) return
    this.#events.push(event)
    this.#count(event, 1)
  }

  /** What has happened since the pod left the queue, unless its node is decided. */
  eventsSince(pod: P): readonly ClusterEvent[] {
    const from = this.#attempts.get(pod)
    return from === undefined ? [] : this.#events.slice(from - this.#first)
  }

  /** The pod has a node: events do not matter to it while it is bound, which may take long. */
  decided(pod: P): void {
    if (!this.#attempts.delete(pod)) return
    const [oldest = this.#first + this.#events.length] = this.#attempts.values()
    for (const event of this.#events.splice(0, oldest - this.#first)) this.#count(event, -1)
    this.#first = oldest
  }

  /** The pod is bound, gone or back in the queue. */
  ended(pod: P): void {
    this.decided(pod)
    this.#pods.delete(pod)
    this.#counts.set(podLabel, this.#pods.size)
  }

  #count(event: ClusterEvent, by: number): void {
    const label = eventLabel(event)
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + by)
  }
}
