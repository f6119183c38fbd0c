/**
 * One folder for all that a run of tests writes to disk, as TMPDIR of every process it starts. The run fails when a file, a
 * socket or a process is left in it at the end. For `globalSetup`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { addToSummary } from './summary-reporter.ts'

let folder: string | undefined
let outer: string | undefined

export function setup(): void {
  outer = process.env['TMPDIR']
  // Short: paths of sockets may not be long.
  folder = mkdtempSync(join(tmpdir(), 't-'))
  process.env['TMPDIR'] = folder
}

/** Processes that were started with this folder in their environment or command line: `pid command`. */
export function processesOf(mark: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .flatMap((pid) => {
      try {
        const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')
        const command = read('cmdline')
        // The state follows the name, which may contain anything; then comes the parent.
        const [state, parent] = read('stat')
          .replace(/^.*\) /s, '')
          .split(' ')
        const isWorker = Number(parent) === process.pid
        if (isWorker || state === 'Z') return []
        if (!command.includes(mark) && !read('environ').includes(mark)) return []
        return [`${pid} ${command.replaceAll('\0', ' ').trim()}`]
      } catch {
        return [] // gone meanwhile, or somebody else's
      }
    })
}

/** Rejects with the names of what is left. */
export async function teardown(): Promise<void> {
  if (folder === undefined) return
  const own = folder
  if (outer === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = outer
  try {
    let left: string[] = []
    await eventually(() => {
      left = [...readdirSync(own), ...processesOf(own)]
      if (left.length > 0) throw new Error('tests left something behind')
    }, 10_000).catch((error: unknown) => {
      for (const one of left) addToSummary(`LEFT ${one}`)
      throw error
    })
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}
