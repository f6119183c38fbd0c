/** Reading a backup: first the whole file, whether every part is as it was written, and only then what it holds. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { ClusterError } from '../cluster-error.ts'
import { explainSystemError } from '../system-error.ts'
import type { Member } from './archive.ts'
import { BackupError } from './backup-error.ts'
import {
  manifestName,
  readManifest,
  readSummary,
  summaryName,
  type Manifest,
  type Summary,
} from './manifest.ts'
import { linesOf, readParts } from './parts.ts'
import { sealMark, unsealed, type SealKeys } from './seal.ts'

export interface BackupFile {
  readonly path: string
  readonly keys: SealKeys
}

export interface CheckedBackup {
  readonly manifest: Manifest
  readonly summary: Summary
  readonly parts: number
  readonly bytes: number
  readonly encrypted: boolean
}

async function lookAt(path: string): Promise<{ bytes: number; encrypted: boolean }> {
  const file = await open(path, 'r')
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new BackupError('is not a file')
    const { buffer } = await file.read(Buffer.alloc(sealMark.length), 0, sealMark.length, 0)
    return { bytes: info.size, encrypted: buffer.equals(sealMark) }
  } finally {
    await file.close()
  }
}

function partsOf({ path, keys }: BackupFile, encrypted: boolean): AsyncGenerator<Member> {
  const stored = createReadStream(path) as AsyncIterable<Buffer>
  return readParts(encrypted ? unsealed(stored, keys) : stored)
}

/** As what the operator reads. */
function explainedOf(error: unknown, path: string): unknown {
  if (!(error instanceof BackupError)) return explainSystemError(error, path)
  return new ClusterError('failed', `${path} ${error.message}`, { cause: error })
}

/** Reads the whole file. Rejects with a ClusterError that names the file and the part that is damaged. */
export async function checkBackup(backup: BackupFile): Promise<CheckedBackup> {
  try {
    const file = await lookAt(backup.path)
    let first: Member | undefined
    let last: Member | undefined
    let parts = 0
    for await (const part of partsOf(backup, file.encrypted)) {
      parts += 1
      first ??= part
      last = part
    }
    if (first === undefined || last === undefined) throw new BackupError('is not a backup of skiff')
    return { manifest: readManifest(first), summary: readSummary(last), parts, ...file }
  } catch (error) {
    throw explainedOf(error, backup.path)
  }
}

export interface BackupLine {
  /** `objects/core.secrets-1.ndjson.gz` */
  readonly part: string
  readonly line: Readonly<Record<string, unknown>>
}

/**
 * Every line, in order, of a file that `checkBackup` has found whole. Throws a ClusterError, at the latest after the last line,
 * when the file is another one by now.
 */
export async function* backupLines(backup: BackupFile): AsyncGenerator<BackupLine> {
  try {
    const { encrypted } = await lookAt(backup.path)
    for await (const part of partsOf(backup, encrypted)) {
      if (part.name === manifestName || part.name === summaryName) continue
      for (const line of linesOf(part)) yield { part: part.name, line }
    }
  } catch (error) {
    throw explainedOf(error, backup.path)
  }
}
