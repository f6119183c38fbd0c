/** How deep JSON text nests and how much it holds: what must be known before, and after, it is parsed. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const [ZERO, NINE] = [0x30, 0x39]
const [LOWER_E, UPPER_E] = [0x65, 0x45]
/** A number with fewer digits and no exponent is within a float's bounds. */
const manyDigits = 300

export interface JsonMeasure {
  /** How many objects and lists are open at once, at most. */
  readonly depth: number
  /** The fields of all objects, repeats included. */
  readonly fields: number
  /** At most so many values: fields of objects and items of lists. */
  readonly values: number
  /** A number has an exponent, or so many digits that no float may hold it. */
  readonly hasLargeNumber: boolean
}

/** Looks at the bytes once; text that is not JSON gets figures that mean little, and never an error. */
export function measureJson(text: Uint8Array): JsonMeasure {
  const { length } = text
  let depth = 0
  let deepest = 0
  let fields = 0
  let commas = 0
  let opened = 0
  let hasLargeNumber = false
  for (let at = 0; at < length; at += 1) {
    const byte = text[at]
    if (byte === QUOTE) {
      for (at += 1; at < length; at += 1) {
        const inside = text[at]
        if (inside === QUOTE) break
        if (inside === BACKSLASH) at += 1
      }
    } else if (byte === COLON) fields += 1
    else if (byte === COMMA) commas += 1
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      opened += 1
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
    else if (isDigit(byte)) {
      const start = at
      while (isDigit(text[at + 1])) at += 1
      const after = text[at + 1]
      if (after === LOWER_E || after === UPPER_E || at - start >= manyDigits - 1)
        hasLargeNumber = true
    }
  }
  return { depth: deepest, fields, values: commas + opened, hasLargeNumber }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}
