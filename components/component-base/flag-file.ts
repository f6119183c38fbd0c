/** flag-file: a file that a flag names. */
import { readFileSync } from 'node:fs'
import { StartError } from './component.ts'

/** Reads a file that a flag names; throws a StartError that says which flag. */
export function readFlagFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`--${name}: cannot read ${path}: ${(error as Error).message}`, error)
  }
}
