/** One run of a story: the controller starts, the steps happen one after the other, faults come as planned, and each step has to come to rest. */
import { compareStates, createStateReader, plainName } from './end-state.ts'
import type { EndState, StateReader } from './end-state.ts'
import type { ControllerUnderTest, RunningController } from './controller-under-test.ts'
import type { Finding } from './finding.ts'
import type { Traffic } from './gate/traffic.ts'
import type { Place } from './place.ts'
import { describeFault } from './planned-fault.ts'
import type { PlannedFault } from './planned-fault.ts'
import type { Reference } from './reference.ts'
import { createStepRunner, StepError } from './story-steps.ts'
import type { Story } from './story.ts'

export interface StoryRunOptions {
  readonly place: Place
  readonly story: Story
  readonly controller: ControllerUnderTest
  readonly faults: readonly PlannedFault[]
  /** What the run is compared to; without one it is to become a reference. */
  readonly reference?: Reference | undefined
  /** Read beside what the controller writes. */
  readonly resources?: ReadonlySet<string>
  readonly signal: AbortSignal
}

export interface StoryRunResult {
  readonly traffic: Traffic
  readonly states: readonly EndState[]
  readonly resources: ReadonlySet<string>
  /** The first step whose state has objects of all `resources`. */
  readonly completeFrom: number
  readonly findings: readonly Finding[]
  /** Faults that nothing has met: the plan did not happen. */
  readonly unfired: readonly PlannedFault[]
  readonly seconds: number
}

/** On a busy machine a controller may do nothing for a while before it has begun: it may have this many times the quiet. */
export const patience = 4
const pollMs = 20
/** A state that differs is read this often. */
const readAgainMs = 250
const silentMs = 30_000
const mostOutputBytes = 50 * 1024 * 1024
/** A controller that a fault ends is started again this often, as a kubelet would. */
const mostStarts = 5
const startAgainMs = 200

/** The run is over: a finding ends it. */
class RunOver extends Error {
  readonly findings: readonly Finding[]
  constructor(findings: readonly Finding[]) {
    super('the run is over')
    this.findings = findings
  }
}

export async function runStory(options: StoryRunOptions): Promise<StoryRunResult> {
  const { place, signal } = options
  signal.throwIfAborted()
  await place.reset()
  const startedMs = place.clock.now()
  const run = new StoryRun(options)
  const result = await run.run()
  signal.throwIfAborted()
  return { ...result, seconds: (place.clock.now() - startedMs) / 1000 }
}

class StoryRun {
  readonly #options: StoryRunOptions
  readonly #reader: StateReader
  readonly #states: EndState[] = []
  readonly #resources: Set<string>
  #completeFrom = 0
  /** The server's resourceVersion after each step. */
  readonly #revisions: string[] = []
  #running: RunningController | undefined
  #restarting: Promise<void> | undefined
  #starts = 0
  #startedMs = 0
  #problem: Finding | undefined

  constructor(options: StoryRunOptions) {
    this.#options = options
    this.#reader = createStateReader(options.place.client)
    this.#resources = new Set(options.reference?.resources ?? options.resources)
  }

  async run(): Promise<Omit<StoryRunResult, 'seconds'>> {
    const { place, faults } = this.#options
    const { gate } = place
    gate.begin({ faults, onKill: () => this.#restart() })
    let findings: readonly Finding[] = []
    try {
      await this.#tell()
    } catch (error) {
      if (error instanceof RunOver) ({ findings } = error)
      else throw error
    } finally {
      await this.#end()
    }
    return {
      traffic: gate.traffic,
      states: this.#states,
      resources: this.#resources,
      completeFrom: this.#completeFrom,
      findings,
      unfired: gate.interference.unfired,
    }
  }

  get #step(): number {
    return this.#options.place.gate.interference.step
  }

  async #tell(): Promise<void> {
    const { place, story, signal } = this.#options
    const { gate, client, clock } = place
    const steps = createStepRunner({ client, clock, variables: story.variables })
    for (const step of story.steps) await this.#noteKinds(step.params)
    this.#start()
    await this.#rest()
    for (const [index, step] of story.steps.entries()) {
      gate.interference.step = index + 1
      gate.mark(`step ${index + 1}: ${steps.titleOf(step)}`)
      try {
        await steps.run(step, signal)
      } catch (error) {
        if (!(error instanceof StepError)) throw error
        throw new RunOver([{ kind: 'step', step: index + 1, message: error.message }])
      }
      await this.#rest()
    }
  }

