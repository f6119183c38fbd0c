/** AbortableWaits: many waits that end with the same few signals. A signal has one listener, however many wait, and none when none waits. */

interface Waits {
  readonly rejects: Set<() => void>
  readonly onAbort: () => void
}

export class AbortableWaits {
  readonly #waits = new WeakMap<AbortSignal, Waits>()

  /** Calls `reject` when the signal aborts. The returned function ends the wait; call it once. */
  add(signal: AbortSignal, reject: () => void): () => void {
    const waits = this.#waits.get(signal) ?? this.#listen(signal)
    waits.rejects.add(reject)
    return () => {
      waits.rejects.delete(reject)
      if (waits.rejects.size > 0 || this.#waits.get(signal) !== waits) return
      this.#waits.delete(signal)
      signal.removeEventListener('abort', waits.onAbort)
    }
  }

  #listen(signal: AbortSignal): Waits {
    const rejects = new Set<() => void>()
    const onAbort = (): void => {
      this.#waits.delete(signal)
      for (const reject of rejects) reject()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const waits = { rejects, onAbort }
    this.#waits.set(signal, waits)
    return waits
  }
}
