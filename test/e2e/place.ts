/** A place for real clusters: state, home and temporary folder inside one root, so that whatever is left over can be seen. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { endProcesses, processesMarked } from '../../cluster/state/process-identity.ts'
import { listClusters, statePaths } from '../../cluster/state/state-dir.ts'
import { removeCluster } from '../../cluster/take-down.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { ownPort } from '../support/own-port.ts'
import { placeInEtcd } from '../support/run-etcd.ts'
import { inTurn } from '../support/start-turn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { builtOnce } from './built.ts'
import { createClusterJudges } from './cluster-judges.ts'
import { processesIn } from './machine.ts'
import type { Outcome } from './program.ts'
import { refusedComponents } from './refused-components.ts'

const command = join(import.meta.dirname, '..', '..', 'bin', 'skiff.js')

export interface RunOptions {
  /** The Node that runs the command; this one by default. */
  readonly node?: string
  /** Words put before the command, such as `setpriv` with its flags. */
  readonly wrapper?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** A new cluster takes the port that the command chooses; else it gets one of its own, which others leave alone while it is down. */
  readonly choosesPort?: boolean
  /** Told of what it has written to standard error so far, whenever that is more. */
  readonly onError?: (text: string, child: ChildProcess) => void
}

/** A cluster as its clients know it, running or not. */
export interface PlacedCluster {
  /** HOME for clients: what they cache goes with the place. */
  readonly home: string
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string
  /** Runs one command on this cluster; a failure is an error that shows what it said. */
  skiff(...words: readonly string[]): Promise<string>
}

export interface Place extends AsyncDisposable {
  /** Everything the command may write is below it. */
  readonly root: string
  /** Where `skiff` keeps its clusters. */
  readonly stateRoot: string
  /** The command as a process that goes on by itself; it is ended with the place. */
  start(words: readonly string[], options?: RunOptions): ChildProcess
  /** Runs the command to its end. */
  run(
    words: readonly string[],
    options?: RunOptions,
  ): Promise<Outcome & { readonly tookMs: number }>
  /** Runs `up`, which must succeed, on a port of its own, and attaches to the cluster. */
  up(name: string, words?: readonly string[], options?: RunOptions): Promise<Cluster>
  cluster(name: string): PlacedCluster
  /** Holds the cluster against the invariants from now on, as after each `up` that the place runs. */
  judge(name: string): void
  /** Paths of all files and folders that are there, but for the place's own three folders. */
  leftovers(): string[]
}

interface PlaceOptions {
  /** Clusters whose components lack rights on purpose. */
  readonly underprivileged?: readonly string[]
  /** False: another process holds the clusters against the invariants. */
  readonly isJudged?: boolean
}

/**
 * A new place. Disposing ends every process that was started in it, whatever state the clusters are in, and removes it. It
 * fails if an API server refused a component of its cluster a request, or if a cluster violated an invariant.
 */
export function createPlace(options: PlaceOptions = {}): Place {
  const root = temporaryFolder('e2e')
  makeFolders(root)
  return openPlace(root, options)
}

const folders = ['home', 'state', 'tmp']

function clusterNameIn(words: readonly string[]): string {
  return words.includes('--name') ? (words[words.indexOf('--name') + 1] ?? '') : 'default'
}

function makeFolders(root: string): void {
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true })
}

