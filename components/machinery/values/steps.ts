/** Steps: a computation that pauses between its parts. Its caller can let something else run there. */

/**
 * Pauses at each `yield`; nothing that it works on may change until it is done. It yields a promise where it needs the value:
 * the caller waits and hands the value back.
 */
export type Steps<T> = Generator<Promise<unknown> | undefined, T, unknown>

/** Runs all steps at once. Throws when one needs a promise's value. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (value !== undefined) throw new Error('a computation that has to wait was run at once')
  }
}

/** A computation of one part, with a pause before it. */
export function* oneStep<T>(compute: () => T): Steps<T> {
  yield
  return compute()
}
