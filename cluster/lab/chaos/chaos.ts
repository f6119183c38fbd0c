/** Chaos: faults of a plan, begun and ended by the cluster's clock, and counted. One at a time in a cluster. */
import { backgroundOf } from '../../../components/component-base/clock.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { ClusterError } from '../../cluster-error.ts'
import { describeFault } from '../describe-fault.ts'
import type { FaultStatus } from '../fault-spec.ts'
import type { LabChaos, LabFaults } from '../lab.ts'
import type { ChaosReport, ChaosSpec } from './chaos-report.ts'
import type { ChaosParts } from './chaos-parts.ts'
import { faultOnEachPart } from './chaos-parts.ts'
import { defaultMix } from './default-mix.ts'
import { planChaos } from './plan-chaos.ts'
import type { PlannedFault } from './plan-chaos.ts'

export interface ChaosOf {
  readonly faults: LabFaults
  /** The cluster's. */
  readonly clock: Clock
  readonly parts: () => ChaosParts
}

/** One fault of a plan that has begun. */
interface Begun {
  readonly planned: PlannedFault
  fired: number
  isActive: boolean
}

class ChaosRun {
  readonly seed: number
  readonly forMs: number
  readonly #of: ChaosOf
  readonly #clock: Clock
  readonly #plan: readonly PlannedFault[]
  readonly #entries: ChaosReport['faults']
  readonly #beganMs: number
  readonly #begun = new Map<string, Begun>()
  readonly #refused: ChaosReport['refused'][number][] = []
  readonly #over = Promise.withResolvers<void>()
  #cancelNext = (): void => {}
  readonly #cancelEnd: () => void
  #endedMs: number | undefined

  constructor(of: ChaosOf, spec: ChaosSpec) {
    const parts = of.parts()
    const { forMs, seed = Math.floor(of.clock.random() * 2 ** 32) } = spec
    const mix = spec.mix ?? defaultMix(parts.form)
    this.seed = seed
    this.forMs = forMs
    this.#of = of
    this.#clock = backgroundOf(of.clock)
    this.#plan = spec.plan ?? planChaos({ seed, forMs, mix, parts })
    this.#entries = mix.faults.map(({ fault }) => ({
      what: describeFault(fault),
      parts: faultOnEachPart(fault, parts).length,
      begun: 0,
      fired: 0,
    }))
    this.#beganMs = this.#clock.now()
    this.#next(0)
    this.#cancelEnd = this.#clock.after(forMs, () => void this.end())
  }

  get isOver(): boolean {
    return this.#endedMs !== undefined
  }

  get over(): Promise<void> {
    return this.#over.promise
  }

  get report(): ChaosReport {
    const begun = [...this.#begun.values()]
    const faults = this.#entries.map((entry, index) => {
      const own = begun.filter(({ planned }) => planned.entry === index)
      return { ...entry, begun: own.length, fired: own.reduce((sum, one) => sum + one.fired, 0) }
    })
    const endMs = this.#endedMs ?? this.#clock.now()
    const { seed, forMs, isOver } = this
    return { seed, forMs, tookMs: endMs - this.#beganMs, isOver, faults, refused: this.#refused }
  }

  /** Heals what is left. Idempotent. */
  async end(): Promise<void> {
    if (this.isOver) return
    this.#endedMs = this.#clock.now()
    this.#cancelNext()
    this.#cancelEnd()
    await this.#count()
    for (const [name, one] of this.#begun) if (one.isActive) await this.#heal(name)
    await this.#count()
    this.#over.resolve()
  }

  #next(index: number): void {
    const planned = this.#plan[index]
    if (planned === undefined) return
    const waitMs = Math.max(0, this.#beganMs + planned.atMs - this.#clock.now())
    this.#cancelNext = this.#clock.after(waitMs, () => {
      this.#next(index + 1)
      void this.#begin(planned)
    })
  }

  async #begin(planned: PlannedFault): Promise<void> {
    const { name = '' } = planned.fault
    const endsMs = ({ atMs, forMs }: PlannedFault): number => this.#beganMs + atMs + forMs
    // What took long to begin may not have ended yet.
    const late = [...this.#begun].filter(
      ([, one]) => one.isActive && endsMs(one.planned) < this.#beganMs + planned.atMs,
    )
    try {
      // Without a wait before it, so that an advance of the clock waits for it.
      const healing = late.map(([of]) => this.#heal(of))
      const adding = this.#of.faults.add(planned.fault)
      this.#begun.set(name, { planned, fired: 0, isActive: true })
      await Promise.all([...healing, adding])
    } catch (error) {
      this.#begun.delete(name)
      this.#refused.push({ fault: name, what: describeFault(planned.fault), why: messageOf(error) })
    }
    await this.#count()
  }

  async #heal(name: string): Promise<void> {
    await this.#of.faults.heal(name).catch(() => {
      // It has ended.
    })
  }

  async #count(): Promise<void> {
    const active = [...this.#begun].filter(([, one]) => one.isActive)
    if (active.length === 0) return
    const statuses = new Map<string, FaultStatus>()
    for (const status of await this.#of.faults.list()) statuses.set(status.name, status)
    for (const [name, one] of active) {
      const status = statuses.get(name)
      if (status === undefined) continue
      one.fired = status.fired
      one.isActive = status.ended === undefined
    }
  }
}

export class Chaos implements LabChaos {
  readonly #of: ChaosOf
  #run: ChaosRun | undefined

  constructor(of: ChaosOf) {
    this.#of = of
  }

  get isUnderWay(): boolean {
    return this.#run?.isOver === false
  }

  async begin(spec: ChaosSpec): Promise<ChaosReport> {
    if (this.#run?.isOver === false)
      throw new ClusterError('already-exists', `a chaos is under way: seed ${this.#run.seed}`, {
        hint: 'wait until it is over, or end the command that began it',
      })
    this.#run = new ChaosRun(this.#of, spec)
    return this.#run.report
  }

  async over(): Promise<ChaosReport> {
    const run = this.#last()
    await run.over
    return run.report
  }

  async stop(): Promise<ChaosReport> {
    const run = this.#last()
    await run.end()
    await run.over
    return run.report
  }

  /** As `stop`, without a report; nothing where there is none. */
  async end(): Promise<void> {
    await this.#run?.end()
  }

  #last(): ChaosRun {
    if (this.#run !== undefined) return this.#run
    throw new ClusterError('not-found', 'there was no chaos in this cluster')
  }
}
