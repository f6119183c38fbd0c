/**
 * When a cron schedule matches next (robfig/cron v3 SpecSchedule.Next and ConstantDelaySchedule.Next). A run that daylight
 * saving skips is left out; a time that it repeats runs twice.
 */
import type { CronField, CronFields, CronSchedule } from './cron-schedule.ts'
import type { TimeZone, WallTime } from './time-zone.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
/** The search ends after this many years: `0 0 30 2 *` never matches. */
const searchYears = 5

/** The first match after `afterMs`, in ms since the epoch; undefined without a match within five years. */
export function nextCronTime(
  schedule: CronSchedule,
  zone: TimeZone,
  afterMs: number,
): number | undefined {
  const second = Math.floor(afterMs / secondMs) * secondMs
  if (schedule.kind === 'interval') return second + schedule.everyMs
  return new Search(schedule, zone, second + secondMs).run()
}

/**
 * One search: each field is moved on until it matches. The first move of all sets the smaller fields to zero; a move that
 * wraps around begins again with the month.
 */
class Search {
  readonly #schedule: CronFields
  readonly #zone: TimeZone
  #ms: number
  #wall: WallTime
  #hasMoved = false

  constructor(schedule: CronFields, zone: TimeZone, ms: number) {
    this.#schedule = schedule
    this.#zone = zone
    this.#ms = ms
    this.#wall = zone.wallTimeOf(ms)
  }

  run(): number | undefined {
    const { year } = this.#wall
    const { minute, hour, month } = this.#schedule
    // A field of commas alone has no values; there is no need to try every minute of five years.
    if ([minute, hour, month].some(({ values }) => values.size === 0)) return undefined
    while (this.#wall.year <= year + searchYears) {
      if (this.#toMonth() && this.#toDay() && this.#toHour() && this.#toMinute()) {
        if (this.#wall.second === 0) return this.#ms
        // The search began within a minute that matches: the next one.
        this.#set(Math.floor(this.#ms / minuteMs) * minuteMs + minuteMs)
        this.#hasMoved = true
      }
    }
    return undefined
  }

  #set(ms: number): void {
    this.#ms = ms
    this.#wall = this.#zone.wallTimeOf(ms)
  }

  /** Resets the units smaller than the field that is about to move, before the first move. */
  #clear(smaller: Partial<WallTime>): void {
    if (this.#hasMoved) return
    this.#hasMoved = true
    this.#set(this.#zone.instantOf({ ...this.#wall, second: 0, ...smaller }))
  }

  /** False when the year ended first. */
  #toMonth(): boolean {
    while (!matches(this.#schedule.month, this.#wall.month)) {
      this.#clear({ day: 1, hour: 0, minute: 0 })
      this.#set(this.#zone.instantOf({ ...this.#wall, month: this.#wall.month + 1 }))
      if (this.#wall.month === 1) return false
    }
    return true
  }

  #toDay(): boolean {
    while (!this.#dayMatches()) {
      this.#clear({ hour: 0, minute: 0 })
      this.#set(this.#zone.instantOf({ ...this.#wall, day: this.#wall.day + 1 }))
      // Where daylight saving begins at midnight, that day has none.
      const { hour } = this.#wall
      if (hour !== 0) this.#set(this.#ms + (hour > 12 ? 24 - hour : -hour) * hourMs)
      if (this.#wall.day === 1) return false
    }
    return true
  }

  #toHour(): boolean {
    while (!matches(this.#schedule.hour, this.#wall.hour)) {
      this.#clear({ minute: 0 })
      this.#set(this.#ms + hourMs)
      if (this.#wall.hour === 0) return false
    }
    return true
  }

  #toMinute(): boolean {
    while (!matches(this.#schedule.minute, this.#wall.minute)) {
      if (!this.#hasMoved) this.#set(Math.floor(this.#ms / minuteMs) * minuteMs)
      this.#hasMoved = true
      this.#set(this.#ms + minuteMs)
      if (this.#wall.minute === 0) return false
    }
    return true
  }

  /** Of two restricted day fields one must match, else both. */
  #dayMatches(): boolean {
    const { dayOfMonth, dayOfWeek } = this.#schedule
    const { year, month, day } = this.#wall
    const isDay = matches(dayOfMonth, day)
    const isWeekday = matches(dayOfWeek, new Date(Date.UTC(year, month - 1, day)).getUTCDay())
    return dayOfMonth.isStar || dayOfWeek.isStar ? isDay && isWeekday : isDay || isWeekday
  }
}

function matches({ values }: CronField, value: number): boolean {
  return values.has(value)
}
