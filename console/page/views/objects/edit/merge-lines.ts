/** mergeLines: a text's own changes on top of another newer version of what it was made from (as diff3). Pure. */
import { diffLines } from './line-diff.ts'

/** Lines `start` up to `end` of the base become these. */
interface Hunk {
  readonly start: number
  readonly end: number
  readonly lines: readonly string[]
}

export interface Merged {
  readonly lines: readonly string[]
  /** Places where both changed the same lines in different ways: there the own text stands. */
  readonly conflicts: readonly { readonly own: string; readonly newest: string }[]
}

function hunksOf(base: readonly string[], changed: readonly string[]): Hunk[] {
  const hunks: { start: number; end: number; lines: string[] }[] = []
  let at = 0
  let open: { start: number; end: number; lines: string[] } | undefined
  for (const { is, text } of diffLines(base, changed)) {
    if (is === 'same') {
      open = undefined
      at += 1
      continue
    }
    if (open === undefined) {
      open = { start: at, end: at, lines: [] }
      hunks.push(open)
    }
    if (is === 'added') open.lines.push(text)
    else {
      at += 1
      open.end = at
    }
  }
  return hunks
}

const overlap = (a: Hunk, b: Hunk): boolean => a.start < b.end && b.start < a.end
const isEqual = (a: Hunk, b: Hunk): boolean =>
  a.start === b.start && a.end === b.end && a.lines.join('\n') === b.lines.join('\n')

export function mergeLines(
  base: readonly string[],
  own: readonly string[],
  newest: readonly string[],
): Merged {
  const mine = hunksOf(base, own)
  const conflicts: { own: string; newest: string }[] = []
  const theirs = hunksOf(base, newest).filter((hunk) => {
    const same = mine.find((one) => isEqual(one, hunk) || overlap(one, hunk))
    if (same !== undefined && !isEqual(same, hunk))
      conflicts.push({ own: same.lines.join('\n'), newest: hunk.lines.join('\n') })
    return same === undefined
  })
  // Where both insert at one place, the newer version's lines come first.
  const hunks = [...theirs, ...mine].toSorted((a, b) => a.start - b.start)
  const lines: string[] = []
  let at = 0
  for (const hunk of hunks) {
    lines.push(...base.slice(at, hunk.start), ...hunk.lines)
    at = Math.max(at, hunk.end)
  }
  lines.push(...base.slice(at))
  return { lines, conflicts }
}
