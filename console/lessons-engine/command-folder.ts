/** Command folder: where the commands of a lesson run. Its `skiff` is this one, installed or not. */
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { shellWord } from '../../cluster/shell-word.ts'
import { packageFolder } from '../../cluster/plan/programs.ts'
import type { Tool } from './lesson-tools.ts'

export interface CommandFolder extends Disposable {
  readonly path: string
  /** For the commands' environment. */
  readonly searchPath: string
  /** Whether a command can name it. */
  has(tool: Tool): boolean
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A new folder, removed with what commands left in it. `searchPath` is the user's own PATH. */
export function createCommandFolder(searchPath: string): CommandFolder {
  const path = mkdtempSync(join(tmpdir(), 'skiff-lesson-'))
  const script = join(packageFolder('bin'), 'skiff.js')
  writeFileSync(
    join(path, 'skiff'),
    `#!/bin/sh\nexec ${shellWord(process.execPath)} ${shellWord(script)} "$@"\n`,
    {
      mode: 0o700,
    },
  )
  writeFileSync(join(path, 'skiff.cmd'), `@"${process.execPath}" "${script}" %*\r\n`)
  const folders = searchPath.split(delimiter).filter((one) => one !== '')
  const endings = process.platform === 'win32' ? ['.exe', '.cmd'] : ['']
  return {
    path,
    searchPath: [path, ...folders].join(delimiter),
    has: (tool) =>
      tool === 'skiff' ||
      folders.some((folder) => endings.some((end) => isExecutable(join(folder, `${tool}${end}`)))),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
