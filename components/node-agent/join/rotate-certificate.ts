/** Rotation: asks for a new certificate in time, as often as it takes, and hands it on. */
import { createBackoff } from '../../component-base/backoff.ts'
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { IssuedCertificate } from './certificate-request.ts'
import { renewalTime } from './node-credential.ts'

export interface RotationOptions {
  /** The pair in use; undefined before the first, which is then requested at once. */
  readonly current: IssuedCertificate | undefined
  /** Asks for the next pair, with a new key. */
  readonly request: (signal: AbortSignal) => Promise<IssuedCertificate>
  /** Puts the new pair to use. */
  readonly onRotated: (next: IssuedCertificate) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** No timer reaches farther than this: long sleeps are cut into pieces. */
const maxSleepMs = 24 * 60 * 60_000

async function sleepUntil(atMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let left = atMs - clock.now(); left > 0; left = atMs - clock.now()) {
    await backgroundOf(clock).sleep(Math.min(left, maxSleepMs), signal)
  }
}

/** Renews between 70 and 90 % of each certificate's lifetime until the signal aborts. */
export async function runRotation(options: RotationOptions, signal: AbortSignal): Promise<void> {
  const { request, onRotated, clock, log } = options
  let { current } = options
  const backoff = createBackoff({ initialMs: 2000, maxMs: 5 * 60_000, jitter: 0.1 }, () =>
    clock.random(),
  )
  let renewAtMs = 0
  const plan = (): void => {
    if (current === undefined) return
    renewAtMs = renewalTime(current.cert, clock.random())
    log.info('certificate rotation planned', { at: new Date(renewAtMs).toISOString() })
  }
  plan()
  for (;;) {
    await sleepUntil(renewAtMs, clock, signal)
    try {
      const next = await request(signal)
      await onRotated(next)
      current = next
      backoff.reset()
      log.info('certificate rotated')
      plan()
    } catch (error) {
      signal.throwIfAborted()
      const retryMs = backoff.next()
      log.warn('certificate rotation failed', { retryMs, error: String(error) })
      await clock.sleep(retryMs, signal)
    }
  }
}
