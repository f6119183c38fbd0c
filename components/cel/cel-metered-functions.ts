/**
 * The functions of upstream's expressions whose cost is counted while they run: sets, replacing, and regular expressions
 * (upstream: apiserver/pkg/cel/library, cost.go).
 */
import type { CelList } from '@bufbuild/cel'
import { createLibrary, type Library, type LibraryMaker } from './cel-library.ts'
import type { Meter } from './cel-meter.ts'
import { sameValue } from './cel-same-value.ts'
import { bool, dyn, int, listOf, string } from './cel-types.ts'

const lists = [listOf(dyn), listOf(dyn)] as const

const includes = (list: CelList, value: unknown): boolean =>
  [...list].some((item) => sameValue(item, value))

function addSets({ define }: LibraryMaker, meter: Meter): void {
  const pairs = (a: CelList, b: CelList): void => meter.charge(a.size * b.size)
  const hasAll = (of: CelList, wanted: CelList): boolean => {
    pairs(of, wanted)
    return [...wanted].every((value) => includes(of, value))
  }
  define('sets.contains', [lists, bool], hasAll)
  define('sets.equivalent', [lists, bool], (a: CelList, b: CelList) => hasAll(a, b) && hasAll(b, a))
  define('sets.intersects', [lists, bool], (a: CelList, b: CelList) => {
    pairs(a, b)
    return [...a].some((value) => includes(b, value))
  })
}

function replaced(text: string, old: string, by: string, most = -1n): string {
  const limit = most < 0n ? Number.POSITIVE_INFINITY : Number(most)
  let made = ''
  let from = 0
  // An empty text stands before every character and at the end.
  for (let count = 0; count < limit; count += 1) {
    const at =
      old === '' ? from + (count === 0 ? 0 : lengthAt(text, from)) : text.indexOf(old, from)
    if (at < 0 || at > text.length || (old === '' && count > 0 && at === from)) break
    made += text.slice(from, at) + by
    from = at + old.length
  }
  return made + text.slice(from)
}

/** UTF-16 units of the character there; 0 at the end. */
function lengthAt(text: string, at: number): number {
  return at >= text.length ? 0 : String.fromCodePoint(text.codePointAt(at) ?? 0).length
}

function addReplacing({ method }: LibraryMaker, meter: Meter): void {
  const replace = (text: string, old: string, by: string, most?: bigint): string => {
    const made = replaced(text, old, by, most)
    // What it makes may be longer than all that came in (upstream: StringTraversalCostFactor).
    meter.charge(made.length / 10)
    return made
  }
  method('replace', [string, [string, string], string], replace)
  method('replace', [string, [string, string, int], string], replace)
}

/** RE2's, whose time is linear in the text. */
function addPatterns({ method }: LibraryMaker, meter: Meter): void {
  const found = (text: string, pattern: string, most: number): string[] =>
    meter.chargedPattern(text, pattern).find(text, most)
  method('find', [string, [string], string], (text: string, pattern: string) =>
    found(text, pattern, 1).join(''),
  )
  method('findAll', [string, [string], listOf(string)], (text: string, pattern: string) =>
    found(text, pattern, Number.POSITIVE_INFINITY),
  )
  method(
    'findAll',
    [string, [string, int], listOf(string)],
    (text: string, pattern: string, most: bigint) =>
      found(text, pattern, most < 0n ? Number.POSITIVE_INFINITY : Number(most)),
  )
}

/** These functions; each charges the meter. */
export function meteredLibrary(meter: Meter): Library {
  const maker = createLibrary()
  addSets(maker, meter)
  addReplacing(maker, meter)
  addPatterns(maker, meter)
  return maker.library
}
