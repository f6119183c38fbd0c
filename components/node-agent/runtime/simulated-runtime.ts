/**
 * SimulatedRuntime: containers that exist only as records. They start at once and run until they are stopped, init
 * containers until they are started, those of a Job for a second. They do what their command says if it is one that can be
 * simulated (simulated-command.ts), and misbehave as the pod's annotations ask (simulation.ts). It takes up what a pod's status
 * says ran before the agent was restarted.
 */
import type { Duplex } from 'node:stream'
import type { Container, Pod } from '../../api/generated/types.ts'
import { podWish, type PodWishes } from '../../api/simulation.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { WriteCheckpoint } from './checkpoint-archive.ts'
import type {
  CheckpointRequest,
  CommandStreams,
  ContainerRuntime,
  LogLine,
  PodHost,
  ProbeFinding,
  ProbeKind,
  RuntimeContainer,
  StartRequest,
} from './container-runtime.ts'
import { RuntimeFault } from './container-runtime.ts'
import { containerSpecOf } from '../pods/pod-spec.ts'
import { exited, outOfMemory, type HowExited } from './exited-container.ts'
import { imageIdOf } from './image-id.ts'
import { restoredFrom, statusesOf } from './restored-container.ts'
import { waitForCheckpoint } from './simulated-checkpoint.ts'
import { courseOfCommand, courseOfUnknown, shellOf, type Course } from './simulated-command.ts'
import { drained, execSimulated } from './simulated-exec.ts'
import { connectToListener } from './simulated-listener.ts'
import { lineDueMs, logLength, logLines, type Writing } from './simulated-log.ts'
import { lookSimulated } from './simulated-probe.ts'
import type { ContainerUsage } from './usage-meter.ts'
import { UsageLedger } from './usage-ledger.ts'
import type { UsageRules } from './usage-rules.ts'

type Variables = Readonly<Record<string, string>>

interface Simulated {
  readonly podUid: string
  container: RuntimeContainer
  /** Its environment variables. */
  readonly variables: () => Promise<Variables>
  /** Undefined: runs until it is stopped. */
  course: Course | undefined
  /** Cancels the scheduled end. */
  cancelExit: () => void
  /** Readers that wait for the next line; aborting one wakes it. */
  readonly watchers: Set<AbortController>
  /** The previous attempt. */
  readonly previous: Simulated | undefined
}

interface SimulatedPod {
  pod: Pod
  readonly containers: Map<string, Simulated>
  readonly host: PodHost
}

const longestWaitMs = 60 * 60 * 1000

/** Wakes the readers that wait for the container's next line. */
function wake({ watchers }: Simulated): void {
  for (const watcher of watchers) watcher.abort(new Error('something happened'))
}

async function* nothing(): AsyncIterable<readonly LogLine[]> {}

export class SimulatedRuntime implements ContainerRuntime {
  readonly name = 'simulated'
  readonly version: string
  readonly #clock: Clock
  readonly #pods = new Map<string, SimulatedPod>()
  readonly #byId = new Map<string, Simulated>()
  readonly #images = new Set<string>()
  readonly #writeCheckpoint: WriteCheckpoint
  readonly #usage: UsageLedger
  #fault: string | undefined

  constructor(options: { clock: Clock; version: string; writeCheckpoint: WriteCheckpoint }) {
    this.#clock = options.clock
    this.version = options.version
    this.#writeCheckpoint = options.writeCheckpoint
    this.#usage = new UsageLedger(options.clock)
  }

  fault(): string | undefined {
    return this.#fault
  }

  /** Sets the fault that the runtime reports; undefined clears it. */
  setFault(reason: string | undefined): void {
    this.#fault = reason
  }

