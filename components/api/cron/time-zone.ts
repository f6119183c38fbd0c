/** Time zones by name, and the wall clock in one: Go's time.LoadLocation, Time.In and time.Date on the platform's database. */

export interface WallTime {
  readonly year: number
  /** 1 to 12; `instantOf` takes any number, as it does of the fields below. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

export interface TimeZone {
  /** What clocks there show at that instant, in ms since the epoch. */
  wallTimeOf(ms: number): WallTime
  /**
   * The instant at which clocks there show that time. A time that daylight saving skips or repeats has two candidates; this
   * takes the same one as Go's time.Date.
   */
  instantOf(wall: WallTime): number
  /** RFC 3339 with the zone's offset: `2025-01-01T01:00:00+01:00`. */
  textOf(ms: number): string
}

/**
 * Whether the platform knows the time zone. It takes offsets and any case, which the database of zones does not: its names begin
 * their parts with capitals. The case of the rest can only be checked if the name is not an alias.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name) || /\/[a-z]/.test(name)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase()
  } catch {
    // Not a zone the platform knows.
    return false
  }
}

/** The zone this process runs in: `Europe/Berlin`. The first call of a process takes 20 ms, because it loads the platform's formats. */
export function localZoneName(): string {
  return new Intl.DateTimeFormat('en').resolvedOptions().timeZone
}

/** The zone of a name that `isTimeZone` accepts; Go reads the empty name as UTC. Throws a RangeError for any other. */
export function timeZoneNamed(name: string): TimeZone {
  const offsetMs = offsetIn(name)
  return {
    wallTimeOf: (ms) => {
      const shifted = new Date(ms + offsetMs(ms))
      return {
        year: shifted.getUTCFullYear(),
        month: shifted.getUTCMonth() + 1,
        day: shifted.getUTCDate(),
        hour: shifted.getUTCHours(),
        minute: shifted.getUTCMinutes(),
        second: shifted.getUTCSeconds(),
      }
    },
    instantOf: ({ year, month, day, hour, minute, second }) => {
      const asUtc = Date.UTC(year, month - 1, day, hour, minute, second)
      // The offset at the wall time read as UTC leads to an instant; where that lies beyond a change, its own offset counts.
      const first = offsetMs(asUtc)
      return first === 0 ? asUtc : asUtc - offsetMs(asUtc - first)
    },
    textOf: (ms) => {
      const offset = offsetMs(ms)
      const text = new Date(ms + offset).toISOString().slice(0, 19)
      return text + offsetText(offset)
    },
  }
}

function offsetText(offsetMs: number): string {
  const minutes = Math.floor(Math.abs(offsetMs) / 60_000)
  if (minutes === 0) return 'Z'
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** How far clocks in the zone are ahead of UTC at an instant. */
function offsetIn(name: string): (ms: number) => number {
  if (name === '' || name === 'UTC') return () => 0
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (ms) => {
    const at = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of format.formatToParts(ms)) {
      if (Object.hasOwn(at, type)) at[type as keyof typeof at] = Number(value)
    }
    const shown = Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second)
    return shown - Math.floor(ms / 1000) * 1000
  }
}
