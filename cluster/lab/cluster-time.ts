/** ClusterTime: the authority for the time of one cluster. What follows it is a process's business, or a thread's: `TimeFollowers`. */
import type { Clock } from '../../components/component-base/clock.ts'
import { formatDuration } from '../../components/component-base/flags.ts'
import { timeAt } from '../../components/component-base/time-setting.ts'
import type { TimeSetting } from '../../components/component-base/time-setting.ts'
import type { AwaitedTimer } from '../../components/component-base/timers.ts'
import { ClusterError } from '../cluster-error.ts'
import type { LabTime, TimeState } from './lab.ts'

/** What is due next in a cluster. */
export interface DueTimers {
  readonly dueMs: number | undefined
  /** Of those that neither recur nor are deadlines. */
  readonly awaited: AwaitedTimer | undefined
  /** When the first is due that is no upkeep; Infinity without one. Undefined: nobody knows. */
  readonly restlessMs?: number | undefined
}

/** The components of a cluster, as far as they follow its time. */
export interface TimeFollowers {
  /** They obey it when this resolves. */
  set(setting: TimeSetting): Promise<void>
  /** Sets the time and fires what is due. Resolves with what is due next, when nothing that follows from it is under way any more. */
  fireDue(setting: TimeSetting): Promise<DueTimers>
  /** Whether upkeep may come late now. Undefined: never. */
  mayRest?(): boolean
  /** What the authority's own process shows. It never goes back, so it may be later than the time of a setting. */
  now?(): number
  /** Components that do not follow. */
  readonly apart: readonly string[]
}

/** The clock's speed is a number from 0.01 to 1000. */
const [slowest, fastest] = [0.01, 1000]
/** A speed above 1 is made of advances, so that what is under way is waited for. */
const paceMs = 10
/** What was not done in time is not made up for: the cluster is slower then. */
const mostBehindMs = 50
/** A node that is not heard of is noticed in this time, and so is what else upkeep fails to keep. */
const restAfterMs = 30_000
/** All upkeep comes in time again before anything else happens. */
const wakeBeforeMs = 20_000
const settleDefaults = { idleMs: 10_000, mostMs: 3_600_000 }

export class ClusterTime implements LabTime {
  readonly #followers: TimeFollowers
  readonly #clock: Clock
  #setting: TimeSetting
  #speed = 1
  #speedBefore = 1
  /** Calls that overlap follow each other. */
  #last: Promise<unknown> = Promise.resolve()
  #pacing = new AbortController()
  readonly #ending = new AbortController()

  /** `clock`: real time. */
  constructor(
    followers: TimeFollowers,
    { clock, setting }: { readonly clock: Clock; readonly setting?: TimeSetting },
  ) {
    this.#followers = followers
    this.#clock = clock
    const nowMs = clock.now()
    this.#setting = setting ?? { nowMs, atMs: nowMs, speed: 1 }
    this.#speed = this.#setting.speed
  }

  /** What a component that starts has to obey. */
  get setting(): TimeSetting {
    return this.#setting
  }

  get nowMs(): number {
    return timeAt(this.#setting, this.#clock.now())
  }

  async state(): Promise<TimeState> {
    const { nowMs } = this
    const aheadMs = nowMs - this.#clock.now()
    return { nowMs, speed: this.#speed, aheadMs, apart: this.#followers.apart }
  }

  pause(): Promise<TimeState> {
    return this.#inOrder(async () => {
      if (this.#speed > 0) this.#speedBefore = this.#speed
      await this.#run(0)
    })
  }

  resume(): Promise<TimeState> {
    return this.#inOrder(async () => {
      if (this.#speed === 0) await this.#run(this.#speedBefore)
    })
  }

  async speed(speed: number): Promise<TimeState> {
    checkSpeed(speed)
    return await this.#inOrder(() => this.#run(speed))
  }

