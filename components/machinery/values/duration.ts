/** Durations as people read them in tables (upstream: apimachinery pkg/util/duration). */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}

/** Two units where the second still matters: `119s`, `2m5s`, `3h`, `47h`, `2d3h`, `3y10d`. `<invalid>` from -2 s down. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / second)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(milliseconds / minute)
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(milliseconds / hour)
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (hours < 24 * 8) return two(days, 'd', hours % 24, 'h')
  if (hours < 24 * 365 * 2) return `${days}d`
  const years = Math.trunc(days / 365)
  if (hours < 24 * 365 * 8) return two(years, 'y', days % 365, 'd')
  return `${years}y`
}

/** One unit: `59s`, `3m`, `23h`, `364d`, `2y`. `<invalid>` from -2 s down. */
export function shortHumanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / second)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.trunc(milliseconds / minute)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.trunc(milliseconds / hour)
  if (hours < 24) return `${hours}h`
  if (hours < 24 * 365) return `${Math.trunc(hours / 24)}d`
  return `${Math.trunc(hours / 24 / 365)}y`
}

/** The time since a timestamp as tables show it; `<unknown>` for an absent or unreadable one. */
export function ageOf(timestamp: string | null | undefined, nowMs: number): string {
  const at = Date.parse(timestamp ?? '')
  return Number.isNaN(at) ? '<unknown>' : humanDuration(nowMs - at)
}
