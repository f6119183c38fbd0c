/** Latest: several streams as one, of the newest value of each. */
import { createWakeUp } from './wake.ts'

/**
 * Yields the newest values as soon as every stream has one, and again after each change; a slow reader misses values in between.
 * Rejects with the first error of a stream. A stream that ends keeps its last value. All streams end with the reader.
 */
export async function* latest<T>(
  streams: readonly ((signal: AbortSignal) => AsyncIterable<T>)[],
  signal: AbortSignal,
): AsyncGenerator<readonly T[]> {
  const left = new AbortController()
  const either = AbortSignal.any([signal, left.signal])
  const values = new Map<number, T>()
  const wakeUp = createWakeUp()
  const reading = streams.map(async (stream, index) => {
    try {
      for await (const value of stream(either)) {
        values.set(index, value)
        wakeUp.wake()
      }
    } catch (error) {
      left.abort(error)
    }
  })
  try {
    for (;;) {
      await wakeUp.next(either)
      if (values.size === streams.length) yield streams.map((_, index) => values.get(index) as T)
    }
  } finally {
    left.abort(new Error('seen enough'))
    await Promise.all(reading)
  }
}
