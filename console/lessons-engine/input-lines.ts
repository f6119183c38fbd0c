/** Input lines: what the learner types, line by line. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface InputLines extends Disposable {
  /** Lines from now on; the returned function ends it. */
  subscribe(listener: (line: string) => void): () => void
}

/** Reads until it is disposed of. The end of the input ends nothing else. */
export function inputLines(input: Readable): InputLines {
  const listeners = new Set<(line: string) => void>()
  const reader = createInterface({ input, terminal: false })
  reader.on('line', (line) => {
    for (const listener of listeners) listener(line)
  })
  return {
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    [Symbol.dispose]: () => {
      reader.close()
      input.pause()
    },
  }
}
