/** FaultReader: reads a value of a command's parameters, and says which one is wrong. */

/** The message names the field, its value and what it may be. */
export class InvalidFaultError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InvalidFaultError'
  }
}

export type Fields = Readonly<Record<string, unknown>>

const longestShown = 100

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}...`
}

export function refuse(path: string, value: unknown, what: string): never {
  throw new InvalidFaultError(`${path}: ${shown(value)} is invalid: ${what}`)
}

/** The object's fields; others than `known` are refused. */
export function readFields(value: unknown, path: string, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse(path, value, 'it must be an object')
  for (const name of Object.keys(value)) {
    if (!known.includes(name))
      throw new InvalidFaultError(`${path}: unknown field ${shown(name)}: use ${known.join(', ')}`)
  }
  return value as Fields
}

export interface Range {
  readonly least: number
  readonly most: number
}

export function readInteger(value: unknown, path: string, { least, most }: Range): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most)
    return value
  return refuse(path, value, `it must be a whole number from ${least} to ${most}`)
}

export function readOneOf<T extends string | number | boolean>(
  value: unknown,
  path: string,
  allowed: readonly T[],
): T {
  const found = allowed.find((one) => one === value)
  return found ?? refuse(path, value, `use ${allowed.join(', ')}`)
}

const longestText = 1000

export function readText(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= longestText) return value
  return refuse(path, value, `it must be a text of 1 to ${longestText} characters`)
}

/** The most entries of a list. */
const mostEntries = 100

export function readList<T>(
  value: unknown,
  path: string,
  read: (item: unknown, path: string) => T,
): T[] {
  if (!Array.isArray(value)) return refuse(path, value, 'it must be a list')
  if (value.length > mostEntries)
    throw new InvalidFaultError(
      `${path}: has ${value.length} entries: at most ${mostEntries} are allowed`,
    )
  return value.map((item, at) => read(item, `${path}[${at}]`))
}

/** The one field that is set; refuses none and several. */
export function oneFieldOf(fields: Fields, path: string, known: readonly string[]): string {
  const set = Object.keys(fields).filter((name) => fields[name] !== undefined)
  const [only] = set
  if (only !== undefined && set.length === 1) return only
  const names = set.length === 0 ? 'none' : set.join(' and ')
  throw new InvalidFaultError(
    `${path}: has ${names}: it must have exactly one of ${known.join(', ')}`,
  )
}