  async advance(by: Parameters<LabTime['advance']>[0], signal?: AbortSignal): Promise<TimeState> {
    if ('ms' in by) checkForward(by.ms)
    return await this.#inOrder(async () => {
      const { nowMs } = this
      const endMs = 'ms' in by ? nowMs + by.ms : by.toMs
      checkMoment(endMs, nowMs)
      await this.#held(() => this.#moveTo(endMs, signal))
    })
  }

  /** Moves on by `ms`, from one due timer to the next, and no further than to the first after which `isQuiet` is false. */
  leap(ms: number, isQuiet: () => Promise<boolean>): Promise<TimeState> {
    checkForward(ms)
    return this.#inOrder(async () => {
      const endMs = this.nowMs + ms
      await this.#held(async () => {
        let { dueMs = endMs } = await this.#fireAt(this.nowMs)
        while (this.nowMs < endMs && (await isQuiet())) {
          this.#throwIfEnded()
          ;({ dueMs = endMs } = await this.#fireAt(Math.min(dueMs, endMs)))
        }
      })
    })
  }

  step(): Promise<TimeState> {
    return this.#inOrder(() =>
      this.#held(async () => {
        const { nowMs } = this
        let { dueMs } = await this.#fireAt(nowMs)
        // What is due now has happened.
        while (dueMs !== undefined && dueMs <= nowMs) ({ dueMs } = await this.#fireAt(nowMs))
        if (dueMs !== undefined) await this.#fireAt(dueMs)
      }),
    )
  }

  settle(options: Parameters<LabTime['settle']>[0] = {}, signal?: AbortSignal): Promise<TimeState> {
    const { idleMs = settleDefaults.idleMs, mostMs = settleDefaults.mostMs } = options
    return this.#inOrder(async () => {
      const endMs = this.nowMs + mostMs
      await this.#held(async () => {
        let next = await this.#fireAt(this.nowMs)
        while (next.awaited !== undefined && next.awaited.dueMs <= this.nowMs + idleMs) {
          this.#throwIfEnded(signal)
          const dueMs = next.dueMs ?? next.awaited.dueMs
          if (dueMs > endMs) throw unsettled(next.awaited, { nowMs: this.nowMs, mostMs })
          next = await this.#fireAt(dueMs)
        }
      })
    })
  }

  /** Time moves no further by this. */
  end(): void {
    this.#pacing.abort()
    this.#ending.abort(new ClusterError('not-running', 'the cluster is shutting down'))
  }

  #inOrder(work: () => Promise<void>): Promise<TimeState> {
    const done = this.#last.then(async () => {
      this.#throwIfEnded()
      await work()
      return await this.state()
    })
    this.#last = done.catch(() => {
      // Its caller has it.
    })
    return done
  }

  #throwIfEnded(signal?: AbortSignal): void {
    this.#ending.signal.throwIfAborted()
    signal?.throwIfAborted()
  }

  async #set(setting: TimeSetting): Promise<void> {
    this.#setting = setting
    await this.#followers.set(setting)
    // Where time stands, all count from the moment that has been shown: else the next advance ends short of what is due at its end.
    const shownMs = this.#followers.now?.() ?? setting.nowMs
    if (setting.speed === 0 && shownMs > setting.nowMs)
      this.#setting = { ...setting, nowMs: shownMs }
  }

  /** Goes on from now at this speed. */
  async #run(speed: number): Promise<void> {
    const { nowMs } = this
    this.#pacing.abort()
    this.#speed = speed
    if (speed <= 1) {
      await this.#set({ nowMs, atMs: this.#clock.now(), speed })
      return
    }
    await this.#standAt(nowMs)
    this.#pacing = new AbortController()
    void this.#pace(speed, this.#pacing.signal)
  }

  /** Advances again and again, as much as the speed says and the cluster can. */
  async #pace(speed: number, signal: AbortSignal): Promise<void> {
    let lastMs = this.#clock.elapsed()
    try {
      for (;;) {
        await this.#clock.sleep(paceMs, signal)
        await this.#inOrder(async () => {
          if (signal.aborted) return
          const passedMs = Math.min(this.#clock.elapsed() - lastMs, mostBehindMs)
          lastMs = this.#clock.elapsed()
          await this.#moveTo(this.nowMs + Math.round(passedMs * speed), signal)
        })
      }
    } catch (error) {
      if (!signal.aborted && !this.#ending.signal.aborted) throw error
    }
  }

  /** The setting of a clock that stands there. */
  #standing(ms: number): TimeSetting {
    const nowMs = Math.max(ms, this.nowMs)
    return { nowMs, atMs: this.#clock.now(), speed: 0, isHeld: true }
  }

  async #standAt(ms: number): Promise<void> {
    await this.#set(this.#standing(ms))
  }

  async #fireAt(ms: number, how: Pick<TimeSetting, 'isRest'> = {}): Promise<DueTimers> {
    this.#setting = { ...this.#standing(ms), ...how }
    return await this.#followers.fireDue(this.#setting)
  }

  /** Time stands still but for what `work` does. */
  async #held(work: () => Promise<void>): Promise<void> {
    await this.#standAt(this.nowMs)
    try {
      await work()
    } finally {
      const { nowMs } = this
      // A speed above 1 holds it anyway.
      if (this.#speed <= 1) await this.#set({ nowMs, atMs: this.#clock.now(), speed: this.#speed })
    }
  }

  /** From one due timer to the next. Where only upkeep is due for long, most of that time is passed over: it would change nothing. */
  async #moveTo(endMs: number, signal: AbortSignal | undefined): Promise<void> {
    let next = await this.#fireAt(this.nowMs)
    let quietSinceMs = this.nowMs
    while (next.dueMs !== undefined && next.dueMs <= endMs) {
      this.#throwIfEnded(signal)
      const { dueMs, restlessMs = dueMs } = next
      if (restlessMs <= dueMs) quietSinceMs = dueMs
      const wakeMs = Math.min(restlessMs, endMs) - wakeBeforeMs
      const isQuiet =
        this.nowMs - quietSinceMs >= restAfterMs && this.#followers.mayRest?.() === true
      next =
        isQuiet && wakeMs > dueMs
          ? await this.#fireAt(wakeMs, { isRest: true })
          : await this.#fireAt(dueMs)
    }
    await this.#standAt(endMs)
  }
}

