/**
 * Archive: members of a POSIX tar (ustar), which any tar lists and extracts. Each has the one header that this file would write
 * for its name and size, so that a byte that differs in it is damage.
 */
import { BackupError } from './backup-error.ts'
import { ByteReader } from './byte-reader.ts'

export interface Member {
  /** At most 100 bytes. */
  readonly name: string
  readonly content: Buffer
}

const blockBytes = 512
const nameBytes = 100
/** A line of 32 MiB, should it not compress. */
const mostMemberBytes = 40 * 1024 ** 2

/** What follows the last member. */
const end = Buffer.alloc(2 * blockBytes)

/** Mode 0600, no owner, no time: the same members are the same bytes. */
function headerOf(name: string, size: number): Buffer {
  const header = Buffer.alloc(blockBytes)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes
}

/** The bytes of one member. */
export function memberBytes({ name, content }: Member): Buffer {
  if (Buffer.byteLength(name) > nameBytes) throw new Error(`the name ${name} is too long`)
  const { length } = content
  return Buffer.concat([headerOf(name, length), content, Buffer.alloc(paddingOf(length))])
}

export const archiveEnd: Buffer = end

/** Name and size of a header; undefined for a header that no backup has. */
function parseHeader(block: Buffer): { name: string; size: number } | undefined {
  const field = block.subarray(0, nameBytes)
  const nul = field.indexOf(0)
  const name = field.toString('utf8', 0, nul < 0 ? nameBytes : nul)
  const size = Number.parseInt(block.toString('latin1', 124, 135), 8)
  const isOurs = name !== '' && size >= 0 && headerOf(name, size).equals(block)
  return isOurs ? { name, size } : undefined
}

/** The members as they come, one in memory at a time. Throws a BackupError that names the member for what is no whole archive. */
export async function* readArchive(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Member> {
  const reader = new ByteReader(chunks)
  let last: string | undefined
  try {
    for (;;) {
      const block = await reader.take(blockBytes)
      const header = parseHeader(block)
      if (last === undefined && header === undefined)
        throw new BackupError('is not a backup of skiff, or is damaged at its beginning')
      if (block.length < blockBytes) throw new BackupError(`is cut short after ${last}`)
      if (header === undefined) {
        const rest = await reader.take(end.length - blockBytes + 1)
        if (Buffer.concat([block, rest]).equals(end)) return
        throw new BackupError(`is damaged after ${last}`)
      }
      const { name, size } = header
      last = name
      if (size > mostMemberBytes) throw new BackupError(`is damaged in ${name}: ${size} bytes`)
      const content = await reader.take(size)
      const padding = await reader.take(paddingOf(size))
      if (content.length + padding.length < size + paddingOf(size))
        throw new BackupError(`is cut short in ${name}`)
      if (padding.some((byte) => byte !== 0)) throw new BackupError(`is damaged after ${name}`)
      yield { name, content }
    }
  } catch (error) {
    if (error instanceof BackupError) throw error.after(last ?? 'its beginning')
    throw error
  }
}
