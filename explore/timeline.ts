/** Timeline: what the controller did in the reference and in a plan, side by side. */
import { describeTarget, isWrite } from './gate/target.ts'
import type { Point } from './gate/target.ts'
import type { Traffic } from './gate/traffic.ts'

type Pair = readonly [number | undefined, number | undefined]

/** A write of the controller, a request that a fault met, or something that the run did. */
export interface TimelineLine {
  /** Since the start of its run. */
  readonly atMs: number
  /** Steps count from 1; 0 is the time before the first. */
  readonly step: number
  /** What happened, without what differs from run to run: lines of the same text stand beside each other. */
  readonly text: string
  /** Undefined: something that the run did. */
  readonly request?: Point
  /** Of the answer; undefined: there was none. */
  readonly status?: number
  /** What the plan did to it. */
  readonly fault?: string
}

/** Two timelines. A row has the indices of lines that stand beside each other; one of them may be missing. */
export interface Timelines {
  readonly reference: readonly TimelineLine[]
  readonly plan: readonly TimelineLine[]
  readonly rows: readonly { readonly reference?: number; readonly plan?: number }[]
}

const width = 58

function linesOf({ exchanges, marks }: Traffic): TimelineLine[] {
  const requests = exchanges
    .filter(({ isQuiet, point, fault }) => !isQuiet && (isWrite(point) || fault !== undefined))
    .map(({ atMs, step, point, status, fault }): TimelineLine => ({
      atMs,
      step,
      text: describeTarget(point),
      request: point,
      ...(status === undefined ? {} : { status }),
      ...(fault === undefined ? {} : { fault }),
    }))
  const told = marks.map(({ atMs, step, text }): TimelineLine => ({ atMs, step, text }))
  return [...told, ...requests].sort((one, other) => one.step - other.step || one.atMs - other.atMs)
}

const keyOf = ({ text, request }: TimelineLine): string => `${request === undefined} ${text}`

/** Pairs of lines in order; equal ones beside each other, as many as can be. */
function paired(left: readonly string[], right: readonly string[]): Pair[] {
  const lengths = Array.from({ length: left.length + 1 }, () =>
    Array.from({ length: right.length + 1 }, () => 0),
  )
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = left.length - 1; i >= 0; i -= 1)
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const row = lengths[i]
      if (row !== undefined)
        row[j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  const pairs: Pair[] = []
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length)
    if (i < left.length && left[i] === right[j]) pairs.push([i++, j++])
    else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1)))
      pairs.push([i++, undefined])
    else pairs.push([undefined, j++])
  return pairs
}

/** What the controller did in both. */
export function timelinesOf(reference: Traffic, plan: Traffic): Timelines {
  const [left, right] = [linesOf(reference), linesOf(plan)]
  const rows = paired(left.map(keyOf), right.map(keyOf)).map(([one, other]) => ({
    ...(one === undefined ? {} : { reference: one }),
    ...(other === undefined ? {} : { plan: other }),
  }))
  return { reference: left, plan: right, rows }
}

function cell(line: TimelineLine | undefined): string {
  if (line === undefined) return ''
  const { atMs, text: what, request, status = 'no answer', fault } = line
  const end = fault === undefined ? `${status}` : `${status}, ${fault}`
  const told = request === undefined ? `-- ${what}` : `${what}  ${end}`
  const text = `${(atMs / 1000).toFixed(2).padStart(6)} ${told}`
  return text.length > width ? `${text.slice(0, width - 1)}…` : text
}

/** One line each: the reference on the left, the plan on the right, with seconds since the start of each. */
export function timelineText({ reference, plan, rows }: Timelines): string[] {
  const lineAt = (lines: readonly TimelineLine[], at: number | undefined): string =>
    cell(at === undefined ? undefined : lines[at])
  return [
    `${'REFERENCE'.padEnd(width)}  PLAN`,
    ...rows.map((row) =>
      `${lineAt(reference, row.reference).padEnd(width)}  ${lineAt(plan, row.plan)}`.trimEnd(),
    ),
  ]
}
