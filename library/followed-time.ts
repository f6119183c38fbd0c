/** FollowedTime: the clock of a cluster that is in another thread or process, as that one says how it goes. */
import type { LabTime, TimeState } from '../cluster/lab/lab.ts'
import { timeOver } from '../cluster/lab/time-request.ts'
import type { TimeRequest } from '../cluster/lab/time-request.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'

export interface FollowedTime {
  readonly time: LabTime
  /** The cluster's time; its timers are real. */
  readonly clock: Clock
  /** How fast it goes. */
  speed(): number
  /** The cluster's time has been set otherwise. */
  note(state: TimeState): void
}

/** Each answer of `ask` tells what time it is. */
export function followTimeOf(
  first: TimeState,
  ask: (request: TimeRequest) => Promise<TimeState>,
): FollowedTime {
  let state = first
  let atMs = systemClock.now()
  const note = (next: TimeState): void => {
    state = next
    atMs = systemClock.now()
  }
  const time = timeOver(async (request) => {
    const answer = await ask(request)
    note(answer)
    return answer
  })
  const now = (): number => state.nowMs + Math.floor((systemClock.now() - atMs) * state.speed)
  return { time, clock: { ...systemClock, now }, speed: () => state.speed, note }
}
