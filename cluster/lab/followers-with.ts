/** followers-with: the followers of a cluster's time, with a clock of the authority itself among them, for ends of faults. */
import type { FollowedClock } from '../../components/component-base/followed-clock.ts'
import type { DueTimers, TimeFollowers } from './cluster-time.ts'

/** `settled` resolves when what the clock's timers began is done. */
export function followersWith(
  followers: TimeFollowers,
  own: {
    readonly clock: FollowedClock
    readonly settled: () => Promise<void>
    readonly mayRest: () => boolean
  },
): TimeFollowers {
  const { clock, settled, mayRest } = own
  return {
    set: async (setting) => {
      clock.set(setting)
      await followers.set(setting)
    },
    fireDue: async (setting): Promise<DueTimers> => {
      clock.set(setting)
      clock.fireDue()
      await settled()
      const next = await followers.fireDue(setting)
      const due = [next.dueMs, clock.dueMs].filter((ms) => ms !== undefined)
      const { awaited, restlessMs } = next
      return {
        dueMs: due.length === 0 ? undefined : Math.min(...due),
        // Nothing waits for the end of a fault.
        awaited,
        ...(restlessMs === undefined ? {} : { restlessMs: Math.min(restlessMs, clock.restlessMs) }),
      }
    },
    mayRest,
    now: () => clock.now(),
    get apart() {
      return followers.apart
    },
  }
}
