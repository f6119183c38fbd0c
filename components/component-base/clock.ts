/** Clock: the only source of time and randomness. Tests and accelerated clusters hand in their own. */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number
  /** Milliseconds since some moment, with fractions and never set back: for measuring how long something takes. */
  elapsed(): number
  /** Resolves after `ms`; rejects with `signal.reason` when aborted. A pending sleep keeps no process alive on its own if `unref`. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls back once after `ms`; the returned function cancels it. The timer never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
  /** A number in [0, 1). */
  random(): number
  uuid(): string
  randomBytes(length: number): Buffer
  /** False while it differs from the system's time. Undefined: it never does. */
  isReal?(): boolean
  /** The same clock, for what recurs as long as the process runs, and for deadlines: `settle` does not wait for it. Undefined: there is no such difference. */
  readonly background?: Clock
  /**
   * The same clock, for what keeps things as they are, such as renewals, bookmarks and looks: an advance over a time in which nothing else
   * happens fires it once, late, at the end of that time. Undefined: it is always in time.
   */
  readonly upkeep?: Clock
  /** How long the clock's cluster has rested so far, in milliseconds of its time: what is to last does not count that. Undefined: it never rests. */
  rested?(): number
  /** Real time, for deadlines of the network. Undefined: there is no other time. */
  readonly real?: Clock
}

/** The clock for what recurs, and for deadlines. */
export function backgroundOf(clock: Clock): Clock {
  return clock.background ?? clock
}

/** The clock for what keeps things as they are. */
export function upkeepOf(clock: Clock): Clock {
  return clock.upkeep ?? backgroundOf(clock)
}

/** The clock for deadlines of the network, which pass while the cluster's time stands still. */
export function realOf(clock: Clock): Clock {
  return clock.real ?? clock
}

/** Node joins a UUID from twenty parts, and keeps these until something reads it as one text: seven times its memory. */
function flatUuid(): string {
  const text = randomUUID()
  anyDash.test(text)
  return text
}

const anyDash = /-/

/** Node fires a timer that is set for longer at once; a year's wait is made of several. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      let left = ms
      do {
        await delay(
          Math.min(left, longestTimerMs),
          undefined,
          signal === undefined ? {} : { signal },
        )
        left -= longestTimerMs
      } while (left > 0)
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
  after: (ms, callback) => {
    let timer: NodeJS.Timeout
    const arm = (left: number): void => {
      const next = left > longestTimerMs ? (): void => arm(left - longestTimerMs) : callback
      timer = setTimeout(next, Math.min(left, longestTimerMs))
      timer.unref()
    }
    arm(ms)
    return () => {
      clearTimeout(timer)
    }
  },
  random: () => Math.random(),
  uuid: flatUuid,
  randomBytes: (length) => randomBytes(length),
}

/** Many writes happen within a second, and each writes it several times. */
const lastSecond = { seconds: 0, text: '1970-01-01T00:00:00Z' }

/** RFC 3339 with whole seconds: the form of metav1.Time. */
export function timestamp(nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  if (seconds !== lastSecond.seconds) {
    lastSecond.text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
    lastSecond.seconds = seconds
  }
  return lastSecond.text
}

/** RFC 3339 with six fractional digits: the form of metav1.MicroTime. */
export function microTimestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`
}
