import { describe, expect, test } from 'vitest'
import { canonicalTime } from '../../../components/machinery/values/time-text.ts'

const time = '2006-01-02T15:04:05Z07:00'
const micro = '2006-01-02T15:04:05.000000Z07:00'

describe('times', () => {
  test.each([
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59Z'],
    ['2024-01-01T00:00:00.999999999Z', '2024-01-01T00:00:00Z'],
    ['2024-01-01T00:00:00+02:00', '2023-12-31T22:00:00Z'],
    ['2024-01-01T00:00:00-00:30', '2024-01-01T00:30:00Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00Z'],
    ['0001-01-01T00:00:00Z', null],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalTime(text, 'Time')).toEqual({ text: canonical })
  })

  test.each([
    ['', `parsing time "" as "${time}": cannot parse "" as "2006"`],
    ['2024-01-01', `parsing time "2024-01-01" as "${time}": cannot parse "" as "T"`],
    ['2024-1-01T', `parsing time "2024-1-01T" as "${time}": cannot parse "1-01T" as "01"`],
    ['2024-13-01T00:00:00Z', 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2024-01-01T24:00:00Z', 'parsing time "2024-01-01T24:00:00Z": hour out of range'],
    [
      '2024-01-01T00:00:00',
      `parsing time "2024-01-01T00:00:00" as "${time}": cannot parse "" as "Z07:00"`,
    ],
    ['2024-01-01T00:00:00Zx', 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
  ])('%j is refused', (text, error) => {
    expect(canonicalTime(text, 'Time')).toEqual({ error })
  })
})

describe('times to the microsecond', () => {
  test.each([
    ['2024-01-01T00:00:00.123456Z', '2024-01-01T00:00:00.123456Z'],
    ['2024-01-31T00:00:00.000001+01:00', '2024-01-30T23:00:00.000001Z'],
    ['0001-01-01T00:00:00.000000Z', null],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalTime(text, 'MicroTime')).toEqual({ text: canonical })
  })

  test('six digits are needed', () => {
    const text = '2024-01-01T00:00:00Z'
    expect(canonicalTime(text, 'MicroTime')).toEqual({
      error: `parsing time "${text}" as "${micro}": cannot parse "Z" as ".000000"`,
    })
  })
})
