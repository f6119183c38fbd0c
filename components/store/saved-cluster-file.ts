/** The file of a saved cluster: its lines, compressed with gzip, readable by its owner alone. */
import { open, type FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip, type Gunzip } from 'node:zlib'
import {
  readSaved,
  SavedClusterError,
  savedLimits,
  savedLines,
  type SavedCluster,
  type SavedHeader,
  type SavedLimits,
} from './saved-cluster.ts'
import type { KeyValue } from './store.ts'
import { writeWholeFile } from './whole-file.ts'

/** gzip makes 1,032 bytes of one at most; objects, which have names and uids, make less than a tenth of that. */
const mostRatio = 500
/** Below this, the ratio says nothing. */
const leastSuspicious = 64 * 1024 ** 2

/**
 * Writes the file with mode 0600, whole or not at all; one that is there is replaced. Rejects with what `kvs` throws, and with
 * the system's error.
 */
export async function writeSavedFile(
  path: string,
  header: SavedHeader,
  kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>,
): Promise<{ readonly bytes: number }> {
  let written = { bytes: 0 }
  // No name and no time in it: the same cluster is the same file.
  await pipeline(
    Readable.from(savedLines(header, kvs)),
    createGzip(),
    async (compressed: AsyncIterable<Buffer>) => {
      written = await writeWholeFile(path, compressed)
    },
  )
  return written
}

/** What zlib says of a file, as a SavedClusterError; the system's errors stay. */
function asSavedError(error: unknown): unknown {
  const code = String((error as { code?: unknown } | null)?.code)
  if (code === 'Z_BUF_ERROR') return new SavedClusterError('is cut short', error)
  if (code.startsWith('Z_'))
    return new SavedClusterError(`is damaged: ${(error as Error).message}`, error)
  return error
}

/** The text of the file. Throws when it grows as no cluster does. */
async function* expanded(file: FileHandle, gunzip: Gunzip): AsyncGenerator<Buffer> {
  const { size } = await file.stat()
  const source = file.createReadStream({ autoClose: false, start: 0 })
  source.on('error', (error) => gunzip.destroy(error))
  source.pipe(gunzip)
  let bytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > leastSuspicious && bytes > mostRatio * gunzip.bytesWritten) {
        throw new SavedClusterError(
          `is larger than a saved cluster can be: ${gunzip.bytesWritten} bytes make more than ${bytes}`,
        )
      }
      yield chunk
    }
    if (gunzip.bytesWritten !== size)
      throw new SavedClusterError('is damaged: something follows its end')
  } catch (error) {
    throw asSavedError(error)
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

async function isGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
  return bytesRead === 2 && buffer.readUInt16BE() === 0x1f8b
}

/** An open file. Dispose it when its keys have been read. */
export type SavedFile = SavedCluster & AsyncDisposable

/** Opens the file and reads its header. Rejects with a SavedClusterError, or with the system's error. */
export async function openSavedFile(
  path: string,
  limits: SavedLimits = savedLimits,
): Promise<SavedFile> {
  const file = await open(path, 'r')
  const gunzip = createGunzip()
  const dispose = async (): Promise<void> => {
    gunzip.destroy()
    await file.close()
  }
  try {
    if (!(await file.stat()).isFile() || !(await isGzip(file)))
      throw new SavedClusterError('is not a saved cluster')
    const saved = await readSaved(expanded(file, gunzip), limits)
    return { ...saved, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}
