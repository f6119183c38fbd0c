/**
 * seat-seconds: amounts of work, in units of 1e-8 seats times seconds. Whole numbers, so that sums and differences are exact
 * (upstream: apiserver pkg/util/flowcontrol/request/seat_seconds.go).
 */

const perSecond = 1e8
const perMs = 1e5

/** The work of `seats` over `ms`. Meant for increments, not for totals since the start. */
export function seatSeconds(seats: number, ms: number): number {
  return Math.round(seats * ms * perMs)
}

/** How many milliseconds the work takes on so many seats. */
export function msPerSeat(work: number, seats: number): number {
  return work / seats / perMs
}

/** For metrics. */
export function inSeconds(work: number): number {
  return work / perSecond
}

/** As the debug endpoints show it. */
export function seatSecondsText(work: number): string {
  const whole = Math.floor(work / perSecond)
  return `${whole}.${String(work - whole * perSecond).padStart(8, '0')}ss`
}
