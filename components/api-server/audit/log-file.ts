/** Audit log file: appends lines in groups, sets the file aside before it grows too large, compresses and removes old files. */
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'

export interface AuditLogFileOptions {
  readonly path: string
  /** The largest size of the file; it is set aside before. */
  readonly maxBytes: number
  /** How many files set aside are kept; 0 is all. */
  readonly maxBackups: number
  /** How long they are kept; 0 is forever. */
  readonly maxAgeMs: number
  readonly compress: boolean
  readonly clock: Clock
  readonly log: Log
}

export interface AuditOutput {
  /** Writes lines, each with its newline. Rejects when they are not written. The caller must await each call before the next. */
  write(lines: readonly string[]): Promise<void>
  /** Ends the output when the server stops; lines that cannot be written now are lost. */
  hurry?(): void
  close(): Promise<void>
}

/** The name of a file set aside (upstream's form): `audit-2026-01-31T12-00-00.000.log`. */
function asideName(path: string, nowMs: number): string {
  const extension = extname(path)
  const stem = basename(path, extension)
  const time = new Date(nowMs).toISOString().replace('Z', '').replaceAll(':', '-')
  return join(dirname(path), `${stem}-${time}${extension}`)
}

async function compress(aside: string): Promise<void> {
  await pipeline(
    createReadStream(aside),
    createGzip(),
    createWriteStream(`${aside}.gz`, { mode: 0o600 }),
  )
  await rm(aside)
}

/** Files set aside, newest first, by the time in their names. */
async function filesAside(path: string): Promise<{ path: string; timeMs: number }[]> {
  const extension = extname(path)
  const stem = basename(path, extension)
  const found = (await readdir(dirname(path))).flatMap((name) => {
    if (!name.startsWith(`${stem}-`)) return []
    const [date, time = ''] = name
      .slice(stem.length + 1)
      .replace(/\.gz$/, '')
      .slice(0, extension === '' ? undefined : -extension.length)
      .split('T')
    const timeMs = Date.parse(`${date}T${time.replaceAll('-', ':')}Z`)
    return Number.isNaN(timeMs) ? [] : [{ path: join(dirname(path), name), timeMs }]
  })
  return found.toSorted((a, b) => b.timeMs - a.timeMs)
}

/** Compresses the file just set aside and removes those that are too many or too old. Logs a failure. */
async function tidy(aside: string, options: AuditLogFileOptions): Promise<void> {
  const { path, maxBackups, maxAgeMs, clock, log } = options
  try {
    if (options.compress) await compress(aside)
    const oldestMs = maxAgeMs === 0 ? 0 : clock.now() - maxAgeMs
    for (const [index, old] of (await filesAside(path)).entries()) {
      const isSurplus = maxBackups > 0 && index >= maxBackups
      if (isSurplus || old.timeMs < oldestMs) await rm(old.path, { force: true })
    }
  } catch (error) {
    log.warn('old audit logs cannot be tidied', { error: String(error) })
  }
}

/** Opens the file for appending; rejects when that cannot be done. */
export async function openAuditLogFile(options: AuditLogFileOptions): Promise<AuditOutput> {
  const { path, maxBytes, clock, log } = options
  const reopen = (): Promise<FileHandle> => open(path, 'a', 0o600)
  /** Undefined after it was set aside, until the next line. */
  let file: FileHandle | undefined = await reopen()
  let { size } = await file.stat()
  let tidying: Promise<void> = Promise.resolve()

  const rotate = async (): Promise<void> => {
    const aside = asideName(path, clock.now())
    await file?.close()
    file = undefined
    size = 0
    try {
      await rename(path, aside)
      tidying = tidying.then(() => tidy(aside, options))
    } catch (error) {
      // Another process moved the file, or the folder is read-only: records continue at the path.
      log.warn('the audit log cannot be set aside', { error: String(error) })
    }
  }

  const append = async (text: string, bytes: number): Promise<void> => {
    if (text === '') return
    file ??= await reopen()
    await file.appendFile(text)
    size += bytes
  }
  return {
    write: async (lines) => {
      let text = ''
      let bytes = 0
      for (const line of lines) {
        const length = Buffer.byteLength(line)
        if (size + bytes > 0 && size + bytes + length > maxBytes) {
          await append(text, bytes)
          text = ''
          bytes = 0
          await rotate()
        }
        text += line
        bytes += length
      }
      await append(text, bytes)
    },
    close: async () => {
      await file?.close()
      await tidying
    },
  }
}
