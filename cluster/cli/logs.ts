/** `skiff logs`: prints the log files of components. It reads the files, so it also works when nothing runs. */
import { closeSync, openSync, readdirSync, readSync, statSync, watch } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { olderLog } from '../supervisor/log-rotation.ts'
import { lastLines, readableLine } from '../log-tail.ts'
import { lockHolder } from '../state/lock.ts'
import { logOf, noSuchCluster, stateDirExists, statePaths } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { defineCommand, nameFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { styled } from './terminal.ts'

const flags = defineFlags({
  ...nameFlag,
  follow: flag.bool('Follow the logs until the cluster stops, or Ctrl-C (-f).', false),
  tail: flag.int('Number of last lines of each component.', 50, { least: 0 }),
  raw: flag.bool('Print the lines as they were written, mostly JSON.', false),
  output: flag.string(
    'Output format; json prints each line as a JSON object with the name of its component.',
    'text',
    {
      choices: ['text', 'json'],
    },
  ),
})

/** Returns a function that passes on the lines appended to a log since its last call, first those after `from`, across rotations. */
function createFollower(path: string, from: number, onLine: (line: string) => void): () => void {
  let position = from
  let rest = ''
  const readOn = (file: string): void => {
    const size = sizeOf(file)
    if (size <= position) return
    const open = unlessGone(() => openSync(file, 'r'), undefined)
    if (open === undefined) return
    const buffer = Buffer.alloc(size - position)
    const read = readSync(open, buffer, 0, buffer.length, position)
    closeSync(open)
    position += read
    const lines = (rest + buffer.toString('utf8', 0, read)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
  return () => {
    if (sizeOf(path) < position) {
      readOn(olderLog(path))
      position = 0
    }
    readOn(path)
  }
}

/** What `read` returns, or `missing` when a file is not there, or no longer: the cluster may be removed at any moment. */
function unlessGone<T>(read: () => T, missing: T): T {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return missing
  }
}

/** 0 for a missing file. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** The last lines of a log, including its rotated part. */
function tailOf(path: string, count: number): string[] {
  const lines = lastLines(path, count)
  return [...lastLines(olderLog(path), count - lines.length), ...lines]
}

/** The components that have logged, in order; none when the folder is not there. */
function componentsIn(folder: string): string[] {
  return unlessGone(() => readdirSync(folder), [])
    .filter((file) => file.endsWith('.log'))
    .map((file) => file.slice(0, -'.log'.length))
    .toSorted()
}

/** A JSON object per line; any other line becomes the message of one. */
function jsonLine(process: string, line: string): string {
  try {
    return JSON.stringify({ process, ...(JSON.parse(line) as object) })
  } catch {
    return JSON.stringify({ process, message: line })
  }
}

/** A line as it is printed. */
function shown(
  line: string,
  more: {
    readonly name: string
    /** Before lines that people read; empty: none. */
    readonly label: string
    readonly as: { readonly output: string; readonly raw: boolean }
    readonly isColored: boolean
  },
): string {
  const { name, label, as, isColored } = more
  if (as.output === 'json') return jsonLine(name, line)
  if (as.raw) return line
  const text = readableLine(line)
  return label === '' ? text : `${styled(label, 'cyan', isColored)} ${text}`
}

/** How soon the end of a cluster is noticed. */
const lookEveryMs = 500

/** Resolves with true once a cluster that ran has stopped, or is removed; with false when the signal aborts. Others may be started yet. */
async function untilStopped(
  paths: StatePaths,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  let wasRunning = false
  while (!signal.aborted) {
    const isRunning = lockHolder(paths) !== undefined
    if (!isRunning && (wasRunning || !stateDirExists(paths))) return true
    wasRunning = isRunning
    await clock.sleep(lookEveryMs, signal).catch(() => {}) // aborted, as the loop sees
  }
  return false
}

export const logs = defineCommand({
  name: 'logs',
  summary: 'Show the logs of components',
  arguments: [{ name: 'COMPONENT', isOptional: true, isRepeated: true }],
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff logs node-1', 'Show the log of one component'],
    ['skiff logs -f', 'Follow the logs of all components'],
    ['skiff logs -o json | jq .message', 'Print JSON lines, each with the name of its component'],
  ],
  run: async ({ terminal, stateRoot, clock, signal }, { flags: given, args }) => {
    const paths = statePaths(stateRoot, given.name)
    const { logs: folder } = paths
    if (!stateDirExists(paths)) throw noSuchCluster(given.name)
    const existing = componentsIn(folder)
    const unknown = args.find((name) => !existing.includes(name))
    if (unknown !== undefined) {
      const hint = `components: ${existing.join(', ')}`
      throw new ClusterError('not-found', `there is no component "${unknown}"`, { hint })
    }
    const names = args.length > 0 ? args : existing
    const followers = new Map<string, () => void>()
    const print = (name: string, line: string): void => {
      const width = Math.max(...[...followers.keys()].map((name) => name.length))
      const label = followers.size > 1 ? name.padEnd(width) : ''
      terminal.out(`${shown(line, { name, label, as: given, isColored: terminal.outColors })}\n`)
    }
    const add = (name: string, from: number): void => {
      const follow = createFollower(logOf(paths, name), from, (line) => print(name, line))
      followers.set(name, follow)
    }
    for (const name of names) add(name, sizeOf(logOf(paths, name)))
    for (const name of names) {
      for (const line of tailOf(logOf(paths, name), given.tail)) print(name, line)
    }
    if (!given.follow) return exitCodes.ok
    const followAll = (): void => {
      const isNew = (name: string): boolean => args.length === 0 && !followers.has(name)
      for (const name of componentsIn(folder).filter(isNew)) add(name, 0)
      for (const follow of followers.values()) follow()
    }
    const watcher = watch(folder, followAll)
    const hasStopped = await untilStopped(paths, { clock, signal })
    watcher.close()
    if (!hasStopped) return exitCodes.ok
    followAll()
    terminal.err(`the cluster "${given.name}" has stopped\n`)
    return exitCodes.ok
  },
})
