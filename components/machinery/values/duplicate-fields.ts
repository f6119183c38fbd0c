/** Finds fields given twice in JSON text, which parsing hides. A scan over the bytes, for fieldValidation Warn and Strict. */
import { goQuote } from './go-syntax.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COMMA = 0x2c

const maxProblems = 100

/**
 * The problems of a strict decode, in document order: `unknown field "a.b"` for the paths given, `duplicate field "a.c"`
 * for fields given twice; each once, at most 100. Nothing inside an unknown field counts. The text must be valid JSON.
 */
export function strictProblems(text: Buffer, unknown: readonly string[]): string[] {
  const problems = new Set<string>()
  const rest = new Set(unknown)
  scan(text, (path, isDuplicate) => {
    if (rest.size > 0 && rest.has(path)) {
      problems.add(`unknown field ${goQuote(path)}`)
      return false
    }
    if (isDuplicate) problems.add(`duplicate field ${goQuote(path)}`)
    return problems.size < maxProblems
  })
  return [...problems].slice(0, maxProblems)
}

/** How many fields the objects in a value have. */
function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let fields = 0
  if (Array.isArray(value)) {
    for (const item of value) fields += countFields(item)
    return fields
  }
  for (const name in value) {
    fields += 1 + countFields((value as Record<string, unknown>)[name])
  }
  return fields
}

/**
 * Whether a text gives a field twice: it has more fields (json-measure.ts counts them) than `value`, which JSON.parse
 * made of it. Much cheaper than finding out which.
 */
export function hasDuplicateFields(fieldsInText: number, value: unknown): boolean {
  return fieldsInText !== countFields(value)
}

/** The paths of fields given twice (`metadata.labels.a`, `spec.containers[0].name`), in document order, each once. */
export function duplicateFields(text: Buffer): string[] {
  const paths = new Set<string>()
  scan(text, (path, isDuplicate) => {
    if (isDuplicate) paths.add(path)
    return true
  })
  return [...paths].slice(0, maxProblems)
}

/** One open object or list. `keys` is undefined for a list. */
interface Level {
  readonly keys: Set<string> | undefined
  /** The path to the object or list; undefined for the whole text. */
  readonly path: string | undefined
  /** The key or index whose value comes next. */
  name: string
  index: number
}

/** Calls back for every key; a false answer skips what is below it. */
function scan(text: Buffer, onKey: (path: string, isDuplicate: boolean) => boolean): void {
  const levels: Level[] = []
  let at = 0
  let skippedBelow = Number.POSITIVE_INFINITY
  let isKey = false
  while (at < text.length) {
    const byte = text[at]
    if (byte === QUOTE) {
      const end = endOfString(text, at)
      const level = levels.at(-1)
      if (isKey && level?.keys !== undefined) {
        isKey = false
        if (levels.length <= skippedBelow) skippedBelow = Number.POSITIVE_INFINITY
        if (skippedBelow === Number.POSITIVE_INFINITY) {
          const name = keyText(text, at, end)
          const isDuplicate = level.keys.has(name)
          level.keys.add(name)
          level.name = level.path === undefined ? name : `${level.path}.${name}`
          if (!onKey(level.name, isDuplicate)) skippedBelow = levels.length
        }
      }
      at = end + 1
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      const parent = levels.at(-1)
      const path =
        parent === undefined
          ? undefined
          : parent.keys === undefined
            ? `${parent.path ?? ''}[${parent.index}]`
            : parent.name
      levels.push({
        keys: byte === OPEN_OBJECT ? new Set() : undefined,
        path: skippedBelow === Number.POSITIVE_INFINITY ? path : '',
        name: '',
        index: 0,
      })
      isKey = byte === OPEN_OBJECT
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      levels.pop()
      // A skipped field ends where its object ends.
      if (levels.length < skippedBelow) skippedBelow = Number.POSITIVE_INFINITY
      isKey = false
    } else if (byte === COMMA) {
      const level = levels.at(-1)
      if (level?.keys !== undefined) isKey = true
      else if (level !== undefined) level.index += 1
    } else if (byte === COLON) isKey = false
    at += 1
  }
}

/** The offset of the closing quote. */
function endOfString(text: Buffer, start: number): number {
  let end = text.indexOf(QUOTE, start + 1)
  while (end > 0 && isEscaped(text, end)) end = text.indexOf(QUOTE, end + 1)
  return end < 0 ? text.length : end
}

function isEscaped(text: Buffer, at: number): boolean {
  let slashes = 0
  while (text[at - 1 - slashes] === BACKSLASH) slashes += 1
  return slashes % 2 === 1
}

function keyText(text: Buffer, start: number, end: number): string {
  const raw = text.toString('utf8', start + 1, end)
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
}
