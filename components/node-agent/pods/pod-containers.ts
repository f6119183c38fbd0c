/** PodContainers: the containers of one pod: starts and stops them, probes them, and notes what became of them. */
import type { Container, Pod, Probe } from '../../api/generated/types.ts'
import { timerCause, withCause } from '../../client/cause.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { ContainerRecord } from './container-record.ts'
import {
  newEphemeral,
  newRecords,
  noteExit,
  noteStartFailure,
  takeOver,
  takeOverSpec,
} from './container-record.ts'
import type {
  ContainerExited,
  ContainerRuntime,
  PodHost,
  ProbeKind,
  RuntimeContainer,
} from '../runtime/container-runtime.ts'
import { RuntimeFault } from '../runtime/container-runtime.ts'
import { nonRootFault } from './non-root.ts'
import type { PodAction } from './pod-plan.ts'
import { containerSpecOf } from './pod-spec.ts'
import type { CountedProbe } from './probe-counts.ts'
import { runProber, type ProberOptions } from './prober.ts'
import { seccompProfileOf } from './seccomp.ts'
import { messageFromLog } from './termination-message.ts'

/** The runtime has news of a container. */
export const runtimeCause = timerCause('runtime')
/** A probe has looked. */
const probeCause = timerCause('probe')

/** An event about a pod or, with `container`, one of its containers. Recording never fails and never waits. */
export type RecordPodEvent = (
  pod: Pod,
  event: { type: 'Normal' | 'Warning'; reason: string; message: string; container?: string },
) => void

export interface PodContainersOptions {
  readonly runtime: ContainerRuntime
  readonly record: RecordPodEvent
  readonly clock: Clock
  readonly log: Log
  /** The pod as it is now. */
  readonly pod: () => Pod
  readonly isEnding: () => boolean
  readonly environment: PodHost['environment']
  /** Called after every look of a probe. */
  readonly onProbe: (probe: CountedProbe) => void
  /** Called after every change of a record. */
  readonly onChange: () => void
}

export class PodContainers {
  readonly #records: ContainerRecord[]
  readonly #options: PodContainersOptions
  readonly #log: Log
  readonly #probing = new Map<ContainerRecord, AbortController>()
  /** Containers that are stopping, and when their grace ends. */
  readonly #stops = new Map<
    ContainerRecord,
    { untilMs: number; hurry(ms: number): Promise<void> }
  >()

  constructor(options: PodContainersOptions) {
    this.#options = options
    this.#log = options.log
    this.#records = newRecords(options.pod())
    const known = options.runtime.admitPod(options.pod(), {
      onExit: (container) => this.#ended(container),
      environment: options.environment,
    })
    for (const container of known) this.#restore(container)
  }

  /** In the order in which they start. Others only read them. */
  get records(): readonly ContainerRecord[] {
    return this.#records
  }

  /** The pod's object changed: containers may have other images, and there may be more ephemeral ones. */
  update(): void {
    const pod = this.#options.pod()
    for (const record of this.#records) {
      const spec = containerSpecOf(pod, record.spec.name)
      if (spec !== undefined) takeOverSpec(record, spec)
    }
    this.#records.push(...newEphemeral(pod, this.#records))
  }

  /** Ends all probing; the containers go on. */
  abandon(): void {
    for (const probing of this.#probing.values()) probing.abort()
  }

  #restore(container: RuntimeContainer): void {
    const record = this.records.find(({ spec }) => spec.name === container.name)
    if (record === undefined) return
    takeOver(record, container)
    const { state } = container
    if (state.kind === 'exited') {
      record.failures = record.restarts
      noteExit(record, state)
    } else this.#begin(record)
  }

  /** Carries out one step of a plan; never rejects. */
  async act(action: PodAction): Promise<void> {
    const { record } = action
    record.isBusy = true
    try {
      if (action.do === 'start') await this.#start(record)
      else {
        record.isReplaced = action.isReplacing === true
        await this.#stop(record, action.message, action.graceSeconds)
      }
    } catch (error) {
      this.#log.error('container action failed', { container: record.spec.name, error })
      noteStartFailure(record, {
        reason: 'RunContainerError',
        message: String(error),
        nowMs: this.#options.clock.now(),
      })
    } finally {
      record.isBusy = false
      this.#options.onChange()
    }
  }

