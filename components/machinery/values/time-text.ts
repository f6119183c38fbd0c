/** Times on the wire: RFC 3339 to the second (`Time`) or the microsecond (`MicroTime`), with Go's error texts. */

/** The canonical UTC text, or why the input is invalid; null for the zero time, which is written as null. */
export type TimeText = { readonly text: string | null } | { readonly error: string }

const layouts = {
  Time: '2006-01-02T15:04:05Z07:00',
  MicroTime: '2006-01-02T15:04:05.000000Z07:00',
} as const

/** Canonical already, and of a day that every month has. */
const quick = {
  Time: /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/,
  MicroTime:
    /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/,
} as const

/** Reads a time as upstream's decoder does: other zones become UTC, finer digits are cut off. */
export function canonicalTime(text: string, kind: 'Time' | 'MicroTime'): TimeText {
  if (quick[kind].test(text)) return { text }
  const result = new LayoutParser(text, layouts[kind]).run(kind === 'MicroTime')
  if ('error' in result) return result
  const zero = kind === 'Time' ? '0001-01-01T00:00:00Z' : '0001-01-01T00:00:00.000000Z'
  const utc = new Date(result.ms - result.offsetMinutes * 60_000)
  const seconds = `${utc.toISOString().slice(0, -5).padStart(19, '0')}`
  const canonical = kind === 'Time' ? `${seconds}Z` : `${seconds}.${result.micros}Z`
  return { text: canonical === zero ? null : canonical }
}

/** Walks one text along one layout; holds the position and the numbers read so far. */
class LayoutParser {
  readonly #text: string
  readonly #layout: string
  #at = 0

  constructor(text: string, layout: string) {
    this.#text = text
    this.#layout = layout
  }

  run(isMicro: boolean): { ms: number; offsetMinutes: number; micros: string } | { error: string } {
    const read: Record<string, number> = {}
    for (const [element, digits, separator] of [
      ['2006', 4, ''],
      ['01', 2, '-'],
      ['02', 2, '-'],
      ['15', 2, 'T'],
      ['04', 2, ':'],
      ['05', 2, ':'],
    ] as const) {
      if (!this.#text.startsWith(separator, this.#at)) return this.#bad(separator)
      this.#at += separator.length
      const number = this.#digits(digits)
      if (number === undefined) return this.#bad(element)
      const range = {
        '01': [1, 12, 'month'],
        '15': [0, 23, 'hour'],
        '04': [0, 59, 'minute'],
      } as const
      const bounds = element === '05' ? ([0, 59, 'second'] as const) : range[element as '01']
      if (bounds !== undefined && (number < bounds[0] || number > bounds[1])) {
        return this.#outOfRange(bounds[2])
      }
      read[element] = number
    }
    const micros = this.#fraction(isMicro)
    if (micros === undefined) return this.#bad('.000000')
    const offsetMinutes = this.#zone()
    if (offsetMinutes === undefined) return this.#bad('Z07:00')
    const rest = this.#text.slice(this.#at)
    if (rest !== '')
      return { error: `parsing time ${quote(this.#text)}: extra text: ${quote(rest)}` }
    return this.#date(read, { offsetMinutes, micros })
  }

  #date(
    read: Record<string, number>,
    rest: { offsetMinutes: number; micros: string },
  ): { ms: number; offsetMinutes: number; micros: string } | { error: string } {
    const date = new Date(0)
    const month = (read['01'] ?? 1) - 1
    date.setUTCFullYear(read['2006'] ?? 0, month, read['02'] ?? 0)
    if (date.getUTCMonth() !== month || read['02'] === 0) return this.#outOfRange('day')
    date.setUTCHours(read['15'] ?? 0, read['04'] ?? 0, read['05'] ?? 0)
    return { ms: date.getTime(), ...rest }
  }

  #digits(count: number): number | undefined {
    const text = this.#text.slice(this.#at, this.#at + count)
    if (text.length !== count || !/^[0-9]+$/.test(text)) return undefined
    this.#at += count
    return Number(text)
  }

  #fraction(isMicro: boolean): string | undefined {
    const found = /^[.,](\d+)/.exec(this.#text.slice(this.#at))?.[1]
    if (isMicro) {
      if (found === undefined || found.length < 6) return undefined
      this.#at += 7
      return found.slice(0, 6)
    }
    if (found !== undefined) this.#at += found.length + 1
    return '000000'
  }

  #zone(): number | undefined {
    if (this.#text.startsWith('Z', this.#at)) {
      this.#at += 1
      return 0
    }
    const zone = /^([+-])(\d\d):(\d\d)/.exec(this.#text.slice(this.#at))
    if (zone === null || Number(zone[2]) > 24 || Number(zone[3]) >= 60) return undefined
    this.#at += 6
    const minutes = Number(zone[2]) * 60 + Number(zone[3])
    return zone[1] === '-' ? -minutes : minutes
  }

  #bad(element: string): { error: string } {
    const rest = this.#text.slice(this.#at)
    return {
      error: `parsing time ${quote(this.#text)} as ${quote(this.#layout)}: cannot parse ${quote(rest)} as ${quote(element)}`,
    }
  }

  #outOfRange(what: string): { error: string } {
    return { error: `parsing time ${quote(this.#text)}: ${what} out of range` }
  }
}

function quote(text: string): string {
  return JSON.stringify(text)
}
