/** leave-nothing: temporary folders and processes of a bench, which go with it however it ends. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
const children = new Set<ChildProcess>()

/** An empty folder. `name` is part of its name. */
export function benchFolder(name?: string): string {
  const folder = mkdtempSync(join(tmpdir(), `skiff-bench-${name === undefined ? '' : `${name}-`}`))
  folders.add(folder)
  return folder
}

export function removeBenchFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

/** Ends the process with the bench, unless it has ended before. */
export function endWithBench(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

process.on('exit', () => {
  for (const child of children) child.kill('SIGTERM')
  for (const folder of folders) removeBenchFolder(folder)
})
// Without these, an interrupted process ends at once and leaves all that. A cluster without its folder ends by itself.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
