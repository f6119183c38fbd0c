/** When a CronJob runs, by its schedule and time zone (upstream: pkg/controller/cronjob/utils.go). Pure. */
import type { CronJob } from '../generated/types.ts'
import { parseCron } from './cron-schedule.ts'
import { nextCronTime } from './next-time.ts'
import { timeZoneNamed } from './time-zone.ts'

/** The first run after a time; undefined if no run follows. Both in ms since the epoch. */
export type NextRun = (afterMs: number) => number | undefined

/** The CronJob's schedule in its zone, else in the local one, which is asked for only then. Throws an Error in the words of upstream's parser. */
export function runsOf({ spec }: CronJob, localZone: () => string): NextRun {
  const schedule = parseCron(spec?.schedule ?? '')
  const own = schedule.kind === 'fields' ? schedule.zone : undefined
  const zone = timeZoneNamed(own ?? spec?.timeZone ?? localZone())
  return (afterMs) => nextCronTime(schedule, zone, afterMs)
}
