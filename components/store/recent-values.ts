/** RecentValues: keeps the bytes of the newest commits in memory, up to a size, because they are asked for the most. */
import type { Version } from './revision-index.ts'

export class RecentValues {
  readonly #maxBytes: number
  /** From `#first` on: versions whose value is in memory, oldest first. */
  #versions: Version[] = []
  #first = 0
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Adds a version that holds its value, and takes the values from the oldest ones that exceed the size. */
  add(version: Version): void {
    if (version.value === undefined) return
    this.#versions.push(version)
    this.#bytes += version.value.length
    while (this.#bytes > this.#maxBytes) this.#dropOldest()
  }

  /** Takes the values from all. */
  clear(): void {
    while (this.#first < this.#versions.length) this.#dropOldest()
    this.#versions = []
    this.#first = 0
  }

  #dropOldest(): void {
    const oldest = this.#versions[this.#first++]
    if (oldest === undefined) return
    this.#bytes -= oldest.value?.length ?? 0
    oldest.value = undefined
    if (this.#first < 4096) return
    this.#versions = this.#versions.slice(this.#first)
    this.#first = 0
  }
}
