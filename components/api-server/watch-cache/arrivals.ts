/** Arrivals: what comes from the store waits, in order, until the keys are there that it is encrypted with. */
import type { KeyValue, StoreEvent } from '../../store/store.ts'
import type { Transformer } from '../encryption/transformer.ts'

/** What the commit stored. */
function* valuesOf(events: readonly StoreEvent[]): Generator<KeyValue> {
  for (const event of events) if (event.type === 'put') yield event.kv
}

/** What the commits stored, and what was there before. */
export function allValuesOf(commits: readonly StoreEvent[]): KeyValue[] {
  return commits.flatMap((event) => [
    ...valuesOf([event]),
    ...(event.previous === undefined ? [] : [event.previous]),
  ])
}

interface Options {
  /** Undefined: nothing is encrypted. */
  readonly transformerOf: ((storeKeyText: string) => Transformer | undefined) | undefined
  readonly apply: (events: readonly StoreEvent[]) => void
}

export class Arrivals {
  readonly #transformerOf: Options['transformerOf']
  readonly #apply: Options['apply']
  /** Settles when the last events that came are applied; undefined when all are. */
  #last: Promise<void> | undefined

  constructor(options: Options) {
    this.#transformerOf = options.transformerOf
    this.#apply = options.apply
  }

  /** What must be waited for before these are read, if anything. */
  prepare(kvs: Iterable<KeyValue>): Promise<void> | undefined {
    const transformerOf = this.#transformerOf
    if (transformerOf === undefined) return undefined
    const waits: Promise<void>[] = []
    for (const { key, value } of kvs) {
      const wait = transformerOf(key)?.prepare?.(value)
      if (wait !== undefined) waits.push(wait)
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {})
  }

  /** Resolves when all that came is applied. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** Applies events at once, unless they or some before them wait for a key. */
  receive(events: readonly StoreEvent[]): void {
    const prepare = (): Promise<void> | undefined => this.prepare(valuesOf(events))
    const wait = this.#last === undefined ? prepare() : this.#last.then(prepare)
    if (wait === undefined) {
      this.#apply(events)
      return
    }
    const applied = wait.then(() => {
      this.#apply(events)
      if (this.#last === applied) this.#last = undefined
    })
    this.#last = applied
  }
}
