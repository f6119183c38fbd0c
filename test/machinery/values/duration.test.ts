import { describe, expect, it } from 'vitest'
import {
  ageOf,
  humanDuration,
  shortHumanDuration,
} from '../../../components/machinery/values/duration.ts'

const s = 1000
const m = 60 * s
const h = 60 * m
const d = 24 * h

describe('human durations', () => {
  it.each([
    [-2 * s, '<invalid>'],
    [-1 * s, '0s'],
    [-0.5 * s, '0s'],
    [0, '0s'],
    [1.9 * s, '1s'],
    [119 * s, '119s'],
    [2 * m, '2m'],
    [2 * m + 5 * s, '2m5s'],
    [9 * m + 59 * s, '9m59s'],
    [10 * m + 59 * s, '10m'],
    [179 * m, '179m'],
    [3 * h, '3h'],
    [3 * h + 5 * m, '3h5m'],
    [8 * h + 59 * m, '8h'],
    [47 * h, '47h'],
    [48 * h, '2d'],
    [51 * h, '2d3h'],
    [8 * d - h, '7d23h'],
    [8 * d + h, '8d'],
    [729 * d, '729d'],
    [730 * d, '2y'],
    [740 * d, '2y10d'],
    [8 * 365 * d + d, '8y'],
  ])('%i ms reads %s', (milliseconds, text) => {
    expect(humanDuration(milliseconds)).toBe(text)
  })

  it.each([
    [-2 * s, '<invalid>'],
    [-1 * s, '0s'],
    [59 * s, '59s'],
    [61 * s, '1m'],
    [59 * m, '59m'],
    [23 * h, '23h'],
    [364 * d, '364d'],
    [366 * d, '1y'],
  ])('%i ms reads %s in one unit', (milliseconds, text) => {
    expect(shortHumanDuration(milliseconds)).toBe(text)
  })

  it('an age without a timestamp is unknown', () => {
    expect(ageOf(undefined, 0)).toBe('<unknown>')
    expect(ageOf(null, 0)).toBe('<unknown>')
    expect(ageOf('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:05:00Z'))).toBe('5m')
  })
})
