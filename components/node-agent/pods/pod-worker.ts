/**
 * PodWorker: brings one pod to where it should be and reports it. Every step is: plan (pure), act, report; whatever happens
 * in the meantime asks for another step. One worker is one pod object: a new one of the same name has another worker.
 */
import type { Pod, PodStatus } from '../../api/generated/types.ts'
import type { AnnotationFault } from '../../api/simulation.ts'
import { annotationFaults } from '../../api/simulation.ts'
import { carryCause, currentCause, withCause, type Cause } from '../../client/cause.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, keyOf, revisionOf } from '../../machinery/objects/object.ts'
import { createAnnotationEvents } from './annotation-events.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { PodAddresses } from './pod-addresses.ts'
import type { PodContainersOptions, RecordPodEvent } from './pod-containers.ts'
import { PodContainers, runtimeCause } from './pod-containers.ts'
import type { PodEnvironment } from './pod-environment.ts'
import type { Rejection } from './pod-admission.ts'
import { planPod } from './pod-plan.ts'
import { containerNames } from './pod-spec.ts'
import { podStatusOf } from './pod-status.ts'
import type { PodVolumes } from './pod-volumes.ts'
import type { VolumeWait } from './volume-wait.ts'
import { createVolumeWait } from './volume-wait.ts'

export interface PodWorkerOptions {
  readonly runtime: ContainerRuntime
  readonly addresses: PodAddresses
  readonly hostIp: string
  /** Asked once, of a pod that no agent has started yet. */
  readonly admit: (pod: Pod) => Rejection | undefined
  readonly record: RecordPodEvent
  readonly environment: PodEnvironment
  readonly onProbe: PodContainersOptions['onProbe']
  readonly volumes: PodVolumes
  /** Writes the status over that of `pod` and `published`; resolves with what is stored then, `gone` when the server has this pod no more. */
  readonly writeStatus: (
    pod: Pod,
    status: PodStatus,
    published: PodStatus | undefined,
  ) => Promise<Pod | 'gone'>
  /** Removes the pod's object, once nothing of it runs. */
  readonly deletePod: (pod: Pod) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** A pod that is up within this time is reported once, as running; one that takes longer is reported as starting first. */
const firstReportMs = 100
const writeRetryMs = 1000

/** Whether a condition that was reported has another status now: node-lifecycle marks pods of a lost node not ready. */
function contradicts(now: PodStatus | undefined, published: PodStatus | undefined): boolean {
  return (published?.conditions ?? []).some(
    ({ type, status }) => now?.conditions?.find((one) => one.type === type)?.status !== status,
  )
}

/** A container by name, for those who ask the agent about it. */
export interface FoundContainer {
  /** The pod has one of that name. */
  readonly exists: boolean
  /** Of its last try; undefined before the first. */
  readonly id: string | undefined
  readonly isRunning: boolean
  /** The reason for its waiting, as in its status. */
  readonly waitingReason: () => string | undefined
}

export class PodWorker {
  readonly key: string
  readonly uid: string
  /** Resolves once nothing of the pod runs and its object has gone or is final. */
  readonly done: Promise<void>
  readonly #options: PodWorkerOptions
  readonly #containers: PodContainers
  readonly #volumeWait: VolumeWait
  readonly #sayFaults: (faults: readonly AnnotationFault[]) => void
  readonly #startedMs: number
  readonly #log: Log
  /** It had reached its end before this agent saw it. */
  readonly #wasOver: boolean
  /** Undefined until it is asked; null for a pod that was taken. */
  #rejection: Rejection | null | undefined
  #isOver = false
  #pod: Pod
  #podIp: string | undefined
  #failure: { reason: string; message: string } | undefined
  #published: PodStatus | undefined
  /** Of the last write. */
  #storedRevision = 0n
  /** Another writer changed the reported status: it must be reported again. */
  #isOverruled = false
  #hasVanished = false
  #isStopped = false
  #isSyncQueued = false
  /** Of the newest call for a step. */
  #cause: Cause | undefined
  #isWriting = false
  #cancelWake: () => void = () => {}
  #finish: () => void = () => {}

