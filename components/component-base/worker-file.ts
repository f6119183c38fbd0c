/** Worker file: where the entry of a worker thread lies, in the sources and in a build. */
import { existsSync } from 'node:fs'

/**
 * The file of the worker `name` (`sqlite-writer`) for code at `from` (its `import.meta.url`): beside that code when it runs from
 * sources; when it is built, a bundle of its own beside that code's bundle or the folder of its chunks.
 */
export function workerFile(from: string, name: string): URL {
  if (from.endsWith('.ts')) return new URL(`./${name}.ts`, from)
  const beside = new URL(`./${name}.js`, from)
  return existsSync(beside) ? beside : new URL(`../${name}.js`, from)
}
