/**
 * linearize: looks for an order of concurrent operations that explains all answers and keeps to real time, as Wing and Gong
 * search for it, with Lowe's memory of what was tried ("Testing for linearizability", 2017). The histories of several keys
 * are linearizable when each key's is.
 */

export interface Model<State, Op> {
  readonly initial: State
  /** The state after the operation; undefined if its answer is impossible in this state. */
  step(state: State, operation: Op): State | undefined
  /** Equal texts for equal states. */
  keyOf(state: State): string
}

export interface Interval<Op> {
  readonly operation: Op
  readonly callMs: number
  /** Infinity: it may have happened at any time after the call, or never. */
  readonly returnMs: number
}

export type Verdict<Op> =
  | { readonly result: 'linearizable'; readonly order: readonly Op[] }
  /** `order` is the longest that was found; one of `stuck` cannot follow. */
  | { readonly result: 'violated'; readonly order: readonly Op[]; readonly stuck: readonly Op[] }
  /** Neither shown nor refuted after `steps`. */
  | { readonly result: 'gave-up'; readonly steps: number }

/** A call or a return in a list by time, from which what is linearized is lifted. */
interface Entry<Op> {
  readonly number: number
  readonly operation: Op
  readonly isCall: boolean
  /** Of a call: its return; undefined if there is none. */
  match: Entry<Op> | undefined
  previous: Entry<Op> | undefined
  next: Entry<Op> | undefined
}

const mostSteps = 3_000_000

export function linearize<State, Op>(
  model: Model<State, Op>,
  intervals: readonly Interval<Op>[],
  limits: { readonly mostSteps?: number } = {},
): Verdict<Op> {
  const head = entriesByTime(intervals)
  const bits = new Uint32Array(Math.ceil(intervals.length / 32))
  const tried = new Set<string>()
  const chosen: { call: Entry<Op>; before: State }[] = []
  let longest: readonly Op[] = []
  let state = model.initial
  let entry = head.next
  for (let steps = 0; ; steps += 1) {
    // Whatever is left never returned.
    if (entry === undefined) return { result: 'linearizable', order: orderOf(chosen) }
    if (steps >= (limits.mostSteps ?? mostSteps)) return { result: 'gave-up', steps }
    if (entry.isCall) {
      const after = model.step(state, entry.operation)
      flip(bits, entry.number)
      if (after !== undefined && isNew(tried, `${bits.join(' ')} ${model.keyOf(after)}`)) {
        chosen.push({ call: entry, before: state })
        state = after
        lift(entry)
        entry = head.next
      } else {
        flip(bits, entry.number)
        entry = entry.next
      }
      continue
    }
    // It returned, and is nowhere in the order.
    if (chosen.length >= longest.length) longest = orderOf(chosen)
    const last = chosen.pop()
    if (last === undefined)
      return { result: 'violated', order: longest, stuck: stuckAfter(intervals, longest) }
    state = last.before
    flip(bits, last.call.number)
    unlift(last.call)
    entry = last.call.next
  }
}

function orderOf<Op>(chosen: readonly { call: Entry<Op> }[]): readonly Op[] {
  return chosen.map(({ call }) => call.operation)
}

function isNew(tried: Set<string>, key: string): boolean {
  if (tried.has(key)) return false
  tried.add(key)
  return true
}

function flip(bits: Uint32Array, at: number): void {
  const word = at >>> 5
  bits[word] = (bits[word] ?? 0) ^ (1 << (at & 31))
}

function entriesByTime<Op>(intervals: readonly Interval<Op>[]): Entry<Op> {
  const timed = intervals.flatMap(({ operation, callMs, returnMs }, number) => {
    const blank = { number, operation, previous: undefined, next: undefined }
    const back: Entry<Op> = { ...blank, isCall: false, match: undefined }
    const hasReturn = returnMs !== Infinity
    const call: Entry<Op> = { ...blank, isCall: true, match: hasReturn ? back : undefined }
    const calls = [{ atMs: callMs, entry: call }]
    return hasReturn ? [...calls, { atMs: returnMs, entry: back }] : calls
  })
  // At the same time, calls come first: the operations count as concurrent.
  timed.sort((a, b) => a.atMs - b.atMs || Number(b.entry.isCall) - Number(a.entry.isCall))
  const [anyInterval] = intervals
  const head: Entry<Op> = {
    number: -1,
    operation: anyInterval?.operation as Op,
    isCall: true,
    match: undefined,
    previous: undefined,
    next: undefined,
  }
  let last = head
  for (const { entry } of timed) {
    last.next = entry
    entry.previous = last
    last = entry
  }
  return head
}

function unlink<Op>({ previous, next }: Entry<Op>): void {
  if (previous !== undefined) previous.next = next
  if (next !== undefined) next.previous = previous
}

function relink<Op>(entry: Entry<Op>): void {
  if (entry.previous !== undefined) entry.previous.next = entry
  if (entry.next !== undefined) entry.next.previous = entry
}

function lift<Op>(call: Entry<Op>): void {
  unlink(call)
  if (call.match !== undefined) unlink(call.match)
}

/** In the opposite order of `lift`. */
function unlift<Op>(call: Entry<Op>): void {
  if (call.match !== undefined) relink(call.match)
  relink(call)
}

/** What was called before anything else that is left had returned: one of these must have come next. */
function stuckAfter<Op>(intervals: readonly Interval<Op>[], order: readonly Op[]): readonly Op[] {
  const done = new Set(order)
  const left = intervals.filter(({ operation }) => !done.has(operation))
  const firstReturnMs = Math.min(...left.map(({ returnMs }) => returnMs))
  return left.filter(({ callMs }) => callMs <= firstReturnMs).map(({ operation }) => operation)
}
