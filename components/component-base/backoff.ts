/** Back-off: delays as pure sequences. Nothing here sleeps; the caller's clock does. */

export interface BackoffOptions {
  /** The first delay. */
  readonly initialMs: number
  /** No delay is longer, jitter aside. */
  readonly maxMs: number
  /** Growth from one delay to the next; default 2. */
  readonly factor?: number
  /** Up to this share is added at random: 0.2 makes 100 ms into 100..120 ms; default 0. */
  readonly jitter?: number
}

/** The delay before try number `attempt` (0 is the first retry), without jitter. */
export function backoffDelay(options: BackoffOptions, attempt: number): number {
  const { initialMs, maxMs, factor = 2 } = options
  return Math.min(maxMs, initialMs * factor ** Math.min(attempt, 1000))
}

/** Spreads a delay: `ms` up to `ms * (1 + share)`. `random` is in [0, 1). */
export function jittered(ms: number, share: number, random: number): number {
  return ms * (1 + share * random)
}

export interface Backoff {
  /** The next delay in ms; each call is longer than the last, up to the maximum. */
  next(): number
  /** Starts over: call it after a success. */
  reset(): void
}

/** A sequence of growing delays. `random` gives numbers in [0, 1) and is asked only when there is jitter. */
export function createBackoff(options: BackoffOptions, random: () => number): Backoff {
  let attempt = 0
  return {
    next: () => {
      const delay = backoffDelay(options, attempt)
      attempt += 1
      return options.jitter === undefined ? delay : jittered(delay, options.jitter, random())
    },
    reset: () => {
      attempt = 0
    },
  }
}
