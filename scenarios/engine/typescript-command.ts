/** TypeScript commands: a program that is a TypeScript file runs with this Node and tsx, which knows tsconfig paths and enums. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const typescriptFile = /\.[mc]?tsx?$/

/** The command line that runs `program`: with tsx for a TypeScript file, unchanged for any other program. */
export function commandLineOf(program: string, args: readonly string[]): string[] {
  if (!typescriptFile.test(program)) return [program, ...args]
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  return [process.execPath, '--import', loader, program, ...args]
}
