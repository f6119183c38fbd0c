/** A real cluster for stock clients: `skiff up` in a folder of its own, dist built before when it is older than the sources. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'

const root = join(import.meta.dirname, '..', '..')
const bin = join(root, 'bin', 'skiff.js')
const sources = ['cluster', 'components', 'certs', 'scenarios/engine', 'scripts']

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface TestCluster {
  /** Holds the cluster's state, and is HOME for clients: what they cache goes with it. */
  readonly home: string
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string
  /** Runs one command on this cluster; a failure is an error that shows what it said. */
  skiff(...words: readonly string[]): Promise<string>
}

/** Ends with the program or after `timeoutMs`, whatever comes first; never rejects. */
export function run(
  program: string,
  words: readonly string[],
  options: { env?: NodeJS.ProcessEnv; timeoutMs: number; input?: string },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      {
        env: options.env,
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const isLate = error !== null && error.killed === true
        const note = isLate ? `\n(killed: it ran for longer than ${options.timeoutMs} ms)` : ''
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, stdout, stderr: `${stderr}${note}` })
      },
    )
    child.stdin?.on('error', () => {}) // it ended without reading its input
    child.stdin?.end(options.input ?? '')
  })
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
  const outcome = join(folder, `${name}.outcome`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await mkdir(join(folder, `${name}.started`))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const text = await eventually(() => readFileSync(outcome, 'utf8'), 90_000)
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
export async function buildWhenStale(): Promise<void> {
  const built = join(root, 'dist', 'skiff.js')
  const newest = Math.max(...sources.map((folder) => newestChangeMs(join(root, folder))))
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return
  const script = join(root, 'scripts', 'build.ts')
  const { code, stderr } = await run(process.execPath, [script], { timeoutMs: 60_000 })
  if (code !== 0) throw new Error(`the build failed: ${stderr}`)
}

function environment(home: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), NO_COLOR: '1' }
}

/** The cluster of that name in `home`, running or not. */
export function clusterIn(home: string, name: string): TestCluster {
  const env = environment(home)
  return {
    home,
    kubeconfig: join(home, 'state', 'skiff', 'clusters', name, 'kubeconfig'),
    async skiff(command = '', ...words) {
      const line = [bin, command, ...words, '--name', name]
      const { code, stdout, stderr } = await run(process.execPath, line, { env, timeoutMs: 60_000 })
      if (code !== 0) throw new Error(`skiff ${[command, ...words].join(' ')}: ${code}\n${stderr}`)
      return stdout
    },
  }
}

/** Takes down every cluster in `home` and removes the folder. */
export async function removeHome(home: string): Promise<void> {
  const env = environment(home)
  if (existsSync(join(home, 'state'))) {
    await run(process.execPath, [bin, 'down', '--all'], { env, timeoutMs: 30_000 })
  }
  await rm(home, { recursive: true, force: true })
}
