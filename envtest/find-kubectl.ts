/** FindKubectl: the user's own kubectl. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Marks a folder of ours, whose kubectl would look for another one in its turn. */
export const markerFile = 'skiff-envtest.json'

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The first program of that name in the folders of `path`, which is spelled as PATH is. Undefined when there is none. */
export function findKubectl(
  path: string,
  names: readonly string[] = process.platform === 'win32' ? ['kubectl.exe'] : ['kubectl'],
): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '' && !existsSync(join(folder, markerFile)))
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isProgram)
}
