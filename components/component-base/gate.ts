/** Gate: lets a few of many works run at once; the others wait in the order in which they came. */

/** Settles as the work does, once its turn has come. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>

export function createGate(atOnce: number): Gate {
  const waiting = new Set<() => void>()
  let running = 0
  const leave = (): void => {
    const [next] = waiting
    if (next === undefined) {
      running -= 1
      return
    }
    // Its place goes on to the next, before anything else can take it.
    waiting.delete(next)
    next()
  }
  return async (work) => {
    if (running < atOnce) running += 1
    else await new Promise<void>((enter) => waiting.add(enter))
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
