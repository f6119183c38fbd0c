/** SPDY header blocks: read through one zlib stream per connection, and written as stored (uncompressed) blocks of another. */
import { constants, createInflate } from 'node:zlib'
import { lengthPrefixed, spdyDictionary, spdyDictionaryId } from './spdy-dictionary.ts'

/** By lower-case name; repeated values are one text with NUL between them. */
export type SpdyHeaders = ReadonlyMap<string, string>

/** Far more than any header block of a client of ours, inflated or not. */
export const mostHeaderBytes = 64 * 1024

function parseBlock(block: Buffer): SpdyHeaders {
  const headers = new Map<string, string>()
  let at = 0
  const number = (): number => {
    const value = block.readUInt32BE(at)
    at += 4
    return value
  }
  const text = (): string => {
    const length = number()
    if (at + length > block.length) throw new Error('a SPDY header is cut short')
    const value = block.toString('utf8', at, at + length)
    at += length
    return value
  }
  const count = number()
  for (let index = 0; index < count; index += 1) headers.set(text().toLowerCase(), text())
  return headers
}

/**
 * Reads the header blocks of one connection, in their order. Rejects when a block cannot be read or is too long: it inflates no
 * further than that, and reads no more.
 */
export function createHeaderReader(): {
  read(block: Buffer): Promise<SpdyHeaders>
  close(): void
} {
  const inflate = createInflate({ dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH })
  let chunks: Buffer[] = []
  let size = 0
  inflate.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size > mostHeaderBytes) inflate.destroy(new Error('a SPDY header block is too long'))
  })
  inflate.on('error', () => {
    // The read under way rejects, and so does every later one.
  })
  return {
    read: async (block) => {
      chunks = []
      size = 0
      await new Promise<void>((resolve, reject) => {
        inflate.once('error', reject)
        inflate.write(block, (error) => {
          inflate.off('error', reject)
          // Destroyed while it wrote, it calls back without an error.
          const failure = error ?? inflate.errored
          if (failure) reject(failure)
          else resolve()
        })
      })
      return parseBlock(Buffer.concat(chunks))
    },
    close: () => {
      chunks = []
      inflate.destroy()
    },
  }
}

/** A stored block of nothing: it makes the reader hand out what it has (zlib: Z_SYNC_FLUSH). */
const emptyBlock = Buffer.from([0, 0, 0, 0xff, 0xff])

/** Writes the header blocks of one connection. */
export function createHeaderWriter(): (headers: SpdyHeaders) => Buffer {
  let isFirst = true
  return (headers) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(headers.size)
    const pairs = [...headers].flatMap((pair) => pair.map(lengthPrefixed))
    const body = Buffer.concat([count, ...pairs])
    // A stored block of deflate: kind 0, its length and the complement of that.
    const stored = Buffer.alloc(5)
    stored.writeUInt16LE(body.length, 1)
    stored.writeUInt16LE(body.length ^ 0xff_ff, 3)
    const start = Buffer.alloc(isFirst ? 6 : 0)
    if (isFirst) {
      // zlib: deflate with a 32 KiB window, and a dictionary.
      start.writeUInt16BE(0x78_20)
      start.writeUInt32BE(spdyDictionaryId, 2)
    }
    isFirst = false
    return Buffer.concat([start, stored, body, emptyBlock])
  }
}
