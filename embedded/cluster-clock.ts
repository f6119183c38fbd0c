/** ClusterClock: the clock of an embedded cluster, which gives the same random choices for the same seed, and waits for its own work. */
import { hash } from 'node:crypto'
import type { Clock } from '../components/component-base/clock.ts'
import { FollowedClock } from '../components/component-base/followed-clock.ts'
import { nextTurn } from '../components/component-base/next-turn.ts'
import type { TimeSetting } from '../components/component-base/time-setting.ts'
import type { TimerMark } from '../components/component-base/timers.ts'
import { patienceMs } from '../components/component-base/under-way.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'
import { ClusterTime } from '../cluster/lab/cluster-time.ts'
import type { DueTimers, TimeFollowers } from '../cluster/lab/cluster-time.ts'

/** Work that takes longer without any timer waits for something that never comes. */
const standstillMs = 10_000
/** More than any work needs between two things that it does. */
const quietTurns = 8

export interface ClockState {
  readonly nowMs: number
  /** How much of each sequence of random choices was drawn. */
  readonly drawn: ReadonlyMap<string, number>
  readonly seed: number
}

export class ClusterClock implements TimeFollowers {
  readonly #base: Clock
  readonly #seed: number
  readonly #drawn: Map<string, number>
  readonly #clock: FollowedClock
  /** It stands still from the start: real time must not matter. */
  readonly #isSimulated: boolean
  readonly #underWay: Pick<UnderWay, 'next' | 'activity' | 'waitsForMachine'> | undefined
  /** The clock's and the lab's. */
  readonly time: ClusterTime
  /** Whether faults keep work back until time goes on, so that waiting for all of it would be in vain. */
  keepsBack: () => boolean = () => false
  /** Whether an advance may pass over times in which there is upkeep alone. */
  mayRest: () => boolean = () => true

  /** `underWay`: work that an advance waits for before time goes on. `speed`: 0 for a clock that stands still from the start. */
  constructor(
    base: Clock,
    state: Partial<ClockState> = {},
    {
      underWay,
      speed = 1,
    }: {
      readonly underWay?: Pick<UnderWay, 'next' | 'activity' | 'waitsForMachine'>
      readonly speed?: 0 | 1
    } = {},
  ) {
    this.#base = base
    this.#underWay = underWay
    this.#isSimulated = speed === 0
    this.#seed = state.seed ?? 1
    this.#drawn = new Map(state.drawn)
    const atMs = base.now()
    const setting = { nowMs: state.nowMs ?? atMs, atMs, speed }
    this.#clock = new FollowedClock(base, setting)
    this.time = new ClusterTime(this, { clock: base, setting })
  }

  now(): number {
    return this.#clock.now()
  }

  get state(): ClockState {
    return { nowMs: this.now(), drawn: new Map(this.#drawn), seed: this.#seed }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal)
  }

  after(ms: number, callback: () => void): () => void {
    return this.#clock.after(ms, callback)
  }

  /**
   * The same time with random choices of its own, so that what one part draws does not depend on how often others did; and what
   * names are made of not on how many requests there were.
   */
  of(part: string): Clock {
    const clock = this.#clock
    const drawing = {
      random: () => this.#draw(`${part}/random`, 6).readUIntBE(0, 6) / 2 ** 48,
      uuid: () => this.#uuid(`${part}/uuid`),
      randomBytes: (length: number) => this.#draw(`${part}/bytes`, length),
    }
    const timeOf = (timers: Pick<Clock, 'sleep' | 'after'>): Clock => ({
      now: () => clock.now(),
      elapsed: () => clock.elapsed(),
      isReal: () => clock.isReal(),
      rested: () => clock.rested(),
      sleep: (ms, signal) => timers.sleep(ms, signal),
      after: (ms, callback) => timers.after(ms, callback),
      ...drawing,
    })
    const marked = (mark: TimerMark): Clock => timeOf(clock.marked({ ...mark, owner: part }))
    return {
      ...marked({ isBackground: false }),
      background: marked({ isBackground: true }),
      upkeep: marked({ isBackground: true, isUpkeep: true }),
    }
  }

  #uuid(sequence: string): string {
    const bytes = this.#draw(sequence, 16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join('-')
  }

  /** Moves time on, as `LabTime.advance` says. */
  async advance(ms: number): Promise<void> {
    await this.time.advance({ ms })
  }

  /** Steps from one due timer to the next until the work has ended, for a clock that stands still. Rejects when nothing is due that could end it. */
  async stepUntil<T>(work: Promise<T>, onStep: () => void = () => {}): Promise<T> {
    let isOver = false
    const end = (): void => void (isOver = true)
    work.then(end, end)
    let idleSinceMs = this.#base.elapsed()
    for (;;) {
      const beforeMs = this.now()
      await this.time.step()
      onStep()
      if (isOver) return await work
      if (this.now() > beforeMs) idleSinceMs = this.#base.elapsed()
      if (this.#base.elapsed() - idleSinceMs > standstillMs)
        throw new Error('nothing is due, and what is waited for has not come')
    }
  }

  async set(setting: TimeSetting): Promise<void> {
    this.#clock.set(setting)
  }

  async fireDue(setting: TimeSetting): Promise<DueTimers> {
    this.#clock.set(setting)
    this.#clock.fireDue()
    await this.settled()
    const { dueMs, awaited, restlessMs } = this.#clock
    return { dueMs, awaited, restlessMs }
  }

  /** All of its components share this clock. */
  get apart(): readonly string[] {
    return []
  }

  /**
   * Resolves when what was due has had its consequences: no promise callback is left, no work is under way, and none has begun by the
   * end of some other. Work is waited for as `UnderWay` says; where it never ends, no longer than that either. What a fault keeps back
   * waits for time to go on: then other work is waited for until nothing more of it happens.
   */
  async settled(): Promise<void> {
    if (this.#isSimulated) return await this.#quiet()
    await nextTurn()
    if (this.keepsBack()) return await this.#quiet(patienceMs)
    const untilMs = this.#base.elapsed() + patienceMs
    const next = (): Promise<void> | undefined => this.#underWay?.next()
    for (let ended = next(); ended !== undefined; ended = next()) {
      if (this.#base.elapsed() >= untilMs) return
      await ended
      await nextTurn()
    }
  }

  /**
   * Resolves after some turns of the event loop in which nothing happened, for all of a cluster's work is in this thread and waits for
   * nothing but turns, timers and what the machine does; at the latest after `mostMs`, where others keep it busy.
   */
  async #quiet(mostMs = Infinity): Promise<void> {
    const untilMs = this.#base.elapsed() + mostMs
    for (let turns = 0; turns < quietTurns && this.#base.elapsed() < untilMs; turns += 1) {
      const before = this.#underWay?.activity
      await nextTurn()
      const isBusy = this.#underWay?.waitsForMachine === true
      if (isBusy || this.#underWay?.activity !== before) turns = -1
    }
  }

  /** No timer fires any more. */
  end(): void {
    this.time.end()
    this.#clock.end()
  }

  /** The next bytes of the sequence. */
  #draw(sequence: string, length: number): Buffer {
    const parts: Buffer[] = []
    for (let have = 0; have < length; have += 32) {
      const drawn = (this.#drawn.get(sequence) ?? 0) + 1
      this.#drawn.set(sequence, drawn)
      parts.push(hash('sha256', `${this.#seed}/${sequence}/${drawn}`, 'buffer'))
    }
    return Buffer.concat(parts).subarray(0, length)
  }
}
