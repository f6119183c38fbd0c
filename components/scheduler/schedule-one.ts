/** ScheduleOne: one attempt to schedule one pod, from the decision to the binding or the report (upstream: schedule_one.go). */
import type { Pod } from '../api/generated/types.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { Reserved } from './binding-cycle.ts'
import { bind, preBind, reserve, unreserve } from './binding-cycle.ts'
import { chooseWithExtenders, filterByExtenders } from './extended-choice.ts'
import type { Extender } from './extender.ts'
import type { Diagnosis } from './fit-error.ts'
import { addRejection, fitMessage, joinedFailure, newDiagnosis } from './fit-error.ts'
import type { Decision, Feasible } from './find-node.ts'
import { NodeFinder } from './find-node.ts'
import type { Eviction, PostFilterResult } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import { podInfoOf } from './pod-info.ts'
import type { PodReporter } from './pod-reporter.ts'
import type { Profile } from './profile.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'
import { schedulerNameOf } from './waiting-pod.ts'

export interface SchedulerOptions {
  readonly queue: SchedulingQueue
  readonly snapshot: Snapshot
  /** By the name of their scheduler; at least one. */
  readonly profiles: ReadonlyMap<string, Profile>
  /** The same profiles for the attempts whose plugins are timed: a tenth of all. */
  readonly measured?: ReadonlyMap<string, Profile>
  readonly extenders?: readonly Extender[]
  readonly reporter: PodReporter
  /** The newest form of a pod that still waits for a node, by key: what a failed binding goes on with. */
  readonly waitingPod: (key: string) => Pod | undefined
  readonly clock: Clock
  readonly log: Log
  /** Bindings in flight; more wait. */
  readonly parallelism?: number
  readonly metrics?: SchedulerMetrics
}

/** The scheduler's counts; times are in seconds. */
export interface SchedulerMetrics {
  attempt(profile: string, result: 'scheduled' | 'unschedulable' | 'error', seconds: number): void
  /** A pod was bound after so many attempts, so long after it came to the queue. */
  scheduled(attempts: number, seconds: number): void
  /** An extension point ran. */
  extensionPoint(
    point: string,
    ran: { readonly profile: string; readonly status: string; readonly seconds: number },
  ): void
  /** The decision of one attempt was made, without the binding. */
  algorithm(seconds: number): void
  /** A post-filter was asked, and evicts so many pods. */
  preemption(victims: number): void
  /** Counts work while it goes on beside other work. Settles as `run` does. */
  during<T>(operation: Operation, run: () => Promise<T>): Promise<T>
}

/** What goes on beside decisions, as upstream names what its goroutines do. */
export type Operation = 'binding' | 'prioritizing_extender'

/** Upstream's: pluginMetricsSamplePercent. */
const measuredShare = 0.1

/** What a decision asks to be written; it may run beside the next decisions. */
type Write = () => Promise<void>

interface Attempt {
  readonly queued: QueuedPod
  readonly profile: Profile
  readonly startedMs: number
}

interface Placement extends Attempt {
  readonly nodeName: string
  readonly reserved: Reserved
}

export class ScheduleOne {
  readonly #options: SchedulerOptions
  readonly #signal: AbortSignal
  readonly #finder: NodeFinder

  constructor(options: SchedulerOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
    this.#finder = new NodeFinder(options.snapshot)
  }

  /** Decides, and counts the decision at once; never rejects for a fault of one pod. */
  async scheduleOne(queued: QueuedPod): Promise<Write> {
    const { clock, queue } = this.#options
    const profile = this.#profilesNow().get(schedulerNameOf(queued.info.pod))
    if (profile === undefined) {
      queue.done(queued)
      return async () => {}
    }
    const attempt = { queued, profile, startedMs: clock.now() }
    try {
      const decision = await this.#decide(attempt)
      if (decision.ok) return await this.#place(attempt, decision.node)
      return await this.#handleUnschedulable(attempt, decision.diagnosis)
    } catch (error) {
      this.#options.snapshot.forget(queued.info)
      return () => this.#handleError(attempt, error)
    }
  }