  constructor(pod: Pod, options: PodWorkerOptions) {
    this.#pod = pod
    this.#options = options
    this.key = keyOf(pod)
    this.uid = pod.metadata.uid ?? ''
    this.#log = options.log.with({ pod: this.key })
    this.#startedMs = options.clock.now()
    this.done = new Promise((resolve) => {
      this.#finish = resolve
    })
    const { phase } = pod.status ?? {}
    this.#wasOver = phase === 'Succeeded' || phase === 'Failed'
    const isKnown = pod.status?.startTime !== undefined
    const isEnding = pod.metadata.deletionTimestamp !== undefined
    if (this.#wasOver || isKnown || isEnding) this.#rejection = null
    this.#sayFaults = createAnnotationEvents((event) => options.record(this.#pod, event))
    if (!this.#wasOver && !isKnown) this.#sayFaults(this.#annotationFaults())
    this.#containers = new PodContainers({
      runtime: options.runtime,
      record: options.record,
      clock: options.clock,
      log: this.#log,
      pod: () => this.#pod,
      isEnding: () => this.#isEnding,
      environment: (container) => options.environment(this.#addressed(), container),
      onProbe: options.onProbe,
      onChange: () => this.#queueSync(),
    })
    this.#volumeWait = createVolumeWait({
      volumes: options.volumes,
      record: options.record,
      clock: options.clock,
      onChange: () => this.#queueSync(),
    })
    if (pod.spec?.hostNetwork === true) this.#podIp = options.hostIp
    else if (!this.#wasOver) {
      // Pods that had an address take it back before others get one: an agent that starts sees all of its pods in one turn.
      if (pod.status?.podIP === undefined) queueMicrotask(() => this.#askAddress())
      else this.#askAddress()
    }
    this.#queueSync()
  }

  get pod(): Pod {
    return this.#pod
  }

  /** It was taken, and something of it may run. */
  get isActive(): boolean {
    return this.#rejection === null && !this.#wasOver && !this.#isOver && !this.#isStopped
  }

  /** The container of that name. */
  container(name: string): FoundContainer {
    const record = this.#containers.records.find(({ spec }) => spec.name === name)
    return {
      exists: record !== undefined,
      id: record?.id,
      isRunning: record?.state.kind === 'running',
      waitingReason: () => {
        const { initContainerStatuses = [], containerStatuses = [] } = this.#status(false)
        const status = [...initContainerStatuses, ...containerStatuses].find(
          (one) => one.name === name,
        )
        return status?.state?.waiting?.reason
      },
    }
  }

  /** The pod's object changed. */
  update(pod: Pod): void {
    this.#pod = pod
    if (!this.#isWriting) this.#notice()
    if (!this.#wasOver) this.#sayFaults(this.#annotationFaults())
    this.#options.runtime.updatePod(pod)
    this.#containers.hurry()
    this.#containers.update()
    this.#queueSync()
  }

  /** Whether somebody has changed what was reported. What the pod was before the last write says nothing. */
  #notice(): void {
    const isNews = revisionOf(this.#pod) > this.#storedRevision
    if (isNews && contradicts(this.#pod.status, this.#published)) this.#isOverruled = true
  }

  /** The pod's object was deleted: kills the running containers and reports nothing. */
  vanish(): void {
    this.#hasVanished = true
    this.#queueSync()
  }

  /** Leaves the pod as it is: the agent stops, its containers go on. */
  abandon(): void {
    this.#isStopped = true
    this.#cancelWake()
    this.#containers.abandon()
    this.#volumeWait.stop()
    this.#finish()
  }

  #annotationFaults(): AnnotationFault[] {
    const { metadata, spec } = this.#pod
    return annotationFaults('Pod', metadata.annotations, containerNames(spec))
  }

  #queueSync(): void {
    if (this.#isStopped) return
    this.#cause = currentCause()
    if (this.#isSyncQueued) return
    this.#isSyncQueued = true
    queueMicrotask(() => {
      this.#isSyncQueued = false
      if (!this.#isStopped) withCause(this.#cause, () => this.#sync())
    })
  }

  get #isEnding(): boolean {
    return this.#failure !== undefined || this.#pod.metadata.deletionTimestamp !== undefined
  }

  #sync(): void {
    if (this.#hasVanished) {
      this.#close()
      return
    }
    const { clock } = this.#options
    if (this.#rejection === undefined) this.#askAdmission()
    const nowMs = clock.now()
    const deadlineMs = this.#deadlineMs()
    if (nowMs >= deadlineMs && !this.#wasOver) {
      this.#failure ??= {
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      }
    }
    const view = {
      pod: this.#pod,
      records: this.#containers.records,
      isEnding: this.#isEnding,
      nowMs,
    }
    const plan = this.#wasOver ? planPod({ ...view, isEnding: true }) : planPod(view)
    const isHeld = this.#isHeld
    for (const action of plan.actions) {
      if (!isHeld || action.do !== 'start') void this.#containers.act(action)
    }
    this.#cancelWake()
    const wakeAt = Math.min(plan.wakeAtMs ?? Infinity, plan.isOver ? Infinity : deadlineMs)
    if (wakeAt < Infinity) {
      const wake = (): void => withCause(runtimeCause, () => this.#queueSync())
      this.#cancelWake = clock.after(Math.max(0, wakeAt - nowMs), wake)
    }
    this.#isOver = plan.isOver
    // Its address is free for others; the status goes on naming it.
    if (plan.isOver) this.#options.addresses.release(this.uid)
    this.#report(plan.isOver, isHeld)
  }

  /** It waits for its volumes. A container that has run has found them. */
  get #isHeld(): boolean {
    if (this.#isEnding || this.#wasOver) return false
    const hasRun = this.#containers.records.some(({ state }) => state.kind !== 'waiting')
    return !hasRun && !this.#volumeWait.isOver(this.#pod)
  }

  #askAddress(): void {
    if (this.#isStopped || this.#hasVanished) return
    this.#options.addresses.assign({
      podUid: this.uid,
      preferred: this.#pod.status?.podIP,
      onAddress: (address) => {
        this.#podIp = address
        this.#queueSync()
      },
    })
  }

  /** A pod that the node does not take fails (upstream: kubelet.go, rejectPod). */
  #askAdmission(): void {
    const { admit, record } = this.#options
    const rejection = admit(this.#pod) ?? null
    this.#rejection = rejection
    if (rejection === null) return
    const { reason, message } = rejection
    record(this.#pod, { type: 'Warning', reason, message })
    this.#failure = { reason, message: `Pod was rejected: ${message}` }
  }

  #deadlineMs(): number {
    const seconds = this.#pod.spec?.activeDeadlineSeconds
    if (seconds === undefined) return Infinity
    const started = this.#published?.startTime ?? this.#pod.status?.startTime
    return (started === undefined ? this.#startedMs : Date.parse(started)) + seconds * 1000
  }

  #close(): void {
    const { runtime, addresses } = this.#options
    this.abandon()
    runtime.removePod(this.uid)
    addresses.release(this.uid)
  }

  /** It ends, and the runtime is still stopping some of its containers. */
  get #isKilling(): boolean {
    const isStopping = this.#containers.records.some(
      ({ isBusy, state }) => isBusy && state.kind !== 'waiting',
    )
    return isStopping && this.#isEnding
  }

