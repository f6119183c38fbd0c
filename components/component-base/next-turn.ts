/** Next turn: long work in several turns of the event loop, so that other requests are answered between them. */

/** Resolves in the next turn of the event loop, after the input that waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
