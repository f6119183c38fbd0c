/** File modes: Windows has none, and shows the same one for every file. */
import { statSync } from 'node:fs'
import { expect } from 'vitest'

/** Who may read and write the file or folder; not checked on Windows, and standard error says so. */
export function expectMode(path: string, mode: number): void {
  if (process.platform === 'win32') {
    process.stderr.write(`NOT TESTED: the mode of ${path}: Windows has none\n`)
    return
  }
  expect((statSync(path).mode & 0o777).toString(8)).toBe(mode.toString(8))
}
