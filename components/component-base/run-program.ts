/** The start of a built program, as a process or a worker thread: each entry in `dist` calls it. */
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { environment } from './environment.ts'
import { ProgramLoader } from './program-loader.ts'

/** By then a program has started, unless it exports `started`, a promise. */
const startedMs = 1500

/** Node's variables for its own cache apply: NODE_COMPILE_CACHE names the folder, NODE_DISABLE_COMPILE_CACHE=1 switches it off. */
function cacheFolder(dist: string): string | undefined {
  if (environment['NODE_DISABLE_COMPILE_CACHE'] === '1') return undefined
  return environment['NODE_COMPILE_CACHE'] ?? join(dist, '.compile-cache')
}

/** Runs the script `name` of the build in `dist`. */
export function runProgram(dist: string, name: string): void {
  const loader = new ProgramLoader(cacheFolder(dist))
  const { started } = loader.load(join(dist, name))
  const save = (): void => loader.save()
  if (started instanceof Promise) void started.then(save)
  else setTimeout(save, startedMs).unref()
  // Commands end before.
  if (isMainThread) process.once('exit', save)
}