/** Rejects as `LabTime.speed` does. */
function checkSpeed(speed: number): void {
  if (speed >= slowest && speed <= fastest) return
  throw new ClusterError(
    'usage',
    `invalid speed ${speed}: it must be from ${slowest} to ${fastest}`,
    {
      hint: 'to stop the clock, pause it',
    },
  )
}

function checkForward(ms: number): void {
  if (Number.isFinite(ms) && ms >= 0) return
  const text = Number.isFinite(ms) ? formatDuration(ms) : String(ms)
  throw new ClusterError('usage', `the clock cannot advance by ${text}: clocks never go back`, {
    hint: 'give a duration such as 6m',
  })
}

/** JavaScript has no later dates, and certificates none after the year 9999. */
const latestMs = Date.parse('9999-12-31T23:59:59Z')

function checkMoment(ms: number, nowMs: number): void {
  const fault = !(ms <= latestMs)
    ? 'it must be before the year 10000'
    : ms < nowMs
      ? 'clocks never go back'
      : ''
  if (fault === '') return
  const text = Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms)
  throw new ClusterError('usage', `the clock cannot advance to ${text}: ${fault}`, {
    hint: `it is ${new Date(nowMs).toISOString()} in the cluster`,
  })
}

function unsettled(
  { dueMs, owner = 'a component' }: AwaitedTimer,
  { nowMs, mostMs }: { nowMs: number; mostMs: number },
): ClusterError {
  const inText = formatDuration(Math.max(0, Math.round(dueMs - nowMs)))
  return new ClusterError(
    'timeout',
    `the cluster has not settled in ${formatDuration(mostMs)} of its time: ${owner} has something to do in ${inText}`,
    {
      hint: 'it may never settle, for example while a pod fails again and again; advance the clock instead',
    },
  )
}
