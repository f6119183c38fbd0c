/** Sets of completion indexes as ordered intervals, and their notation `1,3-5,7` (upstream: indexed_job_utils.go). Pure. */

type Interval = readonly [first: number, last: number]

/** In order, disjoint, and never adjacent. */
export type Intervals = readonly Interval[]

/** The indexes below `completions` that the text names; parts that cannot be read are left out. */
export function parseIntervals(text: string | undefined, completions: number): Intervals {
  const found: Interval[] = []
  for (const part of (text ?? '').split(',')) {
    if (!/^[0-9]+(-[0-9]+)?$/.test(part)) continue
    const [first = 0, last = first] = part.split('-').map(Number)
    if (first >= completions) break
    found.push([first, Math.min(last, completions - 1)])
  }
  return mergeIntervals(found, [])
}

export function intervalsOf(indexes: Iterable<number>): Intervals {
  const ordered = [...indexes].toSorted((a, b) => a - b)
  return mergeIntervals(
    ordered.map((index): Interval => [index, index]),
    [],
  )
}

/** The indexes that either has. Both must be in order. */
export function mergeIntervals(a: readonly Interval[], b: readonly Interval[]): Intervals {
  const merged: Interval[] = []
  for (const [first, last] of [...a, ...b].toSorted((one, other) => one[0] - other[0])) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous[1] + 1) merged.push([first, last])
    else if (last > previous[1]) merged[merged.length - 1] = [previous[0], last]
  }
  return merged
}

export function indexCount(intervals: Intervals): number {
  return intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

export function hasIndex(intervals: Intervals, index: number): boolean {
  return intervals.some(([first, last]) => first <= index && index <= last)
}

/** How many indexes both have. */
export function sharedCount(a: Intervals, b: Intervals): number {
  let shared = 0
  for (const [first, last] of a) {
    for (const [from, to] of b) {
      shared += Math.max(0, Math.min(last, to) - Math.max(first, from) + 1)
    }
  }
  return shared
}

/** The lowest `count` indexes below `completions` that are not in `taken`. */
export function firstMissing(taken: Intervals, count: number, completions: number): number[] {
  const missing: number[] = []
  let candidate = 0
  for (const [first, last] of [...taken, [completions, completions] as const]) {
    const end = Math.min(first, completions)
    for (; candidate < end && missing.length < count; candidate += 1) missing.push(candidate)
    candidate = Math.max(candidate, last + 1)
  }
  return missing
}

/** `1,3-5,7,8`: two neighbours are written one by one. */
export function intervalText(intervals: Intervals): string {
  return intervals
    .map(([first, last]) => {
      if (first === last) return String(first)
      return `${first}${last === first + 1 ? ',' : '-'}${last}`
    })
    .join(',')
}
