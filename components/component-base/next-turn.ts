/** Next turn: long work in several turns of the event loop, so that other requests are answered between them. */

/** How long work may go on before something else has a turn, where it pauses often enough. */
const sliceMs = 10

/** Bodies and objects from this size on are worked on in several turns. */
export const largeBytes = 64 * 1024

/** Resolves in the next turn of the event loop, after the input that waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Runs a computation that pauses at each `yield`, in as many turns as it takes time. A promise that it yields is awaited, and
 * the computation goes on with its value; rejects when the promise does.
 */
export async function inTurns<T>(
  steps: Generator<Promise<unknown> | undefined, T, unknown>,
): Promise<T> {
  let beganMs = performance.now()
  let answer: unknown
  for (;;) {
    const { done, value } = steps.next(answer)
    if (done === true) return value
    answer = undefined
    if (value !== undefined) answer = await value
    else if (performance.now() - beganMs < sliceMs) continue
    else await nextTurn()
    beganMs = performance.now()
  }
}
