/**
 * One folder for all that a run of tests writes to disk, as temporary folder of every process it starts. The run fails when a file, a
 * socket or a process is left in it at the end. For `globalSetup`.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { listProcesses } from './process-list.ts'
import { addToSummary } from './summary-reporter.ts'

/** In the folder; it goes with it. */
const compileCache = 'compile-cache'

let folder: string | undefined
/** Variables that name the temporary folder: of Unix, and of Windows. */
const variables = process.platform === 'win32' ? ['TEMP', 'TMP'] : ['TMPDIR']
const outer = new Map<string, string | undefined>()

export function setup(): void {
  for (const name of variables) outer.set(name, process.env[name])
  // Short: paths of sockets may not be long.
  folder = mkdtempSync(join(tmpdir(), 't-'))
  for (const name of variables) process.env[name] = folder
  // Node's, for the processes and threads that run the sources: to compile those of the API server takes a second each time.
  process.env['NODE_COMPILE_CACHE'] = join(folder, compileCache)
}

/** Processes that were started with this folder in their environment or command line: `pid command`. */
export function processesOf(mark: string): string[] {
  return listProcesses()
    .filter(({ pid, parent }) => pid !== process.pid && parent !== process.pid)
    .filter(({ command, environment }) => command.includes(mark) || environment.includes(mark))
    .map(({ pid, command }) => `${pid} ${command}`)
}

/** Rejects with the names of what is left. */
export async function teardown(): Promise<void> {
  if (folder === undefined) return
  const own = folder
  delete process.env['NODE_COMPILE_CACHE']
  for (const [name, value] of outer) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  try {
    let left: string[] = []
    await eventually(() => {
      const files = readdirSync(own).filter((name) => name !== compileCache)
      left = [...files, ...processesOf(own)]
      if (left.length > 0) throw new Error('tests left something behind')
    }, 10_000).catch((error: unknown) => {
      for (const one of left) addToSummary(`LEFT ${one}`)
      throw error
    })
  } finally {
    // A worker that ends meanwhile writes to the compile cache; rmSync does not say that something is left.
    await eventually(() => {
      rmSync(own, { recursive: true, force: true })
      if (existsSync(own)) throw new Error(`${own} is not empty`)
    }, 10_000)
  }
}