  /** The pod with the addresses that it has, whether they are written or not. */
  #addressed(): Pod {
    const { hostIp } = this.#options
    const podIp = this.#podIp ?? this.#pod.status?.podIP
    const status = {
      ...this.#pod.status,
      hostIP: hostIp,
      hostIPs: [{ ip: hostIp }],
      ...(podIp === undefined ? {} : { podIP: podIp, podIPs: [{ ip: podIp }] }),
    }
    return { ...this.#pod, status }
  }

  #status(isOver: boolean): PodStatus {
    const { hostIp, runtime, clock } = this.#options
    if (this.#rejection && this.#failure !== undefined) {
      return { phase: 'Failed', ...this.#failure, startTime: timestamp(this.#startedMs) }
    }
    return podStatusOf({
      pod: this.#pod,
      previous: this.#published,
      records: this.#containers.records,
      podIp: this.#podIp,
      hostIp,
      startedMs: this.#startedMs,
      failure: this.#failure,
      isOver,
      runtimeName: runtime.name,
      nowMs: clock.now(),
    })
  }

  #report(isOver: boolean, isHeld: boolean): void {
    if (this.#isWriting) return
    // What is stopped meanwhile is reported with the pod's end, as upstream: the kubelet kills all containers, then reports once.
    if (!isOver && this.#isKilling && !this.#isOverruled) return
    const isStarting = this.#containers.records.some(
      ({ isBusy, state }) => isBusy && state.kind === 'waiting',
    )
    if (this.#published === undefined && (isStarting || isHeld)) {
      const { clock } = this.#options
      const waitMs = this.#startedMs + firstReportMs - clock.now()
      if (waitMs > 0) {
        this.#cancelWake()
        const report = carryCause(() => this.#queueSync())
        this.#cancelWake = clock.after(waitMs, report)
        return
      }
    }
    const status = this.#wasOver ? undefined : this.#status(isOver)
    const isChanged = this.#isOverruled || !deepEqual(status, this.#published)
    const isNews = status !== undefined && isChanged
    const isDeletable = isOver && this.#pod.metadata.deletionTimestamp !== undefined
    if (!isNews && !isDeletable) return
    this.#isWriting = true
    this.#isOverruled = false
    void this.#write(isNews ? status : undefined, isDeletable)
  }

  async #write(status: PodStatus | undefined, isDeletable: boolean): Promise<void> {
    const { writeStatus, deletePod, clock } = this.#options
    try {
      if (status !== undefined) {
        const stored = await writeStatus(this.#pod, status, this.#published)
        if (stored === 'gone') this.#hasVanished = true
        else this.#storedRevision = revisionOf(stored)
        this.#published = status
      }
      if (isDeletable && !this.#hasVanished) {
        await deletePod(this.#pod)
        this.#hasVanished = true
      }
    } catch (error) {
      this.#log.warn('reporting the pod failed', { error: String(error), retryMs: writeRetryMs })
      await clock.sleep(writeRetryMs)
    } finally {
      this.#isWriting = false
      this.#notice()
      // What happened during the write is the cause of the next one.
      withCause(this.#cause, () => this.#queueSync())
    }
  }
}
