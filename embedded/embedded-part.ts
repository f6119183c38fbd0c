/** EmbeddedPart: a component of an embedded cluster over all its runs. It is stopped, killed and paused by name, and starts again as under a supervisor. */
import type { EmbeddedComponent } from './component.ts'
import { ComponentLife } from './component-life.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { decideRestart } from '../cluster/supervisor/restart-policy.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'

export interface EmbeddedPartOptions {
  /** Starts a run. Throws or rejects with what keeps it from starting. */
  readonly launch: (life: ComponentLife, runs: number) => Promise<EmbeddedComponent>
  readonly underWay: UnderWay
  /** The cluster's. */
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** A run is ready: the first, or a later one. */
  readonly onReady?: (runs: number) => Promise<void>
  /** A run after a kill did not become ready. */
  readonly onFailure: (error: unknown) => void
}

export type PartVerb = 'kill' | 'pause' | 'resume' | 'restart' | 'stop' | 'start'

interface Run {
  readonly life: ComponentLife
  readonly component: Promise<EmbeddedComponent>
  readonly startMs: number
}

export class EmbeddedPart {
  readonly #options: EmbeddedPartOptions
  #run: Run | undefined
  #runs = 0
  #skewMs = 0
  #crashes = 0

  constructor(options: EmbeddedPartOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#run !== undefined
  }

  get isPaused(): boolean {
    return this.#run?.life.isPaused === true
  }

  /** How often it has started. */
  get runs(): number {
    return this.#runs
  }

  async act(verb: PartVerb): Promise<void> {
    switch (verb) {
      case 'kill':
        return this.kill()
      case 'pause':
        return this.pause()
      case 'resume':
        return this.resume()
      case 'stop':
        return await this.stop()
      case 'start':
        return void (await this.start())
      case 'restart':
        await this.stop()
        return void (await this.start())
    }
  }

  /** Resolves when it is ready, at once if it runs. */
  async start(): Promise<Readonly<Record<string, unknown>>> {
    const run = this.#run ?? this.#begin()
    try {
      const component = await run.component
      return await component.ready
    } catch (error) {
      const isAgain = run.life.isKilled && this.#run !== undefined && this.#run !== run
      if (!isAgain) throw error
    }
    // It was killed meanwhile, and starts again.
    return await this.start()
  }

  /** Ends it as TERM does. A paused one cannot say goodbye. */
  async stop(): Promise<void> {
    const run = this.#run
    this.#run = undefined
    if (run === undefined) return
    if (run.life.isPaused) this.#cut(run)
    else await run.component.then((component) => component.stop()).catch(() => {})
  }

  /** Ends it as KILL does: nothing of it happens any more. It starts again at once. */
  kill(): void {
    const run = this.#run
    if (run === undefined) throw new Error('it does not run')
    this.#cut(run)
    const { onFailure, underWay } = this.#options
    const end = underWay.begin()
    this.#run = undefined
    const started = this.#begin()
    started.component
      .then((component) => component.ready)
      .catch((error: unknown) => {
        // It may have been killed again.
        if (this.#run === started) onFailure(error)
      })
      .finally(end)
  }

  /** It was ready and has ended by itself: it starts again as under a supervisor. */
  crashed(): void {
    const run = this.#run
    if (run === undefined) return
    const { clock, onFailure } = this.#options
    const ranMs = clock.now() - run.startMs
    const decided = decideRestart({ wasReady: true, ranMs, signal: undefined }, this.#crashes)
    this.#crashes = decided.crashes
    this.#cut(run)
    clock.after(decided.delayMs, () => {
      // It may have been stopped, or started, meanwhile.
      if (this.#run !== run) return
      this.#run = undefined
      this.start().catch(onFailure)
    })
  }

  pause(): void {
    if (this.#run === undefined) throw new Error('it does not run')
    this.#run.life.pause()
  }

  resume(): void {
    this.#run?.life.resume()
  }

  /** Its clock is this far ahead from now on, in later runs too. */
  skew(ms: number): void {
    this.#skewMs = ms
    if (this.#run !== undefined) this.#run.life.skewMs = ms
  }

  /** Rejects where it does not run. */
  async command(name: string, params: unknown): Promise<unknown> {
    if (this.#run === undefined) throw new Error('it does not run')
    return await (await this.#run.component).command(name, params)
  }

  #begin(): Run {
    const { launch, underWay, onReady } = this.#options
    this.#runs += 1
    const runs = this.#runs
    const life = new ComponentLife(underWay)
    life.skewMs = this.#skewMs
    const component = launch(life, runs)
    const run = { life, component, startMs: this.#options.clock.now() }
    this.#run = run
    component
      .then((one) => one.ready)
      .then(() => onReady?.(runs))
      .catch(() => {
        // Whoever started it has the reason.
      })
    return run
  }

  #cut({ life, component }: Run): void {
    life.kill()
    // What it holds of this process: listeners, threads.
    void component.then((one) => one.stop()).catch(() => {})
  }
}
