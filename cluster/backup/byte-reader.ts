/** ByteReader: takes bytes from a stream in pieces of a wanted size. */

export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #held: Uint8Array = new Uint8Array(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next `count` bytes; fewer at the end. Rejects with what the stream throws. */
  async take(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = []
    let missing = count
    while (missing > 0) {
      if (this.#held.length === 0) {
        const next = await this.#chunks.next()
        if (next.done === true) break
        this.#held = next.value
      }
      const part = this.#held.subarray(0, missing)
      this.#held = this.#held.subarray(part.length)
      parts.push(part)
      missing -= part.length
    }
    return Buffer.concat(parts)
  }
}
