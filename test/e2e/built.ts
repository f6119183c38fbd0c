/** What the processes of one run of tests do once for all of them: building dist, and starting the cluster they share. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { run } from './program.ts'

const root = join(import.meta.dirname, '..', '..')
const sources = [
  'cluster',
  'components',
  'console',
  'certs',
  'embedded',
  'envtest',
  'explore',
  'library',
  'monitors',
  'scenarios/engine',
  'scripts',
  'simulation',
]

/** The file that says how `name` ended, once it has. */
export function outcomeOf(folder: string, name: string): string {
  return join(folder, `${name}.outcome`)
}

/**
 * Of all test processes that ask for `name` in `folder`, the first runs `action`; the others wait for it and share its
 * result, or fail with it.
 */
export async function onceIn(
  folder: string,
  name: string,
  action: () => Promise<void>,
): Promise<void> {
  const outcome = outcomeOf(folder, name)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await mkdir(join(folder, `${name}.started`))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const text = await eventually(() => {
      const written = readFileSync(outcome, 'utf8')
      // The file is there before what is written to it.
      if (!written.endsWith('\n')) throw new Error(`${name} has not ended`)
      return written
    }, 170_000)
    if (text !== 'done\n') throw new Error(`${name} failed in another test process: ${text}`)
    return
  }
  try {
    await action()
    writeFileSync(outcome, 'done\n')
  } catch (error) {
    writeFileSync(outcome, `${String(error)}\n`)
    throw error
  }
}

function newestChangeMs(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((newest, { parentPath, name }) => {
      return Math.max(newest, statSync(join(parentPath, name)).mtimeMs)
    }, 0)
}

/** Builds dist when there is none or a source is newer. */
async function buildWhenStale(): Promise<void> {
  const built = join(root, 'dist', 'skiff.js')
  const newest = Math.max(...sources.map((folder) => newestChangeMs(join(root, folder))))
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return
  const script = join(root, 'scripts', 'build.ts')
  const { code, stderr } = await run(process.execPath, [script], { timeoutMs: 170_000 })
  if (code !== 0) throw new Error(`the build failed: ${stderr}`)
}

/** Resolves when dist is newer than the sources. */
export async function builtOnce(): Promise<void> {
  await onceIn(inject('sharedHome'), 'build', buildWhenStale)
}
