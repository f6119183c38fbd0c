/**
 * Parts: the members of a backup with their checksums. `SHA256SUMS` lists every part, in the form of sha256sum, and
 * `SHA256SUMS.sha256` holds the checksum of the list, and with it of the whole.
 */
import { createHash } from 'node:crypto'
import { gzipSync, gunzipSync } from 'node:zlib'
import { archiveEnd, memberBytes, readArchive, type Member } from './archive.ts'
import { BackupError } from './backup-error.ts'

const sumsName = 'SHA256SUMS'
const sumOfSumsName = 'SHA256SUMS.sha256'
/** A part of lines is closed at this size; a longer line has a part of its own. */
const partBytes = 1024 ** 2
/** No line of ours is longer: see savedLimits. */
const mostLineBytes = 33 * 1024 ** 2

function sumLine({ name, content }: Member): string {
  return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
}

/** The bytes of a whole backup, part by part. */
export async function* backupBytes(parts: AsyncIterable<Member>): AsyncGenerator<Buffer> {
  const sums: string[] = []
  for await (const part of parts) {
    sums.push(sumLine(part))
    yield memberBytes(part)
  }
  const list = { name: sumsName, content: Buffer.from(sums.join('')) }
  yield memberBytes(list)
  yield memberBytes({ name: sumOfSumsName, content: Buffer.from(sumLine(list)) })
  yield archiveEnd
}

/** The part whose checksum is another one than it was, if any. */
function damaged(found: readonly string[], listed: readonly string[]): string | undefined {
  const nameOf = (line = ''): string => line.slice(66).trimEnd()
  const at = found.findIndex((line, i) => line !== listed[i])
  if (at >= 0) return nameOf(found[at])
  return found.length < listed.length ? nameOf(listed[found.length]) : undefined
}

/**
 * The parts as they come. Throws a BackupError that names the part which is damaged, at the latest after the last one: nothing
 * may count before it has ended.
 */
export async function* readParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Member> {
  const found: string[] = []
  let list: Member | undefined
  let isWhole = false
  for await (const member of readArchive(chunks)) {
    if (isWhole) throw new BackupError(`is damaged after ${sumOfSumsName}`)
    if (list !== undefined) {
      const isSum = member.name === sumOfSumsName && member.content.toString() === sumLine(list)
      if (!isSum) throw new BackupError(`is damaged in ${sumsName}: its checksum does not match`)
      const listed = list.content.toString().split(/(?<=\n)/)
      const part = damaged(found, listed)
      if (part !== undefined)
        throw new BackupError(`is damaged in ${part}: its checksum does not match`)
      isWhole = true
    } else if (member.name === sumsName) {
      list = member
    } else {
      found.push(sumLine(member))
      yield member
    }
  }
  if (!isWhole) throw new BackupError('is damaged: it has no checksums')
}

/** Lines of one kind: `objects/core.secrets`. */
export interface NamedLine {
  readonly part: string
  readonly line: object
}

/** Gathers lines of JSON into compressed parts, `NAME-1.ndjson.gz` and so on; lines of another kind begin another part. */
export async function* lineParts(lines: AsyncIterable<NamedLine>): AsyncGenerator<Member> {
  const counts = new Map<string, number>()
  let name = ''
  let held: Buffer[] = []
  let bytes = 0
  const take = (): Member => {
    const content = gzipSync(Buffer.concat(held))
    held = []
    bytes = 0
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return { name: `${name}-${count}.ndjson.gz`, content }
  }
  for await (const { part, line } of lines) {
    if (bytes > 0 && (part !== name || bytes >= partBytes)) yield take()
    name = part
    const text = Buffer.from(`${JSON.stringify(line)}\n`)
    held.push(text)
    bytes += text.length
  }
  if (bytes > 0) yield take()
}

/** The lines of such a part, parsed. Throws a BackupError. */
export function linesOf({ name, content }: Member): Readonly<Record<string, unknown>>[] {
  try {
    const text = gunzipSync(content, { maxOutputLength: partBytes + mostLineBytes }).toString()
    const lines = text.split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  } catch (error) {
    throw new BackupError(`is damaged in ${name}: ${(error as Error).message}`, { cause: error })
  }
}
