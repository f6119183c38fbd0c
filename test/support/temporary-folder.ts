/** Folders for what a test writes: below the folder of the run, and gone with the test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()

/** A new folder, whose name begins with `stem`. It goes, with all in it, after the last test of the file. */
export function temporaryFolder(stem: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${stem}-`))
  folders.add(folder)
  return folder
}

/** Removes the folders made so far; the set-up of every test file calls it at the file's end. */
export function removeTemporaryFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.clear()
}
