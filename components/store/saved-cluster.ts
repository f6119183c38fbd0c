/**
 * Saved cluster: what a store held at one revision, as lines of JSON: a header, a line for each key, and an end with the number
 * of keys and the SHA-256 of all lines before it. The same lines travel from an API server and lie, compressed, in files.
 */
import { createHash, type Hash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { KeyValue } from './store.ts'

const format = 'skiff-cluster'
/** A change that older releases would misread raises it. */
const formatVersion = 2
const newline = 0x0a
/** Lines are handed on in pieces of about this size. */
const pieceBytes = 64 * 1024

type Flags = Readonly<Record<string, string>>

/** What a store is written down for: to be looked at or begun with elsewhere, or (`backup`) to be put back in its place. */
export const savedForms = ['whole', 'without-secrets', 'backup'] as const
export type SavedForm = (typeof savedForms)[number]

export interface SavedNode {
  readonly name: string
  /** How many simulated nodes its process carries; absent: the one node `name`. */
  readonly simulated?: number | undefined
  /** Flags of its agent. */
  readonly flags?: Flags | undefined
}

export interface SavedHeader {
  /** What wrote it, for messages: `skiff 0.1.0`. */
  readonly writtenBy: string
  readonly dialect: string
  /** The newest revision of the store. */
  readonly revision: number
  /** What time it was in the cluster, RFC 3339. */
  readonly savedAt: string
  /** Absent: not a backup. */
  readonly form?: SavedForm | undefined
  readonly serviceRange?: string | undefined
  /** The nodes that ran with the cluster; Nodes that joined from elsewhere are objects alone. */
  readonly nodes?: readonly SavedNode[] | undefined
  /** Flags by component that were set by hand. They are not used again by themselves: they may name files. */
  readonly flags?: Readonly<Record<string, Flags>> | undefined
}

export interface SavedKey extends KeyValue {
  /** In a backup: what it is an object of, `core/secrets`, whatever the form of the key. */
  readonly resource?: string | undefined
}

export interface SavedCluster {
  readonly header: SavedHeader
  /** Throws a SavedClusterError at the latest after the last key: nothing may count before it has ended. */
  readonly kvs: AsyncIterable<SavedKey>
}

export interface SavedLimits {
  /** Of one line: a key with its value. */
  readonly lineBytes: number
  /** Of all lines. */
  readonly totalBytes: number
}

/** An object has 3 MB at most, and a character may take six when it is escaped. A store has 2 GiB unless told otherwise. */
export const savedLimits: SavedLimits = { lineBytes: 32 * 1024 ** 2, totalBytes: 2 * 1024 ** 3 }

/** The text is not a whole saved cluster. The message goes on after the name of its file: `is cut short`. */
export class SavedClusterError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SavedClusterError'
  }
}

/** A key as a line says it. */
export function keyLine({ key, createRevision, modRevision, value, resource }: SavedKey): object {
  return { key, resource, create: createRevision, mod: modRevision, ...valueOf(value) }
}

function valueOf(value: Buffer): { value: string } | { base64: string } {
  return isUtf8(value) ? { value: value.toString() } : { base64: value.toString('base64') }
}

/** Gathers lines into pieces, and counts what it has seen. */
class Lines {
  readonly #hash = createHash('sha256')
  #held: Buffer[] = []
  #bytes = 0
  keys = 0

  /** True when enough is held to be handed on. */
  add(value: unknown): boolean {
    const line = Buffer.from(`${JSON.stringify(value)}\n`)
    this.#hash.update(line)
    this.#held.push(line)
    this.#bytes += line.length
    return this.#bytes >= pieceBytes
  }

  end(): void {
    this.add({ keys: this.keys, sha256: this.#hash.copy().digest('hex') })
  }

  take(): Buffer {
    const piece = Buffer.concat(this.#held)
    this.#held = []
    this.#bytes = 0
    return piece
  }
}

/** The lines of a saved cluster. The keys may come in any order. */
export async function* savedLines(
  header: SavedHeader,
  kvs: Iterable<SavedKey> | AsyncIterable<SavedKey>,
): AsyncGenerator<Buffer> {
  const lines = new Lines()
  lines.add({ format, version: formatVersion, ...header })
  for await (const kv of kvs) {
    lines.keys += 1
    if (lines.add(keyLine(kv))) yield lines.take()
  }
  lines.end()
  yield lines.take()
}

/** The last line of a text that could not be written to its end: its reader tells why. */
export function savingFault(why: string): Buffer {
  return Buffer.from(`${JSON.stringify({ fault: why })}\n`)
}

/** Lines without their ends. A text that does not end with one is cut short. */
async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytes, totalBytes }: SavedLimits,
): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let heldBytes = 0
  let total = 0
  const tooLarge = (what: string): SavedClusterError =>
    new SavedClusterError(`is larger than a saved cluster can be: ${what}`)
  const checkLine = (bytes: number): void => {
    if (bytes > lineBytes) throw tooLarge(`a line of more than ${lineBytes} bytes`)
  }
  for await (const chunk of chunks) {
    total += chunk.length
    if (total > totalBytes) throw tooLarge(`more than ${totalBytes} bytes`)
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      checkLine(heldBytes + end)
      yield Buffer.concat([...held, rest.subarray(0, end)])
      held = []
      heldBytes = 0
      rest = rest.subarray(end + 1)
    }
    held.push(rest)
    heldBytes += rest.length
    checkLine(heldBytes)
  }
  if (heldBytes > 0) throw new SavedClusterError('is cut short')
}

