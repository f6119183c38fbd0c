/** AbortListeners: listeners of a signal that thousands of things share. */

export interface AbortListeners {
  readonly signal: AbortSignal
  /** Calls the listener once, when the signal aborts: at once if it has. The result removes it, and may be called again. */
  add(listener: () => void): () => void
}

/**
 * Listens to the signal once, for all. An AbortSignal looks through its listeners whenever one is added or removed, so with N
 * of them each costs N.
 */
export function abortListeners(signal: AbortSignal): AbortListeners {
  const listeners = new Map<symbol, () => void>()
  const tell = (): void => {
    for (const listener of listeners.values()) listener()
    listeners.clear()
  }
  signal.addEventListener('abort', tell, { once: true })
  return {
    signal,
    add: (listener) => {
      if (signal.aborted) {
        listener()
        return () => {}
      }
      const id = Symbol('listener')
      listeners.set(id, listener)
      return () => void listeners.delete(id)
    },
  }
}
