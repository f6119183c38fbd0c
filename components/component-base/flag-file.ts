/** flag-file: a file that a flag names. */
import { StartError } from './component.ts'
import { diskFiles } from './files.ts'
import type { Files } from './files.ts'

/** Reads a file that a flag names; throws a StartError that says which flag. */
export function readFlagFile(name: string, path: string, files: Files = diskFiles): string {
  try {
    return files.readNow(path)
  } catch (error) {
    throw new StartError(`--${name}: cannot read ${path}: ${(error as Error).message}`, error)
  }
}
