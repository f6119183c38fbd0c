import { describe, expect, it } from 'vitest'
import { parseCron } from '../../../components/api/cron/cron-schedule.ts'
import { nextCronTime } from '../../../components/api/cron/next-time.ts'
import { timeZoneNamed } from '../../../components/api/cron/time-zone.ts'

/** The next run in local time of the zone, or `never`. */
function next(after: string, schedule: string, zone = 'UTC'): string {
  const ms = nextCronTime(parseCron(schedule), timeZoneNamed(zone), Date.parse(after))
  return ms === undefined ? 'never' : timeZoneNamed(zone).textOf(ms)
}

describe('a cron schedule', () => {
  it.each([
    ['2012-07-09T14:45:00Z', '0/15 * * * *', '2012-07-09T15:00:00Z'],
    ['2012-07-09T14:59:59Z', '0/15 * * * *', '2012-07-09T15:00:00Z'],
    ['2012-07-09T14:59:59.999Z', '* * * * *', '2012-07-09T15:00:00Z'],
    ['2012-07-09T15:00:00Z', '* * * * *', '2012-07-09T15:01:00Z'],
    ['2012-07-09T15:45:00Z', '20-35/15 * * * *', '2012-07-09T16:20:00Z'],
    ['2012-07-09T23:46:00Z', '*/15 * * * *', '2012-07-10T00:00:00Z'],
    ['2012-07-09T23:35:51Z', '20-35/15 1/2 * * *', '2012-07-10T01:20:00Z'],
    ['2012-07-09T23:35:51Z', '20-35/15 1/2 */2 * *', '2012-07-11T01:20:00Z'],
    ['2012-07-09T23:35:51Z', '20-35/15 * 9-20 Jul *', '2012-07-10T00:20:00Z'],
    ['2012-07-09T23:35:00Z', '0 0 9 Apr-Oct ?', '2012-08-09T00:00:00Z'],
    ['2012-07-09T23:35:00Z', '0 0 */5 Apr,Aug,Oct Mon', '2012-08-01T00:00:00Z'],
    ['2012-07-09T23:35:00Z', '0 0 * Feb Mon', '2013-02-04T00:00:00Z'],
    ['2012-07-09T23:35:00Z', '0 0 * Feb Mon/2', '2013-02-01T00:00:00Z'],
    ['2012-12-31T23:59:45Z', '* * * * *', '2013-01-01T00:00:00Z'],
    ['2012-07-09T23:35:00Z', '0 0 29 Feb ?', '2016-02-29T00:00:00Z'],
    ['2012-07-09T15:04:00Z', '@hourly', '2012-07-09T16:00:00Z'],
    ['2012-07-09T15:04:00Z', '@midnight', '2012-07-10T00:00:00Z'],
    ['2012-07-09T15:04:00Z', '@weekly', '2012-07-15T00:00:00Z'],
    ['2012-07-09T15:04:00Z', '@monthly', '2012-08-01T00:00:00Z'],
    ['2012-07-09T15:04:00Z', '@annually', '2013-01-01T00:00:00Z'],
    ['2012-07-09T15:04:00.400Z', '@every 1h30m', '2012-07-09T16:34:00Z'],
    ['2012-07-09T15:04:00Z', '@every 1500ms', '2012-07-09T15:04:01Z'],
    ['2012-07-09T15:04:00Z', '@every 1ms', '2012-07-09T15:04:01Z'],
  ])('after %s, %j runs at the time upstream finds', (after, schedule, expected) => {
    expect(next(after, schedule)).toBe(expected)
  })

  it.each([
    ['1,15 * Sun', '2012-07-15', true],
    ['1,15 * Sun', '2012-06-15', true],
    ['1,15 * Sun', '2012-07-16', false],
    ['*/10 * Sun', '2012-07-15', true],
    ['*/10 * Sun', '2012-07-11', true],
    ['* * Mon', '2012-07-15', false],
    ['?/1 * Mon', '2012-07-15', false],
    ['1,15 * *', '2012-07-09', false],
    ['15 * ?', '2012-07-15', true],
  ])(
    'with the days %j matches %s: %s; a star in one day field leaves the other to decide',
    (days, day, isMatch) => {
      const midnight = `${day}T00:00:00Z`
      const before = new Date(Date.parse(midnight) - 1000).toISOString()
      expect(next(before, `0 0 ${days}`) === midnight).toBe(isMatch)
    },
  )

  it.each([
    // Clocks skip from 2:00 to 3:00: that day's run is left out.
    ['2012-03-11T00:00:00-05:00', '30 2 11 Mar ?', '2013-03-11T02:30:00-04:00'],
    ['2012-03-11T00:00:00-05:00', '30 2 * * *', '2012-03-12T02:30:00-04:00'],
    ['2012-03-11T01:00:00-05:00', '0 * * * *', '2012-03-11T03:00:00-04:00'],
    ['2012-03-11T00:00:00-05:00', '0 3 * * *', '2012-03-11T03:00:00-04:00'],
    // Clocks repeat 1:00 to 2:00: a run in that hour comes twice.
    ['2012-11-04T00:00:00-04:00', '30 2 04 Nov ?', '2012-11-04T02:30:00-05:00'],
    ['2012-11-04T01:45:00-04:00', '30 1 04 Nov ?', '2012-11-04T01:30:00-05:00'],
    ['2012-11-04T00:00:00-04:00', '0 * * * *', '2012-11-04T01:00:00-04:00'],
    ['2012-11-04T01:00:00-04:00', '0 * * * *', '2012-11-04T01:00:00-05:00'],
    ['2012-11-04T01:00:00-05:00', '0 * * * *', '2012-11-04T02:00:00-05:00'],
    ['2012-11-04T00:00:00-04:00', '0 1 * * *', '2012-11-04T01:00:00-04:00'],
    ['2012-11-04T01:00:00-04:00', '0 1 * * *', '2012-11-04T01:00:00-05:00'],
    ['2012-11-04T01:00:00-05:00', '0 1 * * *', '2012-11-05T01:00:00-05:00'],
    ['2012-11-04T00:00:00-04:00', '0 2 * * *', '2012-11-04T02:00:00-05:00'],
    ['2012-11-04T00:00:00-04:00', '0 3 * * *', '2012-11-04T03:00:00-05:00'],
    ['2012-11-04T00:00:00-04:00', '0 0 * * *', '2012-11-05T00:00:00-05:00'],
  ])('in New York, after %s, %j runs at %s', (after, schedule, expected) => {
    expect(next(after, schedule, 'America/New_York')).toBe(expected)
  })

  it('runs on a day that has no midnight, an hour later', () => {
    // Sao Paulo went from 23:59:59 to 1:00 on 4 November 2018.
    const zone = 'America/Sao_Paulo'
    expect(next('2018-11-03T12:00:00-03:00', '0 5 * * *', zone)).toBe('2018-11-04T05:00:00-02:00')
    expect(next('2018-11-03T12:00:00-03:00', '30 1 * * *', zone)).toBe('2018-11-04T01:30:00-02:00')
  })

  it('knows zones that are not whole hours away', () => {
    expect(next('2025-01-01T00:00:00Z', '0 9 * * *', 'Asia/Kolkata')).toBe(
      '2025-01-01T09:00:00+05:30',
    )
    expect(next('2025-01-01T00:00:00Z', '*/30 * * * *', 'Asia/Kathmandu')).toBe(
      '2025-01-01T06:00:00+05:45',
    )
  })

  it.each(['0 0 30 2 *', '0 0 31 4,6,9,11 *', '59 23 31 2 *', ', * * * *', '0 0 , * ,'])(
    'that never matches has no next time, and the search for one ends: %j',
    (schedule) => {
      expect(next('2025-01-01T00:00:00Z', schedule, 'Europe/Berlin')).toBe('never')
    },
  )

  it.each([
    ['', 'empty spec string'],
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['* * * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['5-2 * * * *', 'beginning of range (5) beyond end of range (2): 5-2'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['*/2/3 * * * *', 'too many slashes: */2/3'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['*/-1 * * * *', 'negative number (-1) not allowed: -1'],
    ['jan * * * *', 'failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax'],
    ['@never', 'unrecognized descriptor: @never'],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
    ['TZ=Mars/Base 0 * * * *', 'provided bad location Mars/Base: unknown time zone Mars/Base'],
  ])('%j is refused: %s', (schedule, why) => {
    expect(() => parseCron(schedule)).toThrow(new Error(why))
  })

  it('takes names of months and days in any case, and a zone in front', () => {
    expect(next('2025-01-01T00:00:00Z', '0 0 * MAR-apr tUe')).toBe('2025-03-04T00:00:00Z')
    expect(parseCron('CRON_TZ=Asia/Tokyo @daily')).toMatchObject({ zone: 'Asia/Tokyo' })
  })
})
