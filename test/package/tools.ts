/** Tools: what `npm run fetch-tools` has brought for the tests of the package. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { root } from './packed.ts'

const folder = join(root, 'test', 'package', '.tools', 'node_modules')

/** A file of one of the tools. */
export function toolFile(...parts: readonly string[]): string {
  return join(folder, ...parts)
}

/** `test`; where the file of a tool is missing `test.skip`, and standard error says what is not tested. */
export function testWith(file: string, what: string): typeof test | typeof test.skip {
  if (existsSync(file)) return test
  const message = `NOT TESTED: ${what}: npm run fetch-tools has not brought it`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

/** The binary of a release line of Node.js that is not the pinned one. */
export function nodeBinary(major: number): string {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  return toolFile(`node${major}`, 'bin', name)
}
