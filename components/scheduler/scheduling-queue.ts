/**
 * SchedulingQueue: pods that wait for a node (upstream: backend/queue): active (next to be tried), backing off after a failure,
 * unschedulable until something happens that may help, and gated until a plugin lets them in.
 */
import { currentCause, retryCause, timerCause, withCause, type Cause } from '../client/cause.ts'
import type { Clock } from '../component-base/clock.ts'
import type { ClusterEvent, RegisteredEvent } from './cluster-event.ts'
import { eventLabel, labelsOf } from './cluster-event.ts'
import { Heap } from './heap.ts'
import { InFlight } from './in-flight.ts'
import type { Plugin, PluginWith } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import { schedulerNameOf } from './waiting-pod.ts'

export interface QueuedPod {
  info: PodInfo
  attempts: number
  /** Rises each time a pod comes into the active part. */
  since: number
  backoffUntil: number
  /** When it came to the queue first. */
  readonly queuedAtMs: number
  /** What brought it back to be tried last. */
  cause: Cause | undefined
  /** The plugins that rejected it last. */
  rejectedBy: ReadonlySet<string>
}

/** What the queue asks about one pod's profile. */
export interface QueuePlugins {
  readonly preEnqueues: readonly PluginWith<'preEnqueue'>[]
  readonly plugins: ReadonlyMap<string, Plugin>
}

export interface QueueOptions {
  readonly clock: Clock
  readonly queueSort: PluginWith<'compare'>
  readonly pluginsFor: (pod: PodInfo) => QueuePlugins
  readonly initialBackoffMs?: number
  readonly maxBackoffMs?: number
  /** A pod waits no longer than this in the unschedulable part, whatever happens or not. */
  readonly maxUnschedulableMs?: number
  /** A pod came into a part of the queue because of an event. */
  readonly onIncoming?: (part: QueuePart, event: string) => void
  /** A plugin's hint was asked. */
  readonly onHint?: (asked: AskedHint) => void
}

export interface AskedHint {
  readonly plugin: string
  readonly event: string
  readonly helps: boolean
  readonly seconds: number
}

/** What one plugin registered, by the label of the event. */
interface PluginHints {
  readonly plugin: string
  readonly byLabel: ReadonlyMap<string, readonly RegisteredEvent[]>
}

/** A pod has waited so long that it is tried whatever has happened. */
const waitedCause = timerCause('unschedulable')

export type QueuePart = 'active' | 'backoff' | 'unschedulable' | 'gated'

export class SchedulingQueue {
  readonly #options: QueueOptions
  readonly #clock: Clock
  readonly #initialBackoffMs: number
  readonly #maxBackoffMs: number
  readonly #maxUnschedulableMs: number
  readonly #parts = new Map<string, { part: QueuePart; pod: QueuedPod }>()
  readonly #active: Heap<QueuedPod>
  readonly #backoff = new Heap<QueuedPod>((a, b) => a.backoffUntil - b.backoffUntil)
  /** Waiting pods by the label of what may help them, since events are far more frequent than rejections. */
  readonly #helpedBy = new Map<string, Set<QueuedPod>>()
  /** Pods that any event may help. */
  readonly #helpedByAll = new Set<QueuedPod>()
  /** What each plugin registered, by the label of the event. */
  readonly #hints = new Map<Plugin, ReadonlyMap<string, readonly RegisteredEvent[]>>()
  readonly #unschedulable = new Map<string, { pod: QueuedPod; since: number }>()
  readonly #gated = new Map<string, QueuedPod>()
  #waiting: (() => void) | undefined
  #cancelTimer: (() => void) | undefined
  /** Pods that `tryPop` has given out. */
  readonly #inFlight = new InFlight<QueuedPod>()
  /** The same by key, with what changed of them meanwhile. */
  readonly #tried = new Map<string, { readonly pod: QueuedPod; readonly changes: ClusterEvent[] }>()
  #order = 0

  constructor(options: QueueOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#active = new Heap((a, b) => options.queueSort.compare(a, b))
    this.#initialBackoffMs = options.initialBackoffMs ?? 1000
    this.#maxBackoffMs = options.maxBackoffMs ?? 10_000
    this.#maxUnschedulableMs = options.maxUnschedulableMs ?? 5 * 60_000
  }

