/** The fault of invalid JSON, in the words of Go's encoding/json, which clients of the API know. */
import { goQuote } from './go-syntax.ts'

const space = new Set([' ', '\t', '\n', '\r'])
const literals = ['true', 'false', 'null'] as const

interface Cursor {
  readonly text: string
  at: number
}

/** Thrown inside the scan only: the text ended, or the character at `at` does not fit. */
class Fault extends Error {}

const ended = 'unexpected end of JSON input'

function shown(character: string): string {
  if (character === "'") return `'\\''`
  if (character === '"') return `'"'`
  return `'${goQuote(character).slice(1, -1)}'`
}

function fail(cursor: Cursor, where: string): never {
  const character = cursor.text[cursor.at]
  throw new Fault(
    character === undefined ? ended : `invalid character ${shown(character)} ${where}`,
  )
}

/** Inside a token, where a space is a fault too, the end of the text is reported as a space. */
function failInside(cursor: Cursor, where: string): never {
  const character = cursor.text[cursor.at] ?? ' '
  throw new Fault(`invalid character ${shown(character)} ${where}`)
}

function peek(cursor: Cursor): string {
  while (space.has(cursor.text[cursor.at] ?? '')) cursor.at += 1
  return cursor.text[cursor.at] ?? ''
}

function scanString(cursor: Cursor): void {
  const { text } = cursor
  for (cursor.at += 1; cursor.at < text.length; cursor.at += 1) {
    const character = text[cursor.at] ?? ''
    if (character === '"') {
      cursor.at += 1
      return
    }
    if (character < ' ') fail(cursor, 'in string literal')
    if (character !== '\\') continue
    cursor.at += 1
    const escape = text[cursor.at]
    if (escape === 'u') {
      for (let digit = 0; digit < 4; digit += 1) {
        cursor.at += 1
        if (!/^[0-9a-f]$/i.test(text[cursor.at] ?? '')) {
          failInside(cursor, 'in \\u hexadecimal character escape')
        }
      }
    } else if (escape === undefined || !'"\\/bfnrt'.includes(escape)) {
      failInside(cursor, 'in string escape code')
    }
  }
  throw new Fault(ended)
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9'
}

function skipDigits(cursor: Cursor, where: string): void {
  if (!isDigit(cursor.text[cursor.at])) failInside(cursor, where)
  while (isDigit(cursor.text[cursor.at])) cursor.at += 1
}

function scanNumber(cursor: Cursor): void {
  const { text } = cursor
  if (text[cursor.at] === '-') cursor.at += 1
  if (text[cursor.at] === '0') cursor.at += 1
  else skipDigits(cursor, 'in numeric literal')
  if (text[cursor.at] === '.') {
    cursor.at += 1
    skipDigits(cursor, 'after decimal point in numeric literal')
  }
  if (text[cursor.at] === 'e' || text[cursor.at] === 'E') {
    cursor.at += 1
    if (text[cursor.at] === '+' || text[cursor.at] === '-') cursor.at += 1
    skipDigits(cursor, 'in exponent of numeric literal')
  }
}

function scanLiteral(cursor: Cursor, literal: string): void {
  for (const expected of literal) {
    if (cursor.text[cursor.at] !== expected) {
      failInside(cursor, `in literal ${literal} (expecting '${expected}')`)
    }
    cursor.at += 1
  }
}

function scanKey(cursor: Cursor): void {
  if (peek(cursor) !== '"') fail(cursor, 'looking for beginning of object key string')
  scanString(cursor)
  if (peek(cursor) !== ':') fail(cursor, 'after object key')
  cursor.at += 1
}

/** Scans one value; objects and lists are pushed on `open` and closed by the caller's loop. */
function scanStart(cursor: Cursor, open: ('{' | '[')[]): boolean {
  const character = peek(cursor)
  if (character === '{' || character === '[') {
    cursor.at += 1
    const close = character === '{' ? '}' : ']'
    if (peek(cursor) === close) {
      cursor.at += 1
      return true
    }
    open.push(character)
    if (character === '{') scanKey(cursor)
    return false
  }
  const literal = literals.find((one) => one.startsWith(character))
  if (character === '"') scanString(cursor)
  else if (character === '-' || isDigit(character)) scanNumber(cursor)
  else if (character !== '' && literal !== undefined) scanLiteral(cursor, literal)
  else fail(cursor, 'looking for beginning of value')
  return true
}

/** The first fault of the text. Call it only with text that JSON.parse rejected: valid text has no fault. */
export function jsonFault(text: Buffer): string {
  // Go names the byte at fault by the character of that number.
  const cursor: Cursor = { text: text.toString('latin1'), at: 0 }
  const open: ('{' | '[')[] = []
  try {
    for (;;) {
      if (!scanStart(cursor, open)) continue
      for (let within = open.at(-1); ; within = open.at(-1)) {
        const next = peek(cursor)
        if (within === undefined) {
          if (next === '') return 'invalid JSON'
          return fail(cursor, 'after top-level value')
        }
        if (next === ',') {
          cursor.at += 1
          if (within === '{') scanKey(cursor)
          break
        }
        if (next !== (within === '{' ? '}' : ']')) {
          fail(cursor, within === '{' ? 'after object key:value pair' : 'after array element')
        }
        cursor.at += 1
        open.pop()
      }
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.message
  }
}