function objectOf(line: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString())
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function checkFault(found: Readonly<Record<string, unknown>> | undefined): void {
  if (typeof found?.['fault'] === 'string') throw new SavedClusterError(found['fault'])
}

/** Whether it is an object whose fields are all as they should be. */
function isRecordOf(value: unknown, isField: (field: unknown) => boolean): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isField)
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isFlags = (value: unknown): boolean => isRecordOf(value, isText)

function isNode(value: unknown): boolean {
  const { name, simulated, flags } = (value ?? {}) as Record<string, unknown>
  return (
    isText(name) &&
    (simulated === undefined || Number.isInteger(simulated)) &&
    (flags === undefined || isFlags(flags))
  )
}

function headerOf(line: Buffer): SavedHeader {
  const found = objectOf(line)
  checkFault(found)
  if (found?.['format'] !== format) throw new SavedClusterError('is not a saved cluster')
  const { version, format: _, ...header } = found
  if (typeof version === 'number' && version > formatVersion) {
    throw new SavedClusterError(
      `was saved by a newer release (${String(header['writtenBy'])}): its format is ${version}, this release knows ${formatVersion}`,
    )
  }
  const { writtenBy, dialect, revision, savedAt, form, serviceRange, nodes, flags } = header
  const isWhole =
    typeof version === 'number' &&
    version >= 1 &&
    [writtenBy, dialect, savedAt].every(isText) &&
    Number.isSafeInteger(revision) &&
    (form === undefined || isText(form)) &&
    (serviceRange === undefined || isText(serviceRange)) &&
    (nodes === undefined || (Array.isArray(nodes) && nodes.every(isNode))) &&
    (flags === undefined || isRecordOf(flags, isFlags))
  if (!isWhole) throw new SavedClusterError('is damaged: its first line is no header')
  return header as unknown as SavedHeader
}

/** The key of a parsed line; undefined for a line of another kind. */
export function keyValueOf(found: Readonly<Record<string, unknown>>): SavedKey | undefined {
  const { key, create, mod, value, base64, resource } = found
  if (typeof key !== 'string' || !Number.isSafeInteger(create) || !Number.isSafeInteger(mod))
    return undefined
  const bytes =
    typeof value === 'string'
      ? Buffer.from(value)
      : typeof base64 === 'string'
        ? Buffer.from(base64, 'base64')
        : undefined
  if (bytes === undefined) return undefined
  return {
    key,
    value: bytes,
    createRevision: create as number,
    modRevision: mod as number,
    ...(typeof resource === 'string' && { resource }),
  }
}

function checkEnd(
  end: Readonly<Record<string, unknown>>,
  { keys, hash }: { readonly keys: number; readonly hash: Hash },
): void {
  if (end['keys'] === keys && end['sha256'] === hash.digest('hex')) return
  throw new SavedClusterError('is damaged: its checksum does not match')
}

async function* keysOf(
  lines: AsyncIterator<Buffer>,
  { hash, revision }: { readonly hash: Hash; readonly revision: number },
): AsyncGenerator<SavedKey> {
  const hashLine = (line: Buffer): void => void hash.update(line).update('\n')
  for (let keys = 0; ; keys += 1) {
    const { value: line, done } = await lines.next()
    if (done === true) throw new SavedClusterError('is cut short')
    const found = objectOf(line)
    checkFault(found)
    if (found?.['sha256'] !== undefined) {
      checkEnd(found, { keys, hash })
      if ((await lines.next()).done !== true)
        throw new SavedClusterError('is damaged: something follows its end')
      return
    }
    const kv = found && keyValueOf(found)
    if (kv === undefined || kv.modRevision > revision)
      throw new SavedClusterError(`is damaged: line ${keys + 2} is no key`)
    hashLine(line)
    yield kv
  }
}

/** Reads the header; the keys follow as they are asked for. Throws SavedClusterErrors, and passes on errors of `chunks`. */
export async function readSaved(
  chunks: AsyncIterable<Uint8Array>,
  limits: SavedLimits = savedLimits,
): Promise<SavedCluster> {
  const lines = linesOf(chunks, limits)
  const { value: first, done } = await lines.next()
  if (done === true) throw new SavedClusterError('is not a saved cluster')
  const header = headerOf(first)
  const hash = createHash('sha256').update(first).update('\n')
  return { header, kvs: keysOf(lines, { hash, revision: header.revision }) }
}
