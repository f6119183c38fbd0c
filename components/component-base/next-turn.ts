/** Next turn: long work in several turns of the event loop, so that other requests are answered between them. */

/** How long work may go on before something else has a turn, where it pauses often enough. */
const sliceMs = 10

/** Bodies and objects from this size on are worked on in several turns. */
export const largeBytes = 64 * 1024

/** Resolves in the next turn of the event loop, after the input that waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Runs a computation that pauses at each `yield`, in as many turns as it takes time. */
export async function inTurns<T>(steps: Generator<void, T, void>): Promise<T> {
  let beganMs = performance.now()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (performance.now() - beganMs < sliceMs) continue
    await nextTurn()
    beganMs = performance.now()
  }
}
