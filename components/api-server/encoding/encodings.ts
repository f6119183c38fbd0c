/** Encodings: what entries were encoded to in forms that are not stored, kept while they are among the newest, up to a number of bytes. */
import type { Shown } from './form.ts'
import { keptBytes } from '../watch-cache/object-memory.ts'

/** Enough for some ten thousand objects. Evicted objects are encoded again on the next request. */
const mostBytes = 32 * 1024 * 1024

/** Not kept: one of these would push out too many. */
const largestKept = 1024 * 1024

export class Encodings {
  /** By entry, oldest first; then by name of the form. */
  readonly #kept = new Map<Shown, Map<string, Buffer>>()
  #bytes = 0

  /** Undefined when it was never made or is no longer kept. Shared: not to be written to. */
  find(shown: Shown, form: string): Buffer | undefined {
    return this.#kept.get(shown)?.get(form)
  }

  keep(shown: Shown, form: string, bytes: Buffer): void {
    if (bytes.length > largestKept) return
    let forms = this.#kept.get(shown)
    if (forms === undefined) this.#kept.set(shown, (forms = new Map()))
    forms.set(form, keptBytes(bytes))
    this.#bytes += bytes.length
    for (const [oldest, of] of this.#kept) {
      if (this.#bytes <= mostBytes) break
      this.#kept.delete(oldest)
      for (const { length } of of.values()) this.#bytes -= length
    }
  }
}
