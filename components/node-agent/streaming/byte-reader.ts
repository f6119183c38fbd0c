/** ByteReader: reads a stream of bytes by length, each byte copied once at most, however small the pieces are in which they come. */

export interface ByteReader {
  /** The next `length` bytes; undefined when the stream ends before. */
  exactly(length: number): Promise<Buffer | undefined>
  /** What has come, `most` bytes at most and at least one; undefined at the end of the stream. */
  some(most: number): Promise<Buffer | undefined>
}

/** Rejects as the stream does. One call at a time. */
export function byteReader(stream: AsyncIterable<Buffer>): ByteReader {
  const source = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const some = async (most: number): Promise<Buffer | undefined> => {
    while (rest.length === 0) {
      const { value, done = false } = await source.next()
      if (done) return undefined
      rest = value as Buffer
    }
    const piece = rest.subarray(0, most)
    rest = rest.subarray(piece.length)
    return piece
  }
  return {
    some,
    exactly: async (length) => {
      const pieces: Buffer[] = []
      for (let missing = length; missing > 0;) {
        const piece = await some(missing)
        if (piece === undefined) return undefined
        pieces.push(piece)
        missing -= piece.length
      }
      const [only, ...others] = pieces
      return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces)
    },
  }
}