  /** The kinds that the story itself writes. */
  async #noteKinds(params: unknown): Promise<void> {
    for (const one of [params].flat()) {
      const { kind, apiVersion } = (one ?? {}) as { kind?: unknown; apiVersion?: unknown }
      if (typeof kind !== 'string') continue
      const version = typeof apiVersion === 'string' ? apiVersion : undefined
      const resource = await this.#reader.resourceOf(kind, version)
      if (resource !== undefined) this.#resources.add(resource)
    }
  }

  async #rest(): Promise<void> {
    const { gate } = this.#options.place
    const { interference } = gate
    if (interference.isBlindLater) {
      await this.#untilQuiet()
      this.#states.push(new Map())
      return
    }
    if (interference.endsBlindness()) {
      await this.#untilQuiet()
      gate.endBlindness()
    }
    await this.#untilAsExpected()
    await this.#restartOld()
  }

  /** The plan's restart against an old view, after this step. */
  async #restartOld(): Promise<void> {
    const { place, faults } = this.#options
    const { gate, client, clock } = place
    const stale = faults.filter((fault) => fault.kind === 'stale-restart')
    if (stale.length === 0) return
    const { metadata } = (await client.rest.json({
      method: 'GET',
      path: '/api/v1/namespaces?limit=1',
    })) as { metadata: { resourceVersion: string } }
    this.#revisions[this.#step] = metadata.resourceVersion
    for (const fault of stale.filter(({ step }) => step === this.#step)) {
      gate.interference.noteFired(fault)
      const revision = this.#revisions[fault.view] ?? '0'
      gate.interference.showOld({ revision, forMs: fault.ms })
      gate.mark(describeFault(fault))
      this.#restart()
      await this.#restarting
      await this.#untilSpoken()
      await clock.sleep(fault.ms, this.#options.signal)
      await this.#untilAsExpected()
    }
  }

  async #untilSpoken(): Promise<void> {
    const { gate, clock } = this.#options.place
    while (!gate.hasSpoken) {
      this.#check()
      await clock.sleep(pollMs, this.#options.signal)
    }
  }

  /** At most as long as the controller may take to come to rest. */
  async #untilQuiet(): Promise<void> {
    const { place, story, signal } = this.#options
    const { gate, clock } = place
    const deadlineMs = clock.now() + story.withinMs
    while (gate.restedMs() < story.quietMs && (!gate.hasSpoken || clock.now() < deadlineMs)) {
      this.#check()
      await clock.sleep(pollMs, signal)
    }
  }

  /** Until the state is that of the reference and the controller is at rest. Throws a RunOver when it does not come. */
  async #untilAsExpected(): Promise<void> {
    const { place, story, reference, signal } = this.#options
    const { gate, clock } = place
    const expected = reference?.states[this.#step]
    const writesBefore = gate.traffic.writes.length
    let sinceMs = clock.now()
    let readMs = 0
    let differences: Finding[] = []
    for (;;) {
      this.#check()
      if (!gate.hasSpoken) sinceMs = clock.now()
      const isLate = clock.now() - sinceMs > story.withinMs
      const hasRested = gate.restedMs() >= this.#quietMs() && this.#restarting === undefined
      if (hasRested && (isLate || clock.now() - readMs >= readAgainMs)) {
        const state = await this.#read()
        readMs = clock.now()
        const found =
          expected === undefined ? [] : compareStates(expected, state, reference?.ignored)
        differences = found.map((one) => ({ ...one, step: this.#step }))
        if (differences.length === 0) {
          this.#states.push(state)
          return
        }
      }
      if (isLate) break
      await clock.sleep(pollMs, signal)
    }
    if (differences.length > 0) throw new RunOver(differences)
    const writes = gate.traffic.writes.length - writesBefore
    const seconds = story.withinMs / 1000
    throw new RunOver([{ kind: 'never-rests', step: this.#step, writes, seconds }])
  }

  /** For how long the controller has to do nothing until the state tells what it has made of the step. */
  #quietMs(): number {
    const { place, story, reference } = this.#options
    if (reference === undefined) return story.quietMs
    // At first, and where nothing changes, the state is as expected before the controller has begun.
    const asked = place.gate.traffic.askedIn(this.#step)
    const hasAsked = [...reference.traffic.askedIn(this.#step)].every((one) => asked.has(one))
    if (!hasAsked) return story.quietMs * patience
    // What is as expected may go on earlier, but at the end nothing may follow.
    const isLast = this.#step === story.steps.length
    return isLast ? story.quietMs : story.quietMs / 4
  }

  async #read(): Promise<EndState> {
    const { place, reference } = this.#options
    const before = this.#resources.size
    if (reference === undefined)
      for (const { point } of place.gate.traffic.writes)
        this.#resources.add(plainName(point.resource))
    if (this.#resources.size > before) this.#completeFrom = this.#step
    return await this.#reader.read(this.#resources)
  }

  /** Throws a RunOver for a controller that does not do its part. */
  #check(): void {
    const { place } = this.#options
    if (this.#problem !== undefined) throw new RunOver([this.#problem])
    const running = this.#running
    if (running === undefined) return
    if (running.outputBytes > mostOutputBytes) {
      const megabytes = mostOutputBytes / 1024 / 1024
      throw new RunOver([{ kind: 'writes-output', step: this.#step, megabytes }])
    }
    if (!place.gate.hasSpoken && place.clock.now() - this.#startedMs > silentMs) {
      const output = running.output()
      const seconds = silentMs / 1000
      throw new RunOver([{ kind: 'silent', step: this.#step, seconds, output }])
    }
  }

  #start(): void {
    const { place, controller } = this.#options
    this.#startedMs = place.clock.now()
    place.gate.restarted()
    const running = controller.start(place.gate.kubeconfig)
    this.#running = running
    void running.ended.then((how) => {
      if (this.#running === running) this.#endedByItself(how, running.output())
    })
  }

  #endedByItself(how: string, output: readonly string[]): void {
    const { place, reference, signal } = this.#options
    this.#running = undefined
    this.#starts += 1
    place.gate.mark(`the controller ${how}`)
    if (reference === undefined || this.#starts > mostStarts) {
      this.#problem = { kind: 'ends', step: this.#step, how, output }
      return
    }
    place.gate.freeze()
    this.#restarting = place.clock
      .sleep(startAgainMs, signal)
      .then(() => this.#start())
      .catch(() => {}) // the run is interrupted
      .finally(() => (this.#restarting = undefined))
  }

  /** Kills the controller and starts it again. */
  #restart(): void {
    const running = this.#running
    this.#running = undefined
    const { gate } = this.#options.place
    gate.freeze()
    gate.mark('the controller is killed')
    this.#restarting = Promise.resolve(running?.kill())
      .then(() => this.#start())
      .finally(() => (this.#restarting = undefined))
  }

  async #end(): Promise<void> {
    await this.#restarting
    const running = this.#running
    this.#running = undefined
    this.#options.place.gate.freeze()
    await running?.kill()
  }
}
