/** WholeFile: a file that is there whole or not at all, readable by its owner alone. */
import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile } from '../component-base/replace-file.ts'
import { syncFolder } from './sync-folder.ts'

/**
 * Writes what comes to a file beside it (mode 0600), and gives that the name once all of it is on the disk; a file that is there
 * is replaced. Holds one chunk at a time. Rejects with what `chunks` throws and with the system's error, and leaves nothing then.
 */
export async function writeWholeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly bytes: number }> {
  const draft = `${path}.${randomUUID()}.tmp`
  const file = await open(draft, 'wx', 0o600)
  try {
    for await (const chunk of chunks) await file.writeFile(chunk)
    await file.sync()
    const { size } = await file.stat()
    await file.close()
    await replaceFile(draft, path)
    syncFolder(dirname(path))
    return { bytes: size }
  } catch (error) {
    await file.close().catch(() => {}) // closed already
    await rm(draft, { force: true })
    throw error
  }
}