/** The place in that folder, which several test processes may have open; one of them disposes of it. Made when first used. */
export function openPlace(root: string, options: PlaceOptions = {}): Place {
  const { underprivileged = [], isJudged = true } = options
  const stateRoot = join(root, 'state', 'skiff')
  const judges = createClusterJudges(stateRoot)
  const children = new Set<ChildProcess>()
  const ids = new Set<string>()
  const open = new Set<Cluster>()
  const refused = new Set<string>()

  const noteRefused = (): void => {
    for (const refusal of refusedComponents(stateRoot, underprivileged)) refused.add(refusal)
  }

  /** Whether the command makes a cluster. */
  const makesCluster = ([verb, ...words]: readonly string[]): boolean => {
    if (verb !== 'up') return false
    const name = clusterNameIn(words)
    // It may be no name at all: the command is to say so.
    const known = listClusters(stateRoot).find((one) => one === name)
    return known === undefined || !existsSync(statePaths(stateRoot, known).config)
  }
  /** Of a cluster that is not filled from a file, whose revisions etcd is past. */
  const storeOf = (words: readonly string[]): string[] => {
    const isOwn =
      words.includes('--from') || words.some((word) => word.includes('api-server.store'))
    const place = isOwn || !makesCluster(words) ? undefined : placeInEtcd()
    if (place === undefined) return []
    const { url, prefix } = place
    const settings = [`api-server.store=etcd:${url}`, `api-server.etcd-prefix=${prefix}`]
    return settings.flatMap((setting) => ['--set', setting])
  }
  /** A killed runner of tests leaves no cluster behind. */
  const parentOf = ([verb, ...words]: readonly string[]): string[] =>
    verb !== 'up' || words.includes('--parent') ? [] : ['--parent', String(inject('runnerPid'))]
  const start: Place['start'] = (words, options = {}) => {
    makeFolders(root)
    // The logs go with the cluster.
    if (words[0] === 'down') noteRefused()
    const { wrapper = [], node = process.execPath, environment, choosesPort = false } = options
    const needsPort = !choosesPort && !words.includes('--port') && makesCluster(words)
    const own = [
      ...(needsPort ? ['--port', String(ownPort())] : []),
      ...storeOf(words),
      ...parentOf(words),
    ]
    const [file = '', ...args] = [...wrapper, node, command, ...words, ...own]
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: join(root, 'home'),
        TMPDIR: join(root, 'tmp'),
        XDG_STATE_HOME: join(root, 'state'),
        NO_COLOR: '1',
        ...environment,
      },
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }
  const run: Place['run'] = async (words, options) => {
    await builtOnce()
    // What is left to judge goes with the cluster.
    if (words[0] === 'down') await judges.settle()
    const startedMs = performance.now()
    const child = start(words, options)
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        output[name] += text
        if (name === 'stderr') options?.onError?.(output.stderr, child)
      })
    }
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    const tookMs = performance.now() - startedMs
    if (words[0] === 'up' && code === 0 && isJudged) judges.judge(clusterNameIn(words))
    return { code, ...output, tookMs }
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
      await builtOnce()
      const outcome = await inTurn(async () => await run(['up', '--name', name, ...words], options))
      if (outcome.code !== 0) throw new Error(`up ended with ${outcome.code}: ${outcome.stderr}`)
      remember(name)
      const cluster = await openCluster({ name, stateRoot })
      open.add(cluster)
      return cluster
    },
    cluster: (name) => ({
      home: join(root, 'home'),
      kubeconfig: statePaths(stateRoot, name).adminKubeconfig,
      skiff: async (...words) => {
        const { code, stdout, stderr } = await run([...words, '--name', name])
        if (code !== 0) throw new Error(`skiff ${words.join(' ')}: ${code}\n${stderr}`)
        return stdout
      },
    }),
    judge: judges.judge,
    leftovers: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
        (path) => !folders.includes(path),
      ),
    [Symbol.asyncDispose]: async () => {
      const clock = systemClock
      noteRefused()
      const violations = await judges.end()
      for (const cluster of open) cluster.disconnect()
      for (const child of children) child.kill('SIGKILL')
      for (const name of listClusters(stateRoot)) {
        await removeCluster(statePaths(stateRoot, name), { clock, graceMs: 500 }).catch(() => {
          // Too damaged for that; its processes are found by their mark.
        })
      }
      const left = [...processesIn(root), ...[...ids].flatMap((id) => processesMarked(id))]
      await endProcesses(left, { clock, graceMs: 0 })
      await rm(root, { recursive: true, force: true })
      if (refused.size > 0)
        throw new Error(`components were refused requests:\n${[...refused].join('\n')}`)
      if (violations.length > 0)
        throw new Error(`invariants were violated:\n${violations.join('\n')}`)
    },
  }
}
