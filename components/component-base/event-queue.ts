/** EventQueue: a bounded queue between a producer that must not wait and one consumer. Overflow ends it: never a silent gap. */

export class QueueOverflowError extends Error {
  constructor(capacity: number) {
    super(`the consumer fell more than ${capacity} events behind`)
    this.name = 'QueueOverflowError'
  }
}

export interface EventQueue<T> {
  /** Adds an item; false when the queue has ended or this item overflowed it. Never blocks, never throws. */
  push(item: T): boolean
  /** Ends the queue: it still delivers the queued items, then iteration returns, or throws `error` if given. */
  end(error?: unknown): void
  /** All items that wait now, oldest first, once there is at least one; empty when the queue ended without an error. */
  take(): Promise<readonly T[]>
  readonly size: number
  readonly ended: boolean
  /** For one consumer. Leaving the loop ends the queue. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined>
}

/** A queue of at most `capacity` waiting items. Past that they are dropped and the consumer gets a QueueOverflowError. */
export function createEventQueue<T>(capacity: number): EventQueue<T> {
  let items: T[] = []
  let ended = false
  let failure: { readonly error: unknown } | undefined
  let wake: (() => void) | undefined

  const notify = (): void => {
    wake?.()
    wake = undefined
  }
  const end = (error?: unknown): void => {
    if (ended) return
    ended = true
    if (error !== undefined) failure = { error }
    notify()
  }
  const take = async (): Promise<readonly T[]> => {
    while (items.length === 0) {
      if (failure !== undefined) throw failure.error
      if (ended) return []
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const taken = items
    items = []
    return taken
  }
  const iterate = async function* (): AsyncGenerator<T, undefined> {
    try {
      for (let batch = await take(); batch.length > 0; batch = await take()) yield* batch
    } finally {
      end()
      items = []
    }
    return undefined
  }

  return {
    push: (item) => {
      if (ended) return false
      if (items.length >= capacity) {
        items = []
        end(new QueueOverflowError(capacity))
        return false
      }
      items.push(item)
      if (wake !== undefined) notify()
      return true
    },
    end,
    take,
    get size() {
      return items.length
    },
    get ended() {
      return ended
    },
    [Symbol.asyncIterator]: iterate,
  }
}
