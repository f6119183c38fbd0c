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

/**
 * Runs all steps at once, as far as none needs a promise's value: the others follow when it is there, and the answer is a promise
 * then. A promise that rejects throws in the computation.
 */
export function atOnce<T>(steps: Steps<T>): T | Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (value !== undefined) return waitFor(value, steps)
  }
}

async function waitFor<T>(first: Promise<unknown>, steps: Steps<T>): Promise<T> {
  let pending: Promise<unknown> | undefined = first
  for (;;) {
    let step: IteratorResult<Promise<unknown> | undefined, T>
    try {
      step = steps.next(await pending)
    } catch (error) {
      step = steps.throw(error)
    }
    if (step.done === true) return step.value
    pending = step.value
  }
}

/** A computation of one part, with a pause before it. */
export function* oneStep<T>(compute: () => T): Steps<T> {
  yield
  return compute()
}
