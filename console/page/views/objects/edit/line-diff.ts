/** lineDiff: what changed between two texts, by line (Myers, An O(ND) Difference Algorithm). Bounded. Pure. */

export interface DiffLine {
  readonly is: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Edits that are looked for; texts that differ in more are shown as replaced as a whole. */
const mostEdits = 1000

/** For one number of edits, the furthest line of `a` on every diagonal from `-edits` to `edits`. */
type Round = Int32Array

const reached = (round: Round | undefined, diagonal: number): number => {
  if (round === undefined) return diagonal === 1 ? 0 : -1
  return round[diagonal + (round.length >> 1)] ?? -1
}

/** Whether the way to a diagonal adds a line, rather than removing one. */
function isAdding(before: Round | undefined, edits: number, diagonal: number): boolean {
  if (diagonal === -edits) return true
  return diagonal !== edits && reached(before, diagonal - 1) < reached(before, diagonal + 1)
}

/** Undefined when there are too many edits. */
function furthest(a: readonly string[], b: readonly string[]): Round[] | undefined {
  const rounds: Round[] = []
  for (let edits = 0; edits <= Math.min(mostEdits, a.length + b.length); edits += 1) {
    const before = rounds.at(-1)
    const round = new Int32Array(2 * edits + 1).fill(-1)
    rounds.push(round)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isAdding(before, edits, diagonal)
        ? reached(before, diagonal + 1)
        : reached(before, diagonal - 1) + 1
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1
      round[diagonal + edits] = x
      if (x >= a.length && x - diagonal >= b.length) return rounds
    }
  }
  return undefined
}

function walkBack(
  a: readonly string[],
  b: readonly string[],
  rounds: readonly Round[],
): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [a.length, b.length]
  for (let edits = rounds.length - 1; edits > 0; edits -= 1) {
    const before = rounds[edits - 1]
    const diagonal = x - y
    const isDown = isAdding(before, edits, diagonal)
    const fromDiagonal = diagonal + (isDown ? 1 : -1)
    const fromX = reached(before, fromDiagonal)
    const fromY = fromX - fromDiagonal
    for (; x > fromX && y > fromY; x -= 1, y -= 1) lines.push({ is: 'same', text: a[x - 1] ?? '' })
    if (isDown) {
      y -= 1
      lines.push({ is: 'added', text: b[y] ?? '' })
    } else {
      x -= 1
      lines.push({ is: 'removed', text: a[x] ?? '' })
    }
  }
  for (; x > 0; x -= 1) lines.push({ is: 'same', text: a[x - 1] ?? '' })
  return lines.toReversed()
}

export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const rounds = furthest(before, after)
  if (rounds !== undefined) return walkBack(before, after, rounds)
  return [
    ...before.map((text): DiffLine => ({ is: 'removed', text })),
    ...after.map((text): DiffLine => ({ is: 'added', text })),
  ]
}

/** A run of lines, or how many unchanged ones are left out there. */
export type DiffPart = DiffLine | { readonly is: 'skipped'; readonly count: number }

/** The changed lines with `context` lines around each. */
export function shortDiff(lines: readonly DiffLine[], context: number): DiffPart[] {
  const isNear = lines.map(() => false)
  lines.forEach(({ is }, index) => {
    if (is === 'same') return
    isNear.fill(true, Math.max(0, index - context), index + context + 1)
  })
  const parts: DiffPart[] = []
  let count = 0
  lines.forEach((line, index) => {
    if (!isNear[index]) {
      count += 1
      return
    }
    if (count > 0) parts.push({ is: 'skipped', count })
    count = 0
    parts.push(line)
  })
  if (count > 0) parts.push({ is: 'skipped', count })
  return parts
}