  #say(type: 'Normal' | 'Warning', reason: string, message: string, record: ContainerRecord): void {
    this.#options.record(this.#options.pod(), {
      type,
      reason,
      message,
      container: record.spec.name,
    })
  }

  async #start(record: ContainerRecord): Promise<void> {
    const { runtime, clock } = this.#options
    const { spec } = record
    const image = spec.image ?? ''
    try {
      if (runtime.hasImage(image) && spec.imagePullPolicy !== 'Always') {
        this.#say(
          'Normal',
          'Pulled',
          `Container image "${image}" already present on machine`,
          record,
        )
      } else {
        this.#say('Normal', 'Pulling', `Pulling image "${image}"`, record)
        await runtime.pullImage({ pod: this.#options.pod(), container: spec })
        this.#say('Normal', 'Pulled', `Successfully pulled image "${image}"`, record)
      }
      const environment = await this.#options.environment(spec)
      const fault = nonRootFault(this.#options.pod(), spec)
      if (fault !== undefined) throw new RuntimeFault('CreateContainerConfigError', fault)
      const started = await runtime.startContainer({
        pod: this.#options.pod(),
        container: spec,
        environment,
        attempt: record.id === undefined ? 0 : record.restarts + 1,
        seccompProfile: seccompProfileOf(this.#options.pod(), spec),
      })
      if (record.state.kind === 'exited') record.last = record.state
      else record.failures = 0
      takeOver(record, started)
      this.#say('Normal', 'Created', `Created container: ${spec.name}`, record)
      this.#say('Normal', 'Started', `Started container ${spec.name}`, record)
      this.#begin(record)
    } catch (error) {
      if (!(error instanceof RuntimeFault)) throw error
      if (record.state.kind === 'exited') record.last = record.state
      const { reason, message } = error
      const what = reason === 'ErrImagePull' ? `Failed to pull image "${image}": ` : 'Error: '
      this.#say('Warning', 'Failed', `${what}${message}`, record)
      noteStartFailure(record, { reason, message, nowMs: clock.now() })
    }
  }

  /** How long a container may take to end; a deletion knows it best. */
  #graceMs(asked?: number): number {
    const { metadata, spec } = this.#options.pod()
    const seconds =
      metadata.deletionGracePeriodSeconds ?? asked ?? spec?.terminationGracePeriodSeconds ?? 30
    return seconds * 1000
  }

  /** The pod's grace was shortened: stopping containers get the shorter one. */
  hurry(): void {
    if (this.#options.pod().metadata.deletionTimestamp === undefined) return
    const nowMs = this.#options.clock.now()
    const graceMs = this.#graceMs()
    for (const stop of this.#stops.values()) {
      if (nowMs + graceMs >= stop.untilMs) continue
      stop.untilMs = nowMs + graceMs
      void stop.hurry(graceMs)
    }
  }

  async #endInTime(spec: Container, id: string, graceMs: number): Promise<void> {
    const { runtime, clock } = this.#options
    const pause = Math.min((spec.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000, graceMs)
    if (pause > 0) await clock.sleep(pause)
    // However long the hook took, the container itself has a moment to end (as upstream).
    await runtime.stopContainer(id, pause > 0 ? Math.max(graceMs - pause, 2000) : graceMs)
  }

  async #stop(record: ContainerRecord, message: string, graceSeconds?: number): Promise<void> {
    const { runtime, clock } = this.#options
    const { spec, id, state } = record
    if (id === undefined || state.kind !== 'running') return
    this.#say('Normal', 'Killing', message, record)
    this.#endProbes(record)
    const graceMs = this.#graceMs(graceSeconds)
    const hurried = Promise.withResolvers<void>()
    this.#stops.set(record, {
      untilMs: clock.now() + graceMs,
      hurry: (ms) => runtime.stopContainer(id, ms).then(hurried.resolve, hurried.reject),
    })
    try {
      await Promise.race([this.#endInTime(spec, id, graceMs), hurried.promise])
    } finally {
      this.#stops.delete(record)
    }
    if (record.state.kind !== 'running') return
    noteExit(record, {
      kind: 'exited',
      id,
      startedMs: record.state.startedMs,
      finishedMs: clock.now(),
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
    })
  }

  /** A container that is being stopped ends because of that, any other by itself. */
  #ended(container: RuntimeContainer): void {
    const record = this.records.find(({ id }) => id === container.id)
    if (record === undefined) return
    if (this.#stops.has(record)) this.#onExit(container, record)
    else withCause(runtimeCause, () => this.#onExit(container, record))
  }

  #onExit(container: RuntimeContainer, record: ContainerRecord): void {
    if (container.state.kind !== 'exited') return
    this.#endProbes(record)
    noteExit(record, this.#withMessage(record, container.state))
    const { exitCode } = container.state
    this.#log.debug('container ended', { container: container.name, exitCode })
    const delayMs = record.retryAtMs - this.#options.clock.now()
    if (delayMs > 0 && !this.#options.isEnding()) {
      const { name, namespace, uid } = this.#options.pod().metadata
      const pod = `${name}_${namespace}(${uid})`
      const message = `Back-off restarting failed container ${container.name} in pod ${pod}`
      this.#say('Warning', 'BackOff', message, record)
    }
    this.#options.onChange()
  }

  /** Its log stands in for the message of a container that failed, if its policy says so. */
  #withMessage({ spec, id }: ContainerRecord, exited: ContainerExited): ContainerExited {
    const isFallback = spec.terminationMessagePolicy === 'FallbackToLogsOnError'
    if (!isFallback || exited.exitCode === 0 || exited.message !== undefined) return exited
    const message = messageFromLog(this.#options.runtime.logs(id ?? ''))
    return message === '' ? exited : { ...exited, message }
  }

  /** The container runs: its probes begin, the others' verdicts waiting for the startup probe's. */
  #begin(record: ContainerRecord): void {
    const { startupProbe, readinessProbe, livenessProbe } = record.spec
    if (!startupProbe && !readinessProbe && !livenessProbe) {
      record.isStarted = true
      record.isReady = true
      return
    }
    const probing = new AbortController()
    this.#probing.set(record, probing)
    const afterStartup = (): void => {
      record.isStarted = true
      record.isReady = readinessProbe === undefined
      if (readinessProbe !== undefined) {
        this.#probe(record, { kind: 'readiness', probe: readinessProbe, probing }, (passes) => {
          record.isReady = passes
        })
      }
      if (livenessProbe !== undefined) {
        this.#probe(record, { kind: 'liveness', probe: livenessProbe, probing }, (passes) => {
          if (!passes) this.#killUnhealthy(record, 'liveness', livenessProbe)
        })
      }
    }
    if (startupProbe === undefined) afterStartup()
    else {
      const startup = new AbortController()
      const signal = AbortSignal.any([probing.signal, startup.signal])
      const how = { kind: 'startup' as const, probe: startupProbe, probing: { signal } }
      this.#probe(record, how, (passes) => {
        startup.abort()
        if (passes) afterStartup()
        else this.#killUnhealthy(record, 'startup', startupProbe)
      })
    }
  }

  #probe(
    record: ContainerRecord,
    how: { kind: ProbeKind; probe: Probe; probing: { signal: AbortSignal } },
    onVerdict: (passes: boolean) => void,
  ): void {
    const { runtime, clock, onProbe, pod } = this.#options
    const { kind, probe, probing } = how
    const title = kind.charAt(0).toUpperCase() + kind.slice(1)
    const options: ProberOptions = {
      probe,
      clock,
      look: async () => {
        const finding = await runtime.probe(record.id ?? '', kind)
        const { passes } = finding
        onProbe({ pod: pod(), container: record.spec.name, kind, passes })
        return finding
      },
      onVerdict: (passes) => {
        onVerdict(passes)
        this.#options.onChange()
      },
      onMiss: (output) =>
        this.#say('Warning', 'Unhealthy', `${title} probe failed: ${output}`, record),
    }
    const prober = withCause(probeCause, () => runProber(options, probing.signal))
    prober.catch((error: unknown) => this.#log.error('prober failed', { error }))
  }

  #endProbes(record: ContainerRecord): void {
    this.#probing.get(record)?.abort()
    this.#probing.delete(record)
  }

  #killUnhealthy(record: ContainerRecord, kind: ProbeKind, probe: Probe): void {
    if (record.isBusy) return
    const graceSeconds = probe.terminationGracePeriodSeconds
    const isRestarted = this.#options.pod().spec?.restartPolicy !== 'Never'
    const message =
      `Container ${record.spec.name} failed ${kind} probe` +
      (isRestarted ? ', will be restarted' : '')
    void this.act({ do: 'stop', record, message, graceSeconds })
  }
}
