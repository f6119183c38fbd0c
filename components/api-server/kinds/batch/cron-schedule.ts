/** Cron schedules in the standard five fields, as upstream's parser takes them (robfig/cron v3). */

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly words?: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const fields: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: ['', ...months] },
  { name: 'day of week', min: 0, max: 6, words: weekdays },
]

const descriptors = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
])

/** What is wrong with the schedule, in the parser's words; undefined when it is fine. */
export function scheduleFault(given: string): string | undefined {
  if (given === '') return 'empty spec string'
  const zone = /^(?:CRON_)?TZ=(\S*)\s*/.exec(given)
  if (zone !== null && !isTimeZone(zone[1] ?? '')) {
    return `provided bad location ${zone[1] ?? ''}: unknown time zone ${zone[1] ?? ''}`
  }
  const schedule = zone === null ? given : given.slice(zone[0].length)
  if (schedule.startsWith('@')) return descriptorFault(schedule)
  const parts = schedule.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== fields.length) {
    const shown = `[${parts.join(' ')}]`
    return `expected exactly 5 fields, found ${parts.length}: ${shown}`
  }
  for (const [i, field] of fields.entries()) {
    for (const range of (parts[i] ?? '').split(',')) {
      const fault = rangeFault(range, field)
      if (fault !== undefined) return fault
    }
  }
  return undefined
}

function descriptorFault(text: string): string | undefined {
  if (descriptors.has(text)) return undefined
  const every = '@every '
  if (!text.startsWith(every)) return `unrecognized descriptor: ${text}`
  const duration = text.slice(every.length)
  if (/^[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:ns|us|µs|ms|s|m|h))+$/.test(duration)) return undefined
  return `failed to parse duration ${text}: time: invalid duration "${duration}"`
}

function rangeFault(expression: string, field: Field): string | undefined {
  const [range = '', step, ...more] = expression.split('/')
  if (more.length > 0) return `too many slashes: ${expression}`
  const [low = '', high, ...others] = range.split('-')
  if (others.length > 0) return `too many hyphens: ${expression}`
  let [start, end] = [field.min, field.max]
  if (low !== '*' && low !== '?') {
    const first = parseNumber(low, field)
    if (first.fault !== undefined) return first.fault
    const last = high === undefined ? first : parseNumber(high, field)
    if (last.fault !== undefined) return last.fault
    start = first.value
    end = high === undefined && step !== undefined ? field.max : last.value
  }
  if (step !== undefined) {
    const size = parseNumber(step, { ...field, words: [] })
    if (size.fault !== undefined) return size.fault
    if (size.value === 0) return `step of range should be a positive number: ${expression}`
  }
  if (start < field.min) {
    return `beginning of range (${start}) below minimum (${field.min}): ${expression}`
  }
  if (end > field.max) return `end of range (${end}) above maximum (${field.max}): ${expression}`
  if (start > end)
    return `beginning of range (${start}) beyond end of range (${end}): ${expression}`
  return undefined
}

function parseNumber(text: string, { words = [] }: Field): { value: number; fault?: string } {
  const word = words.indexOf(text.toLowerCase())
  if (word >= 0 && text !== '') return { value: word }
  if (/^[+]?[0-9]+$/.test(text)) return { value: Number(text) }
  if (/^-[0-9]+$/.test(text)) {
    return { value: 0, fault: `negative number (${Number(text)}) not allowed: ${text}` }
  }
  const why = `strconv.Atoi: parsing "${text}": invalid syntax`
  return { value: 0, fault: `failed to parse int from ${text}: ${why}` }
}

/**
 * Whether the platform knows the time zone. It takes offsets and any case, which the database of zones does not: its names begin
 * their parts with capitals. The case of the rest can only be told where the name is not another one's alias.
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
