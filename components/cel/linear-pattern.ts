/**
 * Regular expressions in the syntax of upstream's (RE2), found in a time that is linear in the text, whatever the pattern: for
 * those that users write. Large: loaded when there is one.
 */
import { RE2JS, RE2JSException } from 're2js'

export interface LinearPattern {
  /** Whether it is somewhere in the text. */
  isIn(text: string): boolean
  /** What it finds, from left to right, `most` times at most. */
  find(text: string, most: number): string[]
}

const known = new Map<string, LinearPattern | string>()
const mostKnown = 2000

function compile(text: string): LinearPattern | string {
  try {
    const compiled = RE2JS.compile(text)
    return {
      isIn: (within) => compiled.test(within),
      find: (within, most) => {
        const matcher = compiled.matcher(within)
        const all: string[] = []
        while (all.length < most && matcher.find()) all.push(matcher.group() ?? '')
        return all
      },
    }
  } catch (error) {
    if (error instanceof RE2JSException) return error.message
    throw error
  }
}

/** The pattern, compiled once; or its fault, in upstream's words. */
export function linearPattern(text: string): LinearPattern | string {
  let found = known.get(text)
  if (found === undefined) {
    if (known.size >= mostKnown) known.clear()
    found = compile(text)
    known.set(text, found)
  }
  return found
}
