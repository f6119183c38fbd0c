/** SyncFolder: makes the names in a folder durable, where the system can. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Throws the system's error. Windows cannot open a folder; there the file system's journal holds the names. */
export function syncFolder(path: string, platform: NodeJS.Platform = process.platform): void {
  if (platform === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
