/** Cron schedules: the standard five fields and descriptors, as upstream's parser reads them (robfig/cron v3 ParseStandard). */
import { parseDuration } from '../../component-base/flags.ts'
import { isTimeZone } from './time-zone.ts'

/** The values of one field that match. */
export interface CronField {
  readonly values: ReadonlySet<number>
  /** Written `*` or `?`, without a step: it restricts nothing. */
  readonly isStar: boolean
}

export interface CronFields {
  readonly kind: 'fields'
  /** From a prefix `TZ=` or `CRON_TZ=`. */
  readonly zone?: string
  readonly minute: CronField
  readonly hour: CronField
  readonly dayOfMonth: CronField
  readonly month: CronField
  readonly dayOfWeek: CronField
}

/** `@every`: a fixed time after the run before, in whole seconds. */
export interface CronInterval {
  readonly kind: 'interval'
  readonly everyMs: number
}

export type CronSchedule = CronFields | CronInterval

interface Bounds {
  readonly min: number
  readonly max: number
  readonly words?: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const bounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, words: ['', ...months] },
  { min: 0, max: 6, words: weekdays },
]

const descriptors: Readonly<Record<string, string | undefined>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Reads a schedule. Throws an Error in the words of upstream's parser. */
export function parseCron(given: string): CronSchedule {
  if (given === '') throw new Error('empty spec string')
  const prefix = /^(?:CRON_)?TZ=(\S*)\s*/.exec(given)
  if (prefix === null) return parseUnzoned(given)
  const [all, zone = ''] = prefix
  if (zone !== '' && !isTimeZone(zone)) {
    throw new Error(`provided bad location ${zone}: unknown time zone ${zone}`)
  }
  const schedule = parseUnzoned(given.slice(all.length).trim())
  return schedule.kind === 'fields' ? { ...schedule, zone } : schedule
}

function parseUnzoned(text: string): CronSchedule {
  if (!text.startsWith('@')) return parseFields(text)
  const meaning = Object.hasOwn(descriptors, text) ? descriptors[text] : undefined
  return meaning === undefined ? parseEvery(text) : parseFields(meaning)
}

function parseEvery(text: string): CronInterval {
  const every = '@every '
  if (!text.startsWith(every)) throw new Error(`unrecognized descriptor: ${text}`)
  const duration = text.slice(every.length)
  const ms = parseDuration(duration)
  if (ms === undefined) {
    throw new Error(`failed to parse duration ${text}: time: invalid duration "${duration}"`)
  }
  return { kind: 'interval', everyMs: Math.max(1, Math.floor(ms / 1000)) * 1000 }
}

function parseFields(text: string): CronFields {
  const parts = text.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== bounds.length) {
    throw new Error(`expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`)
  }
  const fields = bounds.map((limits, index) => parseField(parts[index] ?? '', limits))
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ]
  return { kind: 'fields', minute, hour, dayOfMonth, month, dayOfWeek }
}

function parseField(text: string, limits: Bounds): CronField {
  const values = new Set<number>()
  let isStar = false
  for (const expression of text.split(',').filter((part) => part !== '')) {
    const range = parseRange(expression, limits)
    for (let value = range.start; value <= range.end; value += range.step) values.add(value)
    isStar ||= range.isStar
  }
  return { values, isStar }
}

/** One element of a field: `*`, `5`, `1-5`, and each of them with `/step`. */
function parseRange(expression: string, limits: Bounds) {
  const [range = '', stepText, ...more] = expression.split('/')
  const [low = '', high, ...others] = range.split('-')
  const isAny = low === '*' || low === '?'
  let start = limits.min
  let end = limits.max
  if (!isAny) {
    start = parseNumber(low, limits)
    if (others.length > 0) throw new Error(`too many hyphens: ${expression}`)
    end = high === undefined ? start : parseNumber(high, limits)
  }
  if (more.length > 0) throw new Error(`too many slashes: ${expression}`)
  const step = stepText === undefined ? 1 : parseNumber(stepText, {})
  // `5/15` means from 5 to the end.
  if (stepText !== undefined && high === undefined) end = limits.max
  if (start < limits.min) {
    throw new Error(`beginning of range (${start}) below minimum (${limits.min}): ${expression}`)
  }
  if (end > limits.max) {
    throw new Error(`end of range (${end}) above maximum (${limits.max}): ${expression}`)
  }
  if (start > end) {
    throw new Error(`beginning of range (${start}) beyond end of range (${end}): ${expression}`)
  }
  if (step === 0) throw new Error(`step of range should be a positive number: ${expression}`)
  return { start, end, step, isStar: isAny && step === 1 }
}

function parseNumber(text: string, { words = [] }: Pick<Bounds, 'words'>): number {
  const word = words.indexOf(text.toLowerCase())
  if (word >= 0 && text !== '') return word
  if (!/^[+-]?[0-9]+$/.test(text)) {
    throw new Error(
      `failed to parse int from ${text}: strconv.Atoi: parsing "${text}": invalid syntax`,
    )
  }
  const value = Number(text)
  if (value < 0) throw new Error(`negative number (${value}) not allowed: ${text}`)
  return value
}
