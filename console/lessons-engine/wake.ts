/** Wake: waiting for the next change that somebody else announces. */

/** Resolves when one of `waiting` is called, which takes it out again; rejects with `signal.reason`. */
export async function untilWoken(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const woken = Promise.withResolvers<void>()
  const wake = (): void => woken.resolve()
  const stop = (): void => woken.reject(signal.reason as Error)
  waiting.add(wake)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await woken.promise
  } finally {
    waiting.delete(wake)
    signal.removeEventListener('abort', stop)
  }
}

/** A wake-up that is kept until it is waited for: several in the meantime count as one. */
export interface WakeUp {
  wake(): void
  /** Resolves at the next wake-up, or at once after one that came meanwhile; rejects with `signal.reason`. */
  next(signal: AbortSignal): Promise<void>
}

export function createWakeUp(): WakeUp {
  const waiting = new Set<() => void>()
  let isPending = false
  return {
    wake: () => {
      isPending = true
      for (const wake of waiting) wake()
    },
    next: async (signal) => {
      if (!isPending) await untilWoken(waiting, signal)
      isPending = false
    },
  }
}
