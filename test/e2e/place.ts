/** A place for real clusters: state, home and temporary folder inside one root, so that whatever is left over can be seen. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { readClusterConfig } from '../../cluster/cluster-config.ts'
import { endProcesses, processesMarked } from '../../cluster/process-identity.ts'
import { listClusters, statePaths } from '../../cluster/state-dir.ts'
import { removeCluster } from '../../cluster/take-down.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { processesIn } from './machine.ts'

const command = join(import.meta.dirname, '..', '..', 'bin', 'skiff.js')

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly tookMs: number
}

export interface RunOptions {
  /** The Node that runs the command; this one by default. */
  readonly node?: string
  /** Words put before the command, such as `setpriv` with its flags. */
  readonly wrapper?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export interface Place extends AsyncDisposable {
  /** Everything the command may write is below it. */
  readonly root: string
  /** Where `skiff` keeps its clusters. */
  readonly stateRoot: string
  /** The command as a process that goes on by itself; it is ended with the place. */
  start(words: readonly string[], options?: RunOptions): ChildProcess
  /** Runs the command to its end. */
  run(words: readonly string[], options?: RunOptions): Promise<Outcome>
  /** Runs `up`, which must succeed, and attaches to the cluster. */
  up(name: string, words?: readonly string[], options?: RunOptions): Promise<Cluster>
  /** Paths of all files and folders that are there, but for the place's own three folders. */
  leftovers(): string[]
}

/** A new place. Disposing ends every process that was started in it, whatever state the clusters are in, and removes it. */
export function createPlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'skiff-e2e-'))
  const folders = ['home', 'state', 'tmp']
  for (const folder of folders) mkdirSync(join(root, folder))
  const stateRoot = join(root, 'state', 'skiff')
  const children = new Set<ChildProcess>()
  const ids = new Set<string>()
  const open = new Set<Cluster>()

  const start: Place['start'] = (words, options = {}) => {
    const { wrapper = [], node = process.execPath, environment } = options
    const [file = '', ...args] = [...wrapper, node, command, ...words]
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: join(root, 'home'),
        TMPDIR: join(root, 'tmp'),
        XDG_STATE_HOME: join(root, 'state'),
        ...environment,
      },
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }
  const run: Place['run'] = async (words, options) => {
    const startedMs = performance.now()
    const child = start(words, options)
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => (output[name] += text))
    }
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    return { code, ...output, tookMs: performance.now() - startedMs }
  }
  const remember = (name: string): void => {
    const id = readClusterConfig(statePaths(stateRoot, name))?.id
    if (id !== undefined) ids.add(id)
  }
  return {
    root,
    stateRoot,
    start,
    run,
    up: async (name, words = [], options) => {
      const outcome = await run(['up', '--name', name, ...words], options)
      if (outcome.code !== 0) throw new Error(`up ended with ${outcome.code}: ${outcome.stderr}`)
      remember(name)
      const cluster = await openCluster({ name, stateRoot })
      open.add(cluster)
      return cluster
    },
    leftovers: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
        (path) => !folders.includes(path),
      ),
    [Symbol.asyncDispose]: async () => {
      const clock = systemClock
      for (const cluster of open) cluster.disconnect()
      for (const child of children) child.kill('SIGKILL')
      for (const name of listClusters(stateRoot)) {
        await removeCluster(statePaths(stateRoot, name), { clock, graceMs: 500 }).catch(() => {
          // Too damaged for that; its processes are found by their mark.
        })
      }
      const left = [...processesIn(root), ...[...ids].flatMap(processesMarked)]
      await endProcesses(left, { clock, graceMs: 0 })
      await rm(root, { recursive: true, force: true })
    },
  }
}