  admitPod(pod: Pod, host: PodHost): readonly RuntimeContainer[] {
    this.#pods.set(pod.metadata.uid ?? '', { pod, containers: new Map(), host })
    const restored: RuntimeContainer[] = []
    for (const status of statusesOf(pod)) {
      const container = restoredFrom(status)
      if (container === undefined) continue
      this.#images.add(status.image)
      restored.push(container)
      const { last, attempt } = container
      if (last !== undefined)
        this.#keep(
          pod,
          { ...container, id: last.id, attempt: attempt - 1, state: last },
          async () => ({}),
        )
      const variables = this.#restoredVariables(pod, container.name)
      const record = this.#keep(pod, container, variables)
      void this.#courseOf(pod, container.name, variables).then((course) =>
        this.#take(record, course),
      )
    }
    return restored
  }

  hasImage(image: string): boolean {
    return this.#images.has(image)
  }

  async pullImage({ pod, container }: { pod: Pod; container: Container }): Promise<void> {
    const image = container.image ?? ''
    if (this.#wish(pod, 'start', container.name) === 'image-pull-error') {
      throw new RuntimeFault(
        'ErrImagePull',
        `rpc error: code = NotFound desc = failed to pull and unpack image "${image}": not found`,
      )
    }
    this.#images.add(image)
  }

  async startContainer(request: StartRequest): Promise<RuntimeContainer> {
    const { pod, container, attempt } = request
    if (this.#fault !== undefined) throw new RuntimeFault('CreateContainerError', this.#fault)
    const delay = this.#wish(pod, 'startDelay', container.name)
    if (delay !== undefined) await this.#clock.sleep(delay)
    if (this.#wish(pod, 'start', container.name) === 'fail') {
      throw new RuntimeFault('CreateContainerError', 'simulated failure to create the container')
    }
    const started: RuntimeContainer = {
      id: this.#clock.randomBytes(32).toString('hex'),
      name: container.name,
      attempt,
      image: container.image ?? '',
      imageId: imageIdOf(container.image ?? ''),
      state: { kind: 'running', startedMs: this.#clock.now() },
    }
    const variables = async (): Promise<Variables> => request.environment
    const course = await this.#courseOf(pod, container.name, variables)
    this.#take(this.#keep(pod, started, variables), course)
    return started
  }

  async stopContainer(id: string, graceMs: number): Promise<void> {
    const known = this.#byId.get(id)
    const pod = this.#pods.get(known?.podUid ?? '')?.pod
    if (known === undefined || pod === undefined || known.container.state.kind === 'exited') return
    const needs = this.#wish(pod, 'stopAfter', known.container.name) ?? 0
    if (needs > 0) await this.#clock.sleep(Math.min(needs, graceMs))
    // 137 is 128 + SIGKILL.
    this.#exit(known, needs > graceMs ? { exitCode: 137, signal: 9 } : { exitCode: 0 })
  }

  /** All containers end, as when the machine loses power; with `images`, these are lost too. */
  lose({ images }: { readonly images: boolean }): void {
    if (images) this.#images.clear()
    // What upstream's runtimes say of a container whose end they have not seen.
    for (const record of this.#byId.values()) this.#exit(record, { exitCode: 255 })
  }

  updatePod(pod: Pod): void {
    const known = this.#pods.get(pod.metadata.uid ?? '')
    if (known === undefined) return
    known.pod = pod
    for (const each of known.containers.values()) this.#watchMemory(each)
  }

  /** Takes these rules for pods without annotations from now on. */
  useRules(rules: UsageRules): void {
    this.#usage.rules = rules
    for (const { containers } of this.#pods.values()) {
      for (const each of containers.values()) this.#watchMemory(each)
    }
  }

  removePod(podUid: string): void {
    const known = this.#pods.get(podUid)
    if (known === undefined) return
    this.#pods.delete(podUid)
    for (const each of known.containers.values()) {
      this.#usage.end(each.container, known.pod)
      each.cancelExit()
      this.#byId.delete(each.container.id)
      if (each.previous !== undefined) this.#byId.delete(each.previous.container.id)
      wake(each)
    }
  }

  async probe(id: string, kind: ProbeKind): Promise<ProbeFinding> {
    const known = this.#byId.get(id)
    const pod = this.#pods.get(known?.podUid ?? '')?.pod
    if (known === undefined || pod === undefined) return { passes: false, output: '' }
    const { name, state } = known.container
    if (state.kind === 'exited') return { passes: false, output: '' }
    const wish = this.#wish(pod, kind, name)
    if (wish !== undefined) {
      return { ...wish(this.#clock.now() - state.startedMs), output: '' }
    }
    const probe = containerSpecOf(pod, name)?.[`${kind}Probe`]
    return await lookSimulated(probe, {
      pod,
      variables: known.variables,
      clock: this.#clock,
    })
  }

  async checkpoint({ containerId, location, timeoutSeconds }: CheckpointRequest): Promise<void> {
    const { known, pod } = this.#running(containerId)
    const wish = this.#wish(pod, 'checkpoint', known.container.name)
    await waitForCheckpoint(wish, timeoutSeconds, this.#clock)
    await this.#writeCheckpoint({ pod, container: known.container, location })
  }

  logs(id: string): readonly LogLine[] {
    const known = this.#byId.get(id)
    if (known === undefined) return []
    return logLines(known.container, this.#writing(known), { from: 0, nowMs: this.#clock.now() })
  }

  followLogs(id: string, signal: AbortSignal): AsyncIterable<readonly LogLine[]> {
    const known = this.#byId.get(id)
    if (known === undefined) return nothing()
    const from = logLength(known.container, this.#writing(known), this.#clock.now())
    return this.#follow(known, from, signal)
  }

  async exec(id: string, command: readonly string[], streams: CommandStreams): Promise<number> {
    const { known, pod } = this.#running(id)
    return await this.#execute(known, pod, command, streams)
  }

  async attach(id: string, streams: CommandStreams): Promise<void> {
    const { known, pod } = this.#running(id)
    const spec = containerSpecOf(pod, known.container.name)
    const shell = spec && known.course === undefined ? shellOf(spec) : undefined
    if (shell !== undefined && streams.stdin !== undefined) {
      const exitCode = await this.#execute(known, pod, shell, streams)
      // With stdinOnce the container ends with its first client; otherwise it runs until it is stopped.
      if (!streams.signal.aborted) this.#exit(known, { exitCode })
      else if (spec?.stdinOnce === true) this.#exit(known, { exitCode: 0 })
      return
    }
    const { stdin, stdout, isTerminal, signal } = streams
    stdin?.resume() // the container ignores input
    const end = isTerminal ? '\r\n' : '\n'
    for await (const lines of this.followLogs(id, signal)) {
      if (stdout === undefined || stdout.destroyed) continue
      const text = lines.map((line) => line.text + (line.isPartial ? '' : end))
      const isTaken = stdout.write(text.join(''))
      if (!isTaken) await drained(stdout)
    }
  }

  async #execute(
    known: Simulated,
    pod: Pod,
    command: readonly string[],
    streams: CommandStreams,
  ): Promise<number> {
    const ending = new AbortController()
    known.watchers.add(ending)
    try {
      return await execSimulated(command, {
        pod,
        variables: await known.variables(),
        streams,
        ended: ending.signal,
        clock: this.#clock,
      })
    } finally {
      known.watchers.delete(ending)
    }
  }

  /** The environment of a restored container, resolved on first use with current values. */
  #restoredVariables(pod: Pod, name: string): () => Promise<Variables> {
    let found: Promise<Variables> | undefined
    return () => {
      const spec = containerSpecOf(pod, name)
      const host = this.#pods.get(pod.metadata.uid ?? '')?.host
      // The values at its start are lost; omit those that cannot be read now.
      found ??= spec && host ? host.environment(spec).catch(() => ({})) : Promise.resolve({})
      return found
    }
  }

  async connect(podUid: string, port: number): Promise<Duplex> {
    const pod = this.#pods.get(podUid)?.pod
    const listener = [...(this.#pods.get(podUid)?.containers.values() ?? [])].find(
      ({ container }) =>
        container.state.kind === 'running' &&
        pod !== undefined &&
        this.#wish(pod, 'listen', container.name)?.includes(port) === true,
    )
    if (listener !== undefined && pod !== undefined) {
      const { namespace = '', name = '' } = pod.metadata
      return connectToListener({
        who: `${namespace}/${name}`,
        port,
        onRequest: () => {
          this.#usage.request(listener.container.id)
          this.#watchMemory(listener)
        },
      })
    }
    throw new Error(
      `failed to connect to localhost:${port} inside pod ${podUid}: connect: connection refused`,
    )
  }

  /** A running container, with its pod's current object. */
  #running(id: string): { known: Simulated; pod: Pod } {
    const known = this.#byId.get(id)
    const pod = this.#pods.get(known?.podUid ?? '')?.pod
    if (known === undefined || pod === undefined || known.container.state.kind === 'exited') {
      throw new RuntimeFault('NotFound', `container ${id} is not running`)
    }
    return { known, pod }
  }

  usage(id: string): ContainerUsage | undefined {
    const known = this.#byId.get(id)
    const pod = this.#pods.get(known?.podUid ?? '')?.pod
    return known && pod && this.#usage.read(known.container, pod)
  }

  endedCoreSeconds(nodeName: string): number {
    return this.#usage.ended(nodeName)
  }

  previous(id: string): string | undefined {
    return this.#byId.get(id)?.previous?.container.id
  }

  #writing({ podUid, container, course }: Simulated): Writing {
    const pod = this.#pods.get(podUid)?.pod
    const everyMs = pod && this.#wish(pod, 'logEvery', container.name)
    return { everyMs, output: everyMs === undefined ? course?.output : undefined }
  }

  async *#follow(
    known: Simulated,
    start: number,
    signal: AbortSignal,
  ): AsyncIterable<readonly LogLine[]> {
    const clock = this.#clock
    let from = start
    for (;;) {
      const writing = this.#writing(known)
      const lines = logLines(known.container, writing, { from, nowMs: clock.now() })
      from += lines.length
      if (lines.length > 0) yield lines
      const { state } = known.container
      const isGone = this.#byId.get(known.container.id) !== known
      if (signal.aborted || isGone || state.kind === 'exited') return
      // Wait for the next line; the container's end wakes this loop earlier.
      const afterMs = lineDueMs(writing, from)
      const dueMs = afterMs === undefined ? longestWaitMs : state.startedMs + afterMs - clock.now()
      const waking = new AbortController()
      known.watchers.add(waking)
      try {
        await clock.sleep(Math.max(1, dueMs), AbortSignal.any([signal, waking.signal]))
      } catch {
        // Woken, or the client disconnected: the loop checks both.
      } finally {
        known.watchers.delete(waking)
      }
    }
  }

  #wish<Name extends keyof PodWishes>(
    pod: Pod,
    name: Name,
    container: string,
  ): PodWishes[Name] | undefined {
    // Use the pod's current annotations; they can have changed during the call.
    const { metadata } = this.#pods.get(pod.metadata.uid ?? '')?.pod ?? pod
    return podWish(metadata.annotations, name, container)
  }

  /** Undefined if the pod was removed while the container was starting. */
  #keep(
    pod: Pod,
    container: RuntimeContainer,
    variables: Simulated['variables'],
  ): Simulated | undefined {
    const podUid = pod.metadata.uid ?? ''
    const home = this.#pods.get(podUid)
    if (home === undefined) return undefined
    const earlier = home.containers.get(container.name)
    // Keeps the log of the last attempt, and drops that of the one before.
    if (earlier?.previous !== undefined) this.#byId.delete(earlier.previous.container.id)
    const previous = earlier && { ...earlier, previous: undefined }
    if (previous !== undefined) this.#byId.set(previous.container.id, previous)
    const record: Simulated = {
      podUid,
      container,
      variables,
      course: undefined,
      cancelExit: () => {},
      watchers: new Set(),
      previous,
    }
    home.containers.set(container.name, record)
    this.#byId.set(container.id, record)
    this.#usage.start(container)
    this.#watchMemory(record)
    return record
  }

  /** Annotations override the command's prediction. */
  async #courseOf(
    pod: Pod,
    name: string,
    variables: Simulated['variables'],
  ): Promise<Course | undefined> {
    const exitAfter = this.#wish(pod, 'exitAfter', name)
    if (exitAfter !== undefined) return { output: undefined, endsAfterMs: exitAfter, exitCode: 0 }
    const spec = containerSpecOf(pod, name)
    return (spec && (await courseOfCommand(pod, spec, variables))) ?? courseOfUnknown(pod, name)
  }

  #take(record: Simulated | undefined, course: Course | undefined): void {
    if (record === undefined || course === undefined) return
    record.course = course
    const { container, podUid } = record
    if (container.state.kind === 'exited' || this.#byId.get(container.id) !== record) return
    const remaining = container.state.startedMs + course.endsAfterMs - this.#clock.now()
    record.cancelExit = this.#clock.after(Math.max(0, remaining), () => {
      const pod = this.#pods.get(podUid)?.pod
      const wish = pod && this.#wish(pod, 'exitCode', container.name)
      this.#exit(record, { exitCode: wish ?? course.exitCode })
    })
  }

  /** Kills the container at the moment at which its memory exceeds its limit. Call it when what it uses may have changed. */
  #watchMemory(record: Simulated): void {
    const pod = this.#pods.get(record.podUid)?.pod
    if (pod === undefined || record.container.state.kind === 'exited') return
    this.#usage.watchMemory(record.container, pod, () => this.#exit(record, outOfMemory))
  }

  #exit(record: Simulated, how: HowExited): void {
    const { state } = record.container
    if (state.kind === 'exited') return
    record.cancelExit()
    const home = this.#pods.get(record.podUid)
    if (home !== undefined) this.#usage.end(record.container, home.pod)
    record.container = exited(record.container, how, this.#clock.now())
    wake(record)
    home?.host.onExit(record.container)
  }
}
