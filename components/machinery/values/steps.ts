/** Steps: a computation that pauses between its parts, for callers that let something else run there. */

/** Pauses at each `yield`; nothing that it works on may change until it is done. */
export type Steps<T> = Generator<void, T, void>

/** Runs all steps at once. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