  /** Timing every run of every plugin would cost more than most of them. */
  #profilesNow(): ReadonlyMap<string, Profile> {
    const { profiles, measured, clock } = this.#options
    return measured !== undefined && clock.random() < measuredShare ? measured : profiles
  }

  async #decide({ queued, profile }: Attempt): Promise<Decision> {
    const { extenders = [], snapshot, log } = this.#options
    const { info: pod } = queued
    const look = (anew: boolean): Feasible =>
      this.#timed(profile, 'Filter', () => this.#finder.filter(profile, pod, anew))
    let found = look(false)
    let nodes = await filterByExtenders(extenders, { pod, log }, found)
    if (nodes.length === 0 && found.isNominated === true) {
      found = look(true)
      nodes = await filterByExtenders(extenders, { pod, log }, found)
    }
    if (nodes.length === 0) return { ok: false, diagnosis: found.diagnosis }
    if (extenders.length > 0) {
      const during = <T>(run: () => Promise<T>): Promise<T> =>
        this.#during('prioritizing_extender', run)
      const about = { profile, pod, view: snapshot, log, during }
      const node = await chooseWithExtenders(extenders, about, nodes)
      return { ok: true, node, feasible: nodes.length }
    }
    const node = this.#timed(profile, 'Score', () => this.#finder.choose(profile, pod, nodes))
    return { ok: true, node, feasible: nodes.length }
  }

  async #place(attempt: Attempt, node: NodeInfo): Promise<Write> {
    const { snapshot, queue, clock, metrics } = this.#options
    const { queued, profile, startedMs } = attempt
    metrics?.algorithm((clock.now() - startedMs) / 1000)
    snapshot.assume(queued.info, node.name)
    const reserved = this.#timed(profile, 'Reserve', () => reserve(profile, queued.info, node))
    if ('reservations' in reserved) {
      queue.decided(queued)
      const placement = { ...attempt, nodeName: node.name, reserved }
      return () => this.#during('binding', () => this.#bind(placement))
    }
    snapshot.forget(queued.info)
    const diagnosis = newDiagnosis(1)
    addRejection(diagnosis, reserved)
    return await this.#handleUnschedulable(attempt, diagnosis)
  }

  async #bind(placement: Placement): Promise<void> {
    const { queue, reporter, clock, log, metrics } = this.#options
    const { queued, profile, nodeName, startedMs, reserved } = placement
    const { info } = queued
    try {
      if (reserved.reservations.length > 0) {
        await this.#timedWrite(profile, 'PreBind', () => preBind(profile, reserved, this.#signal))
      }
      await this.#timedWrite(profile, 'Bind', () =>
        bind(profile, this.#binders(info), { info, nodeName }),
      )
    } catch (error) {
      unreserve(reserved)
      await this.#handleBindingFailure(placement, error)
      return
    }
    queue.done(queued)
    metrics?.attempt(profile.schedulerName, 'scheduled', (clock.now() - startedMs) / 1000)
    metrics?.scheduled(queued.attempts, (clock.now() - queued.queuedAtMs) / 1000)
    log.debug('bound', { pod: info.key, node: nodeName })
    reporter.scheduled(info, nodeName)
  }

  /** The extenders that bind this pod in place of the profile's plugin. */
  #binders(info: PodInfo): Extender[] {
    const { extenders = [] } = this.#options
    return extenders.filter((extender) => extender.binds && extender.isInterested(info))
  }

  /** Forgets the assumed pod; whatever it kept is free again. */
  async #handleBindingFailure(placement: Placement, error: unknown): Promise<void> {
    const { queue, snapshot } = this.#options
    const { info } = placement.queued
    snapshot.forget(info)
    const { pod } = info
    const spec = pod.spec === undefined ? undefined : { ...pod.spec, nodeName: placement.nodeName }
    const old = spec === undefined ? pod : { ...pod, spec }
    queue.happened({ resource: 'AssignedPod', action: 'Delete', old })
    await this.#handleError(placement, error)
  }

  /** Queues the newest form of a pod that still waits for a node, after a back-off, and reports the error. */
  async #handleError({ queued, profile, startedMs }: Attempt, error: unknown): Promise<void> {
    const { queue, reporter, log, metrics, clock } = this.#options
    const { info } = queued
    metrics?.attempt(profile.schedulerName, 'error', (clock.now() - startedMs) / 1000)
    if (!this.#renew(queued)) {
      queue.done(queued)
      return
    }
    log.warn('an attempt failed; the pod is tried again', { pod: info.key, error })
    queue.addBackoff(queued)
    const cause = error instanceof Error ? (error.cause ?? error) : error
    // The pod was just deleted, or bound by another scheduler: there is nothing to report.
    if (isStatusError(cause, 'NotFound', 'Conflict')) return
    const message = error instanceof Error ? error.message : String(error)
    await reporter.failed(info, { reason: 'SchedulerError', message })
  }

  /** Gives the attempt the newest form of its pod. False when that waits for a node no more: it is gone, another one, or bound. */
  #renew(queued: QueuedPod): boolean {
    const { info } = queued
    const now = this.#options.waitingPod(info.key)
    if (now === undefined || now.metadata.uid !== info.uid) return false
    queued.info = podInfoOf(now)
    return true
  }

  /** Looks for pods to preempt, and reports why the pod fits nowhere. */
  async #handleUnschedulable(attempt: Attempt, diagnosis: Diagnosis): Promise<Write> {
    const { queue, snapshot, reporter, clock, metrics } = this.#options
    const { queued, profile, startedMs } = attempt
    const { info } = queued
    const outcome = await this.#postFilter(attempt, diagnosis)
    metrics?.attempt(profile.schedulerName, 'unschedulable', (clock.now() - startedMs) / 1000)
    if (!this.#renew(queued)) {
      queue.done(queued)
      return async () => {}
    }
    const eviction = outcome?.ok === true ? outcome.eviction : undefined
    const keepsNomination = outcome?.ok === false && outcome.keepsNomination
    const outdated = eviction === undefined ? [] : snapshot.nominatedAfter(info, eviction.nodeName)
    if (eviction !== undefined) snapshot.nominate(info, eviction.nodeName)
    else if (!keepsNomination) snapshot.withdraw(info.key)
    queue.addUnschedulable(queued, diagnosis.rejectedBy)
    const message = fitMessage(diagnosis, outcome?.ok === false ? outcome.message : undefined)
    const report = (): Promise<void> =>
      reporter.failed(info, {
        reason: 'Unschedulable',
        message,
        ...(keepsNomination ? {} : { nominatedNodeName: eviction?.nodeName ?? '' }),
      })
    if (eviction === undefined) return report
    for (const { key } of outdated) snapshot.withdraw(key)
    return async () => {
      try {
        await report()
        await this.#evict(queued, eviction)
        for (const other of outdated) await reporter.withdrawn(other)
      } catch (error) {
        // A victim that stays makes no event that the pod could wait for.
        queue.retry(info.key)
        throw error
      }
    }
  }

  async #postFilter(
    { queued, profile }: Attempt,
    diagnosis: Diagnosis,
  ): Promise<PostFilterResult | undefined> {
    const { snapshot, metrics } = this.#options
    if (diagnosis.nodeCount === 0) return undefined
    const failures: (PostFilterResult & { ok: false })[] = []
    for (const plugin of profile.postFilters) {
      const result = await this.#timedWrite(profile, 'PostFilter', () =>
        plugin.postFilter({ pod: queued.info, snapshot, filters: profile.filters, diagnosis }),
      )
      if (result === undefined) continue
      if (result.ok || result.isPreemption !== false) {
        metrics?.preemption(result.ok ? result.eviction.victims.length : 0)
      }
      if (result.ok) return result
      failures.push(result)
    }
    return joinedFailure(failures)
  }

  async #evict({ info }: QueuedPod, { nodeName, victims }: Eviction): Promise<void> {
    await Promise.all(
      victims
        .filter(({ pod }) => pod.metadata.deletionTimestamp === undefined)
        .map((victim) => this.#options.reporter.preempt(info, victim, nodeName)),
    )
  }

  #during<T>(operation: Operation, run: () => Promise<T>): Promise<T> {
    const { metrics } = this.#options
    return metrics === undefined ? run() : metrics.during(operation, run)
  }

  #timed<T>({ schedulerName: profile }: Profile, point: string, run: () => T): T {
    const { clock, metrics } = this.#options
    const before = clock.now()
    const result = run()
    const seconds = (clock.now() - before) / 1000
    metrics?.extensionPoint(point, { profile, status: 'Success', seconds })
    return result
  }

  async #timedWrite<T>(
    { schedulerName: profile }: Profile,
    point: string,
    run: () => Promise<T>,
  ): Promise<T> {
    const { clock, metrics } = this.#options
    const before = clock.now()
    let status = 'Error'
    try {
      const result = await run()
      status = 'Success'
      return result
    } finally {
      const seconds = (clock.now() - before) / 1000
      metrics?.extensionPoint(point, { profile, status, seconds })
    }
  }
}
