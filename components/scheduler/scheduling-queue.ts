/**
 * SchedulingQueue: pods that wait for a node, in three rooms (upstream: internal/queue): active (next to be tried, by
 * priority, then by age), backing off after a failure, and unschedulable until something relevant changes.
 */
import type { Clock } from '../component-base/clock.ts'
import { Heap } from './heap.ts'
import type { ClusterChange } from './plugin.ts'
import { clusterChanges, curedBy } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'

export interface QueuedPod {
  info: PodInfo
  attempts: number
  /** When it came into the active room last; equal priorities go first come, first served. */
  since: number
  backoffUntil: number
  /** When it came to the queue first. */
  readonly queuedAtMs: number
}

export interface QueueOptions {
  readonly clock: Clock
  readonly initialBackoffMs?: number
  readonly maxBackoffMs?: number
  /** A pod waits no longer than this in the unschedulable room, whatever happens or not. */
  readonly maxUnschedulableMs?: number
}

type Room = 'active' | 'backoff' | 'unschedulable'

export class SchedulingQueue {
  readonly #clock: Clock
  readonly #initialBackoffMs: number
  readonly #maxBackoffMs: number
  readonly #maxUnschedulableMs: number
  readonly #rooms = new Map<string, { room: Room; pod: QueuedPod }>()
  readonly #active = new Heap<QueuedPod>(
    (a, b) => b.info.priority - a.info.priority || a.since - b.since,
  )
  readonly #backoff = new Heap<QueuedPod>((a, b) => a.backoffUntil - b.backoffUntil)
  /** Unschedulable pods by what would help them, since changes are far more frequent than rejections. */
  readonly #helpedBy = new Map(clusterChanges.map((change) => [change, new Set<QueuedPod>()]))
  readonly #unschedulable = new Map<string, { pod: QueuedPod; since: number }>()
  #waiting: (() => void) | undefined
  #cancelTimer: (() => void) | undefined
  #order = 0

  constructor(options: QueueOptions) {
    this.#clock = options.clock
    this.#initialBackoffMs = options.initialBackoffMs ?? 1000
    this.#maxBackoffMs = options.maxBackoffMs ?? 10_000
    this.#maxUnschedulableMs = options.maxUnschedulableMs ?? 5 * 60_000
  }

  /** How many pods are in each room. */
  get sizes(): Readonly<Record<Room, number>> {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size,
    }
  }

  /** A new pod, or a changed one: a change of its own is always worth a new attempt, after its back-off. */
  add(info: PodInfo): void {
    const known = this.#rooms.get(info.key)
    if (known === undefined) {
      const queuedAtMs = this.#clock.now()
      const fresh = { attempts: 0, since: 0, backoffUntil: 0, queuedAtMs }
      this.#activate({ info, ...fresh })
      return
    }
    const { pod, room } = known
    const hasOtherRank = pod.info.priority !== info.priority
    pod.info = info
    if (room === 'unschedulable') this.#release(pod)
    else if (hasOtherRank && room === 'active') {
      this.#active.remove(pod)
      this.#active.push(pod)
    }
  }

  /** Keeps the newest form of a waiting pod without giving it another attempt. */
  refresh(info: PodInfo): void {
    const known = this.#rooms.get(info.key)
    if (known !== undefined) known.pod.info = info
  }

  has(key: string): boolean {
    return this.#rooms.has(key)
  }

  remove(key: string): void {
    const known = this.#rooms.get(key)
    if (known === undefined) return
    this.#rooms.delete(key)
    if (known.room === 'active') this.#active.remove(known.pod)
    else if (known.room === 'backoff') this.#backoff.remove(known.pod)
    else this.#leaveUnschedulable(known.pod)
  }

  /** The next pod to try; it is out of the queue until it is given back. Rejects with the signal's reason. */
  async pop(signal: AbortSignal): Promise<QueuedPod> {
    for (;;) {
      signal.throwIfAborted()
      const pod = this.tryPop()
      if (pod !== undefined) return pod
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake)
          resolve()
        }
        this.#waiting = wake
        signal.addEventListener('abort', wake)
      })
    }
  }

  /** The next pod to try, or undefined when none is active now. */
  tryPop(): QueuedPod | undefined {
    const pod = this.#active.pop()
    if (pod === undefined) return undefined
    this.#rooms.delete(pod.info.key)
    pod.attempts++
    return pod
  }

  /** No node took the pod: it waits for a change that concerns the plugins that rejected it. */
  addUnschedulable(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    pod.backoffUntil = this.#clock.now() + this.#backoffOf(pod)
    const { key } = pod.info
    this.#rooms.set(key, { room: 'unschedulable', pod })
    this.#unschedulable.set(key, { pod, since: this.#clock.now() })
    for (const [change, pods] of this.#helpedBy) {
      const helps = [...rejectedBy].some((plugin) => curedBy[plugin]?.includes(change) ?? true)
      if (helps || rejectedBy.size === 0) pods.add(pod)
    }
    this.#arm()
  }

  /** The attempt failed for another reason (a lost race, an unreachable server): it is tried again after its back-off. */
  addBackoff(pod: QueuedPod): void {
    pod.backoffUntil = this.#clock.now() + this.#backoffOf(pod)
    this.#enterBackoff(pod)
  }

  /** Something changed in the cluster: pods it may help get another attempt. */
  changed(change: ClusterChange): void {
    const helped = this.#helpedBy.get(change)
    if (helped === undefined) return
    for (const pod of helped) this.#release(pod)
  }

  /** Back-off doubles with the attempts: 1 s, 2 s, 4 s, 8 s, 10 s, 10 s ... */
  #backoffOf({ attempts }: QueuedPod): number {
    const doublings = Math.min(Math.max(attempts - 1, 0), 30)
    return Math.min(this.#initialBackoffMs * 2 ** doublings, this.#maxBackoffMs)
  }

  #release(pod: QueuedPod): void {
    this.#leaveUnschedulable(pod)
    if (pod.backoffUntil > this.#clock.now()) this.#enterBackoff(pod)
    else this.#activate(pod)
  }

  #leaveUnschedulable(pod: QueuedPod): void {
    this.#unschedulable.delete(pod.info.key)
    for (const pods of this.#helpedBy.values()) pods.delete(pod)
  }

  #activate(pod: QueuedPod): void {
    pod.since = ++this.#order
    this.#rooms.set(pod.info.key, { room: 'active', pod })
    this.#active.push(pod)
    const wake = this.#waiting
    this.#waiting = undefined
    wake?.()
  }

  #enterBackoff(pod: QueuedPod): void {
    this.#rooms.set(pod.info.key, { room: 'backoff', pod })
    this.#backoff.push(pod)
    this.#arm()
  }

  /** One timer for whatever is due next. */
  #arm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const oldest = this.#unschedulable.values().next().value
    const due = Math.min(
      this.#backoff.peek()?.backoffUntil ?? Infinity,
      oldest === undefined ? Infinity : oldest.since + this.#maxUnschedulableMs,
    )
    if (due === Infinity) return
    this.#cancelTimer = this.#clock.after(Math.max(0, due - this.#clock.now()), () => this.#flush())
  }

  #flush(): void {
    const now = this.#clock.now()
    for (;;) {
      const next = this.#backoff.peek()
      if (next === undefined || next.backoffUntil > now) break
      this.#backoff.pop()
      this.#activate(next)
    }
    for (const { pod, since } of this.#unschedulable.values()) {
      if (since + this.#maxUnschedulableMs > now) break
      this.#release(pod)
    }
    this.#arm()
  }
}