  /** How many pods are in each part. */
  get sizes(): Readonly<Record<QueuePart, number>> {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size,
      gated: this.#gated.size,
    }
  }

  /** How many pods each plugin keeps waiting, by profile. */
  *rejections(): Iterable<{ plugin: string; profile: string; pods: number }> {
    const counts = new Map<string, { plugin: string; profile: string; pods: number }>()
    for (const { pod } of this.#unschedulable.values()) {
      const profile = schedulerNameOf(pod.info.pod)
      for (const plugin of pod.rejectedBy) {
        const key = `${plugin} ${profile}`
        const count = counts.get(key)
        if (count === undefined) counts.set(key, { plugin, profile, pods: 1 })
        else count.pods += 1
      }
    }
    yield* counts.values()
  }

  /** How many pods are out of the queue to be scheduled, and how many events are kept for their sake, by label. */
  get inFlight(): ReadonlyMap<string, number> {
    return this.#inFlight.counts
  }

  /** A new pod; one that waits already gets its newest form. */
  add(info: PodInfo): void {
    if (!this.has(info)) {
      const queuedAtMs = this.#clock.now()
      const fresh = {
        attempts: 0,
        since: 0,
        backoffUntil: 0,
        queuedAtMs,
        cause: currentCause(),
        rejectedBy: new Set<string>(),
      }
      this.#activate({ info, ...fresh }, 'PodAdd')
    } else this.update(info, [])
  }

  /**
   * A changed pod, with what changed: it gets another attempt if that may help it. One that is being tried stays out of the queue until
   * it is given back, with its newest form.
   */
  update(info: PodInfo, changes: readonly ClusterEvent[]): void {
    this.#attemptAt(info)?.changes.push(...changes)
    const known = this.#parts.get(info.key)
    if (known === undefined) return
    const { pod, part } = known
    const hasOtherRank = pod.info.priority !== info.priority
    pod.info = info
    if (part === 'gated') this.#release(pod, 'PodUpdate')
    else if (part === 'unschedulable') {
      if (changes.some((event) => this.#mayHelp(pod, event))) this.#release(pod, 'PodUpdate')
    } else if (part === 'active' && hasOtherRank) {
      this.#active.remove(pod)
      this.#active.push(pod)
    }
  }

  /** Whether the pod waits or is being tried. */
  has(info: PodInfo): boolean {
    return this.#parts.has(info.key) || this.#attemptAt(info) !== undefined
  }

  #attemptAt({ key, uid }: PodInfo) {
    const tried = this.#tried.get(key)
    return tried?.pod.info.uid === uid ? tried : undefined
  }

  remove(key: string): void {
    const known = this.#parts.get(key)
    if (known === undefined) return
    this.#parts.delete(key)
    if (known.part === 'active') this.#active.remove(known.pod)
    else if (known.part === 'backoff') this.#backoff.remove(known.pod)
    else this.#leaveWaiting(known.pod)
  }

  /** As `tryPop`, once a pod is active. Rejects with the signal's reason. */
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

  /**
   * The next pod to try, or undefined when none is active now. It is out of the queue until it is given back with `addUnschedulable` or
   * `addBackoff`; one that is not given back must be `done`.
   */
  tryPop(): QueuedPod | undefined {
    const pod = this.#active.pop()
    if (pod === undefined) return undefined
    this.#parts.delete(pod.info.key)
    pod.attempts++
    this.#inFlight.begin(pod)
    this.#tried.set(pod.info.key, { pod, changes: [] })
    return pod
  }

  /** The pod has a node: what happens from now on no longer concerns its attempt. */
  decided(pod: QueuedPod): void {
    this.#inFlight.decided(pod)
  }

  /** The pod is bound, or gone. */
  done(pod: QueuedPod): void {
    this.#endAttempt(pod)
  }

  /** What changed of the pod during its attempt. */
  #endAttempt(pod: QueuedPod): readonly ClusterEvent[] {
    this.#inFlight.ended(pod)
    const { key } = pod.info
    const tried = this.#tried.get(key)
    // Another pod of that name may be tried already.
    if (tried?.pod !== pod) return []
    this.#tried.delete(key)
    return tried.changes
  }

  /**
   * No node took the pod: it waits for an event that may help the plugins that rejected it; without any, for any event. After one that
   * came during the attempt it is tried again, once its back-off is over.
   */
  addUnschedulable(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    pod.backoffUntil = this.#clock.now() + this.#backoffOf(pod)
    pod.cause = retryCause
    pod.rejectedBy = rejectedBy
    const events = [...this.#inFlight.eventsSince(pod), ...this.#endAttempt(pod)]
    if (events.some((event) => this.#mayHelp(pod, event))) {
      this.#enterBackoff(pod, 'ScheduleAttemptFailure')
      return
    }
    const { key } = pod.info
    this.#parts.set(key, { part: 'unschedulable', pod })
    this.#unschedulable.set(key, { pod, since: this.#clock.now() })
    this.#awaitEvents(pod)
    this.#options.onIncoming?.('unschedulable', 'ScheduleAttemptFailure')
    this.#arm()
  }

  /** The attempt failed for another reason (a lost race, an unreachable server): it is tried again after its back-off. */
  addBackoff(pod: QueuedPod): void {
    pod.backoffUntil = this.#clock.now() + this.#backoffOf(pod)
    pod.cause = retryCause
    this.#endAttempt(pod)
    this.#enterBackoff(pod, 'ScheduleAttemptFailure')
  }

  /** A waiting pod gets another attempt after its back-off, whatever it waits for. */
  retry(key: string): void {
    const known = this.#parts.get(key)
    if (known?.part === 'unschedulable') this.#release(known.pod, 'ScheduleAttemptFailure')
  }

  /** Something happened in the cluster: pods it may help get another attempt. */
  happened(event: ClusterEvent): void {
    this.#inFlight.happened(event)
    const label = eventLabel(event)
    const waiting = this.#helpedBy.get(label)
    if (waiting === undefined && this.#helpedByAll.size === 0) return
    for (const pod of [...(waiting ?? []), ...this.#helpedByAll]) {
      if (this.#mayHelp(pod, event)) this.#release(pod, label)
    }
  }

  /** What the plugins that rejected the pod registered; undefined when any event may help it. */
  #hintsFor(pod: QueuedPod): PluginHints[] | undefined {
    if (pod.rejectedBy.size === 0) return undefined
    const { plugins } = this.#options.pluginsFor(pod.info)
    const hints: PluginHints[] = []
    for (const name of pod.rejectedBy) {
      const plugin = plugins.get(name)
      if (plugin?.events === undefined) return undefined
      let own = this.#hints.get(plugin)
      if (own === undefined) {
        own = eventsByLabel(plugin.events)
        this.#hints.set(plugin, own)
      }
      hints.push({ plugin: name, byLabel: own })
    }
    return hints
  }

  #awaitEvents(pod: QueuedPod): void {
    const hints = this.#hintsFor(pod)
    if (hints === undefined) {
      this.#helpedByAll.add(pod)
      return
    }
    for (const label of hints.flatMap(({ byLabel }) => [...byLabel.keys()])) {
      const pods = this.#helpedBy.get(label)
      if (pods === undefined) this.#helpedBy.set(label, new Set([pod]))
      else pods.add(pod)
    }
  }

  /** Asks the hints of the plugins that rejected the pod. */
  #mayHelp(pod: QueuedPod, event: ClusterEvent): boolean {
    const hints = this.#hintsFor(pod)
    if (hints === undefined) return true
    const label = eventLabel(event)
    return hints.some(({ plugin, byLabel }) =>
      byLabel.get(label)?.some((hint) => this.#ask(hint, { plugin, label, pod, event })),
    )
  }

  #ask(
    { helps }: RegisteredEvent,
    about: {
      readonly plugin: string
      readonly label: string
      readonly pod: QueuedPod
      readonly event: ClusterEvent
    },
  ): boolean {
    const { plugin, label, pod, event } = about
    const startedMs = this.#clock.elapsed()
    const isHelpful = helps === undefined || helps(pod.info, event)
    const seconds = (this.#clock.elapsed() - startedMs) / 1000
    this.#options.onHint?.({ plugin, event: label, helps: isHelpful, seconds })
    return isHelpful
  }

  /** Back-off doubles with the attempts: 1 s, 2 s, 4 s, 8 s, 10 s, 10 s ... */
  #backoffOf({ attempts }: QueuedPod): number {
    const doublings = Math.min(Math.max(attempts - 1, 0), 30)
    return Math.min(this.#initialBackoffMs * 2 ** doublings, this.#maxBackoffMs)
  }

  #release(pod: QueuedPod, cause: string): void {
    this.#leaveWaiting(pod)
    pod.cause = currentCause()
    if (pod.backoffUntil > this.#clock.now()) this.#enterBackoff(pod, cause)
    else this.#activate(pod, cause)
  }

  #leaveWaiting(pod: QueuedPod): void {
    const wasGated = this.#gated.delete(pod.info.key)
    if (!this.#unschedulable.delete(pod.info.key) && !wasGated) return
    this.#helpedByAll.delete(pod)
    for (const [label, pods] of this.#helpedBy) {
      if (pods.delete(pod) && pods.size === 0) this.#helpedBy.delete(label)
    }
  }

  #activate(pod: QueuedPod, cause: string): void {
    const { preEnqueues } = this.#options.pluginsFor(pod.info)
    const { key } = pod.info
    const gate = preEnqueues.find((plugin) => plugin.preEnqueue(pod.info) !== undefined)
    if (gate !== undefined) {
      pod.rejectedBy = new Set([gate.name])
      this.#awaitEvents(pod)
      this.#gated.set(key, pod)
      this.#parts.set(key, { part: 'gated', pod })
      this.#options.onIncoming?.('gated', cause)
      return
    }
    pod.since = ++this.#order
    this.#parts.set(key, { part: 'active', pod })
    this.#active.push(pod)
    this.#options.onIncoming?.('active', cause)
    const wake = this.#waiting
    this.#waiting = undefined
    wake?.()
  }

  #enterBackoff(pod: QueuedPod, cause: string): void {
    this.#parts.set(pod.info.key, { part: 'backoff', pod })
    this.#backoff.push(pod)
    this.#options.onIncoming?.('backoff', cause)
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
      this.#activate(next, 'BackoffComplete')
    }
    for (const { pod, since } of this.#unschedulable.values()) {
      if (since + this.#maxUnschedulableMs > now) break
      withCause(waitedCause, () => this.#release(pod, 'UnschedulableTimeout'))
    }
    this.#arm()
  }
}

function eventsByLabel(
  events: readonly RegisteredEvent[],
): ReadonlyMap<string, readonly RegisteredEvent[]> {
  const byLabel = new Map<string, RegisteredEvent[]>()
  for (const event of events) {
    for (const label of labelsOf(event)) byLabel.set(label, [...(byLabel.get(label) ?? []), event])
  }
  return byLabel
}
