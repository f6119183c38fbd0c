/** Verdict: whether a step is done, as far as its check can see now. */

export interface Verdict {
  readonly done: boolean
  /** What is not as it should be, line by line; empty when the step is done. */
  readonly report: readonly string[]
}

/** The verdict of one condition, with the variables that it sets when it holds. */
export interface ConditionVerdict extends Verdict {
  readonly saved: Readonly<Record<string, unknown>>
}

/** Verdicts of one condition, the first one at once, then one after each change; it never ends by itself. */
export type ConditionVerdicts = (signal: AbortSignal) => AsyncIterable<ConditionVerdict>

export const notDone = (...report: string[]): ConditionVerdict => ({
  done: false,
  report,
  saved: {},
})

/** All conditions have to hold at the same time. */
export function joined(verdicts: readonly ConditionVerdict[]): ConditionVerdict {
  const done = verdicts.every((one) => one.done)
  return {
    done,
    report: verdicts.flatMap((one) => one.report),
    saved: done ? Object.assign({}, ...verdicts.map((one) => one.saved)) : {},
  }
}
